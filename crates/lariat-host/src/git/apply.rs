//! Applies the difference between two snapshots to the work tree, one whole file at a time.
//!
//! Git writes into the files that it checks out, so a kill would leave one of them missing or cut off. Here git checks the new
//! files out in a directory of ours; from there each is written beside its place and then renamed over the old one.
//!
//! Invariant: at any moment every file is as in one of the two snapshots, and a file that differs from both stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::snapshots::SCAN_TIME;
use super::{GitError, WorkTreeSnapshots};
use crate::files::temporary;
use crate::undo::entry::{Entry, RecordedKind, RecordedStamp, RelativePath};
use crate::undo::handle::{NewEntry, StepError, WorkspaceHandle};

/// Where the new files are checked out, in the directory of the snapshots.
const STAGED: &str = "staged";
/// The bit of a mode that git records.
const EXECUTABLE: u32 = 0o100;
/// The bits of a mode that permissions have.
const PERMISSIONS: u32 = 0o7777;

/// How a file differs between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    Added,
    Removed,
    Changed,
}

/// A file to change, as it is now.
struct Change {
    path: RelativePath,
    difference: Difference,
    now: Option<Stat>,
}

impl WorkTreeSnapshots {
    /// Changes the work tree by the difference between two snapshots. Files that are as in `to` already stay, and so do changes
    /// to other files. If it is interrupted, doing it again completes it, and exchanging the snapshots reverts it.
    ///
    /// # Errors
    /// [`GitError::Conflict`] if a file that differs between the snapshots is neither as in `from` nor as in `to`. Then nothing
    /// was changed, unless another program changed the file meanwhile.
    pub async fn apply(&self, from: &str, to: &str) -> Result<(), GitError> {
        let differences = self.differences(from, to).await?;
        let tree = open_tree(&self.git.work_tree)?;
        // The states are read before the snapshot, so what changes after it differs from them.
        let mut states: BTreeMap<RelativePath, Stat> = BTreeMap::new();
        let folders: BTreeSet<&[u8]> = differences.keys().map(|path| path.split().0).collect();
        for folder in folders.into_iter().filter_map(|folder| tree.folder(folder).ok()) {
            // A killed application left them.
            temporary::sweep_all(&folder);
        }
        for path in differences.keys() {
            if let Ok(stat) = tree.stat(path) {
                states.insert(path.clone(), stat);
            }
        }
        let now = self.take().await?;
        let conflicts = self.conflicts(from, to, &now).await?;
        if !conflicts.is_empty() {
            return Err(GitError::Conflict(conflicts));
        }
        let rest = self.differences(&now, to).await?;
        let rest = differences.into_iter().filter(|(path, _)| rest.contains_key(path));
        let changes: Vec<Change> = rest
            .map(|(path, difference)| Change { now: states.remove(&path), difference, path })
            // A directory here is another repository, which snapshots do not contain.
            .filter(|change| change.difference == Difference::Added || !change.is_folder())
            .collect();
        let unexpected: Vec<String> = changes
            .iter()
            .filter(|change| match change.difference {
                // Git ignores a file that is there, so the snapshot does not have it.
                Difference::Added => change.now.is_some() && !change.is_folder(),
                Difference::Removed | Difference::Changed => change.now.is_none(),
            })
            .map(|change| change.path.to_string())
            .collect();
        if !unexpected.is_empty() {
            return Err(GitError::Conflict(unexpected));
        }
        let staged = self.directory.join(STAGED);
        remove_staged(&staged)?;
        rustix::fs::mkdir(&staged, Mode::from_raw_mode(0o700)).map_err(io::Error::from)?;
        let checkout = self.of_copy(&staged)?;
        checkout.forget_index();
        // The directory is empty, so git writes only the files that differ.
        checkout.run(["read-tree", from], SCAN_TIME, &[0]).await?;
        checkout.run(["read-tree", "-m", "-u", from, to], SCAN_TIME, &[0]).await?;
        tokio::task::spawn_blocking(move || {
            write_changes(&tree, &staged, &changes)?;
            Ok(remove_staged(&staged)?)
        })
        .await
        .map_err(io::Error::other)?
    }

    /// The files that [`apply`](Self::apply) would refuse to change, because `now` has something else there.
    ///
    /// # Errors
    /// [`GitError`] if git fails or does not have a snapshot.
    pub async fn conflicts(&self, from: &str, to: &str, now: &str) -> Result<Vec<String>, GitError> {
        let (wanted, done) = (self.differences(from, to).await?, self.differences(from, now).await?);
        let different = self.differences(now, to).await?;
        let is_conflict = |path: &&RelativePath| done.contains_key(*path) && different.contains_key(*path);
        Ok(wanted.keys().filter(is_conflict).map(ToString::to_string).collect())
    }

    /// The names of the files that differ between two snapshots.
    ///
    /// # Errors
    /// [`GitError`] if git fails or does not have a snapshot.
    pub async fn changed_files(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        Ok(self.differences(from, to).await?.keys().map(ToString::to_string).collect())
    }

    /// The files that differ between two snapshots.
    async fn differences(
        &self,
        from: &str,
        to: &str,
    ) -> Result<BTreeMap<RelativePath, Difference>, GitError> {
        let words = ["diff-tree", "-r", "--no-renames", "--name-status", "-z", from, to];
        let output = self.output(words, SCAN_TIME, &[0]).await?;
        if output.missing_bytes() > 0 {
            let message = "too many files differ".to_owned();
            return Err(GitError::Failed { command: "diff-tree".to_owned(), message });
        }
        let bytes = [output.head, output.tail].concat();
        let mut fields = bytes.split(|byte| *byte == 0);
        let mut differences = BTreeMap::new();
        while let (Some(status), Some(path)) =
            (fields.next().filter(|status| !status.is_empty()), fields.next())
        {
            let difference = match status {
                b"A" => Difference::Added,
                b"D" => Difference::Removed,
                _ => Difference::Changed,
            };
            differences.insert(RelativePath::new(path), difference);
        }
        Ok(differences)
    }
}

impl Change {
    fn is_folder(&self) -> bool {
        self.now.is_some_and(|now| FileType::from_raw_mode(now.st_mode) == FileType::Directory)
    }

    fn failed(&self, error: StepError) -> GitError {
        let path = self.path.to_string();
        match error {
            StepError::Changed => GitError::Conflict(vec![path]),
            StepError::Refused(errno) => GitError::Write { path, error: errno.into() },
        }
    }
}

fn open_tree(work_tree: &Path) -> Result<WorkspaceHandle, GitError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(work_tree, flags, Mode::empty()).map_err(io::Error::from)?;
    Ok(WorkspaceHandle::new(Arc::new(root)))
}

/// Removes files first, the deepest first, because new ones may take the places of their directories.
fn write_changes(tree: &WorkspaceHandle, staged: &Path, changes: &[Change]) -> Result<(), GitError> {
    for change in changes.iter().rev().filter(|change| change.difference == Difference::Removed) {
        let Some(now) = &change.now else { continue };
        tree.remove(&change.path, &RecordedStamp::of(now)).map_err(|error| change.failed(error))?;
        for folder in change.path.ancestors() {
            // As git does: a directory that became empty goes, too.
            if tree.remove(&folder, &RecordedStamp::of(now)).is_err() {
                break;
            }
        }
    }
    for change in changes.iter().filter(|change| change.difference != Difference::Removed) {
        create_parents(tree, staged, &change.path).map_err(|error| change.failed(error))?;
        write(tree, staged, change)?;
    }
    Ok(())
}

fn create_parents(tree: &WorkspaceHandle, staged: &Path, path: &RelativePath) -> Result<(), StepError> {
    let mut missing: Vec<RelativePath> =
        path.ancestors().filter(|folder| tree.stat(folder).is_err()).collect();
    while let Some(folder) = missing.pop() {
        tree.create_folder(&folder)?;
        if let Ok(state) = staged.join(folder.as_path()).symlink_metadata() {
            tree.set_mode(&folder, state.mode() & PERMISSIONS)?;
        }
    }
    Ok(())
}

/// Writes one file or link beside its place, and renames it over the old one.
fn write(tree: &WorkspaceHandle, staged: &Path, change: &Change) -> Result<(), GitError> {
    let source = staged.join(change.path.as_path());
    let state = source.symlink_metadata()?;
    if state.is_dir() {
        return Ok(());
    }
    let now = change.now.filter(|_| change.difference == Difference::Changed);
    let expected = now.map(|now| entry(tree, &change.path, &now));
    let put = |new: &NewEntry<'_>| {
        tree.put(&change.path, new, expected.as_ref()).map_err(|error| change.failed(error))
    };
    if state.is_symlink() {
        return put(&NewEntry::Link(std::fs::read_link(&source)?.as_os_str()));
    }
    put(&NewEntry::File(&read_staged(&source)?, mode(&state, now.as_ref())))
}

/// The state of a file that is to be replaced. With its hash, a later process may remove it if this one is killed just after it
/// was replaced.
fn entry(tree: &WorkspaceHandle, path: &RelativePath, now: &Stat) -> Entry {
    let (parent, name) = path.split();
    let hash = tree.folder(parent).ok().and_then(|folder| temporary::content_hash(&folder, name));
    let look = RecordedKind::File(hash.map(|hash| hash.to_hex().to_string()));
    Entry { look, mode: now.st_mode & PERMISSIONS, seen: RecordedStamp::of(now) }
}

/// Git records only whether a file is executable. The other permissions stay.
fn mode(staged: &Metadata, now: Option<&Stat>) -> u32 {
    let new = staged.mode() & PERMISSIONS;
    now.filter(|now| FileType::from_raw_mode(now.st_mode) == FileType::RegularFile)
        .map(|now| now.st_mode & PERMISSIONS)
        .filter(|mode| mode & EXECUTABLE == new & EXECUTABLE)
        .unwrap_or(new)
}

#[expect(clippy::disallowed_methods, reason = "a directory that only this module writes")]
fn read_staged(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

#[expect(clippy::disallowed_methods, reason = "a directory that only this module writes")]
fn remove_staged(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
