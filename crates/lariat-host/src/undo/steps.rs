//! Performs the steps of a plan: removals deepest first, then creations from the top, then the modes of directories.
//!
//! Every step checks the current state before it changes a path, and skips the path if it is not the recorded one.
//! Steps are idempotent: after an interruption, a new plan contains the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;

use super::entry::{Entry, RecordedKind, RelativePath};
use super::handle::{NewEntry, StepError, WorkspaceHandle};
use super::plan::{Reason, Step};
use super::store::Store;

/// The mode bits that the owner of a directory needs to change its entries.
const OWNER: u32 = 0o700;

/// The outcome of a rewind.
#[derive(Debug, Default)]
pub(super) struct RewindOutcome {
    pub(super) restored: Vec<RelativePath>,
    pub(super) kept: Vec<(RelativePath, Reason)>,
}

/// Performs the steps, which must be in the order of paths.
pub(super) fn perform(
    workspace: &WorkspaceHandle,
    store: &Store,
    steps: &[Step],
    mode_of: &dyn Fn(&RelativePath) -> Option<u32>,
) -> RewindOutcome {
    let mut missed = BTreeMap::new();
    let mut modes = make_parents_writable(workspace, steps, mode_of);
    for step in steps.iter().rev() {
        if let Some(now) = &step.now
            && must_be_removed_first(now, step.then.as_ref())
            && let Err(reason) = workspace.remove(&step.path, &now.seen)
        {
            missed.insert(step.path.clone(), reason);
        }
    }
    for step in steps {
        let Some(then) = &step.then else { continue };
        if missed.contains_key(&step.path) {
            continue;
        }
        if let Err(reason) = restore(workspace, store, step, then, &mut modes) {
            missed.insert(step.path.clone(), reason);
        }
    }
    for (path, mode) in modes.iter().rev() {
        let _ = workspace.set_mode(path, *mode);
    }
    let mut done = RewindOutcome::default();
    for step in steps {
        match missed.remove(&step.path) {
            None => done.restored.push(step.path.clone()),
            Some(StepError::Changed) => done.kept.push((step.path.clone(), Reason::ChangedMeanwhile)),
            Some(StepError::Refused(_)) => done.kept.push((step.path.clone(), Reason::Refused)),
        }
    }
    done
}

/// Whether the current entry must be removed first. Files and links replace each other atomically.
fn must_be_removed_first(now: &Entry, then: Option<&Entry>) -> bool {
    then.is_none_or(|then| now.is_folder() != then.is_folder())
}

fn restore(
    workspace: &WorkspaceHandle,
    store: &Store,
    step: &Step,
    then: &Entry,
    modes: &mut BTreeMap<RelativePath, u32>,
) -> Result<(), StepError> {
    let replaced = step.now.as_ref().filter(|now| !must_be_removed_first(now, Some(then)));
    match &then.look {
        RecordedKind::Folder => {
            if replaced.is_none() {
                workspace.create_folder(&step.path)?;
            }
            modes.insert(step.path.clone(), then.mode);
            Ok(())
        }
        RecordedKind::Link(target) => {
            workspace.put(&step.path, &NewEntry::Link(target.as_path().as_os_str()), replaced)
        }
        RecordedKind::File(_) if replaced.is_some_and(|now| now.look == then.look) => {
            workspace.set_mode(&step.path, then.mode)
        }
        RecordedKind::File(Some(hash)) => {
            let content = store.read(hash).ok_or(StepError::Refused(Errno::IO))?;
            workspace.put(&step.path, &NewEntry::File(&content, then.mode), replaced)
        }
        RecordedKind::File(None) | RecordedKind::Closed => Err(StepError::Refused(Errno::INVAL)),
    }
}

/// Makes the parent directories of changed paths writable for their owner; returns the modes to restore afterwards.
fn make_parents_writable(
    workspace: &WorkspaceHandle,
    steps: &[Step],
    mode_of: &dyn Fn(&RelativePath) -> Option<u32>,
) -> BTreeMap<RelativePath, u32> {
    let mut modes = BTreeMap::new();
    let parents: BTreeSet<_> = steps.iter().map(|step| RelativePath::new(step.path.split().0)).collect();
    for parent in parents.into_iter().filter(|parent| !parent.as_path().as_os_str().as_bytes().is_empty()) {
        if let Some(mode) = mode_of(&parent).filter(|mode| mode & OWNER != OWNER)
            && workspace.set_mode(&parent, mode | OWNER).is_ok()
        {
            modes.insert(parent, mode);
        }
    }
    modes
}
