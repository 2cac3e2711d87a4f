//! The directories of the branches: copies of the project, outside Lariat's own directories, because sandboxed commands work in
//! them.
//!
//! A copy is complete as soon as it has its name: it is written under another one first.

use std::path::{Path, PathBuf};

use lariat_core::id::SessionId;
use lariat_guard::Trust;
use lariat_host::git::WorkTreeSnapshots;
use lariat_host::process::Supervisor;

use super::plan::RacePlan;
use super::settings::branch_name;
use crate::actor_critic::SnapshotDirectory;
use crate::{LoadedProject, ServiceError, private};

/// Files that configure agents, which people may keep out of git. A copy without them would miss what they forbid.
const LOCAL_FILES: &[&str] =
    &[".claude/settings.json", ".claude/settings.local.json", "lariat.toml", "CLAUDE.local.md"];

/// The copies of a race.
pub(super) struct Copies {
    pub(super) snapshots: WorkTreeSnapshots,
    /// Keeps other processes from removing the snapshots.
    _own: SnapshotDirectory,
    directory: PathBuf,
}

/// The copy of a branch.
pub(super) struct BranchCopy {
    pub(super) snapshots: WorkTreeSnapshots,
    pub(super) place: LoadedProject,
}

impl Copies {
    /// Opens the snapshots of a race and the directory of its copies.
    pub(super) async fn open(plan: &RacePlan, session: &SessionId) -> Result<Self, ServiceError> {
        let (folders, place) = (plan.service.folders(), &plan.place);
        let own = SnapshotDirectory::open(&plan.service, session)
            .await
            .map_err(|error| ServiceError::folder(folders.loop_snapshots(session.as_str()), error))?;
        let environment = place.environment(plan.service.environment());
        let snapshots = WorkTreeSnapshots::open(
            place.opened.territory.root(),
            &own.path,
            &environment,
            &Supervisor::new(),
        );
        let snapshots = snapshots.map_err(|error| ServiceError::Race(error.to_string()))?;
        Ok(Self { snapshots, _own: own, directory: folders.race_copies(session.as_str()) })
    }

    fn path(&self, position: usize) -> PathBuf {
        self.directory.join(branch_name(position))
    }

    /// Whether a branch has a copy, from this process or an earlier one.
    pub(super) fn has(&self, position: usize) -> bool {
        self.path(position).is_dir()
    }

    /// The copy of a branch, made from the snapshot if it does not exist.
    #[expect(clippy::disallowed_methods, reason = "a new directory that no other program uses yet")]
    pub(super) async fn get(&self, plan: &RacePlan, position: usize) -> Result<BranchCopy, ServiceError> {
        let path = self.path(position);
        let failed = |error: &dyn std::fmt::Display| {
            ServiceError::Race(format!("could not copy the directory to {}: {error}", path.display()))
        };
        if !self.has(position) {
            private::directory(&self.directory).map_err(|error| failed(&error))?;
            // The name decides which index the snapshots of a copy use, so it stays the last part of the path.
            let unfinished = self.directory.join("unfinished");
            private::directory(&unfinished).map_err(|error| failed(&error))?;
            let unfinished = unfinished.join(branch_name(position));
            remove(&unfinished)?;
            let copied = self.snapshots.copy_to(&plan.record.snapshot, &unfinished).await;
            copied.map_err(|error| failed(&error))?;
            // The settings of every directory from the root to the working directory apply.
            for directory in plan.subdirectory.ancestors() {
                let from = plan.place.opened.territory.root().join(directory);
                copy_local_files(&from, &unfinished.join(directory)).map_err(|error| failed(&error))?;
            }
            std::fs::rename(&unfinished, &path).map_err(|error| failed(&error))?;
        }
        let snapshots = self.snapshots.of_copy(&path).map_err(|error| failed(&error))?;
        Ok(BranchCopy { snapshots, place: load(plan, &path)? })
    }

    /// Removes the copy of a branch.
    pub(super) fn remove(&self, position: usize) -> Result<(), ServiceError> {
        remove(&self.path(position))
    }

    /// Removes all copies.
    pub(super) fn remove_all(&self) -> Result<(), ServiceError> {
        remove(&self.directory)
    }
}

/// Loads a copy with the settings and the trust of the original.
fn load(plan: &RacePlan, copy: &Path) -> Result<LoadedProject, ServiceError> {
    let mut options = plan.options.clone();
    options.directory = copy.join(&plan.subdirectory);
    let is_trusted = plan.place.opened.trust == Trust::Trusted;
    (options.trusting, options.distrusting) = (is_trusted, !is_trusted);
    let mut place = LoadedProject::load(&options, plan.service.folders())?;
    place.settings.mode = Some(plan.mode());
    // The race shares one limit among all branches, and the copy is removed in the end.
    place.settings.limits.cost = None;
    place.settings.undo.enabled = false;
    Ok(place)
}

/// Copies configuration of a directory that git ignores.
#[expect(
    clippy::disallowed_methods,
    reason = "fixed names in a new directory that no other program uses yet"
)]
fn copy_local_files(from: &Path, to: &Path) -> std::io::Result<()> {
    for name in LOCAL_FILES {
        let (from, to) = (from.join(name), to.join(name));
        let is_missing = from.symlink_metadata().is_err();
        if is_missing || to.symlink_metadata().is_ok() {
            continue;
        }
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(from, to)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "directories that only races write")]
fn remove(path: &Path) -> Result<(), ServiceError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| ServiceError::folder(path, error)),
    }
}
