//! Scans the workspace and compares it with the recorded state.
//!
//! Scans everything beneath the root except `.git`, directories that git ignores, pipes, sockets and devices. A file
//! with an unchanged stamp is not read. Directories are read by handle, without following links. Along the way, the
//! scan removes leftovers of killed writes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, fstat, readlinkat, statat};
use rustix::io::Errno;

use super::entry::{Entry, RecordedKind, RecordedStamp, RelativePath};
use super::error::UndoError;
use super::handle::{WorkspaceHandle, open};
use super::history::{History, Manifest};
use super::rules::Rules;
use crate::files::temporary;

/// Maximum depth of directories.
const MAX_LEVELS: usize = 256;

/// One scan.
pub(super) struct Scan<'a> {
    workspace: &'a WorkspaceHandle,
    manifest: &'a mut Manifest,
    number: u64,
    /// Changed paths, except for files that must be read.
    found: Vec<(RelativePath, Option<Entry>)>,
    unread: Vec<(RelativePath, RecordedStamp, u32)>,
}

/// The result of a scan: paths and their current state.
pub(super) type ScanResult = Vec<(RelativePath, Option<Entry>)>;

/// Scans the workspace.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    pub(super) workspace: WorkspaceHandle,
}

impl Scanner {
    fn scan<'a>(&'a self, manifest: &'a mut Manifest, number: u64) -> Scan<'a> {
        Scan { workspace: &self.workspace, manifest, number, found: Vec::new(), unread: Vec::new() }
    }

    /// Scans the whole workspace.
    pub(super) fn scan_all(&self, history: &mut History, number: u64) -> Result<ScanResult, UndoError> {
        let root = self.workspace.folder(b"").map_err(UndoError::workspace)?;
        let mut scan = self.scan(&mut history.manifest, number);
        let rules = scan.root_rules();
        scan.enter(&root, &mut Vec::new(), &rules, 0).map_err(UndoError::workspace)?;
        scan.find_missing();
        let (found, unread) = (scan.found, scan.unread);
        self.read(history, found, unread)
    }

    /// Scans some paths and the directories above them.
    pub(super) fn scan_paths(
        &self,
        history: &mut History,
        number: u64,
        paths: &[RelativePath],
    ) -> Result<ScanResult, UndoError> {
        let mut scan = self.scan(&mut history.manifest, number);
        for path in paths {
            scan.scan_path(path);
        }
        let (mut found, mut unread) = (scan.found, scan.unread);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found.dedup_by(|one, other| one.0 == other.0);
        unread.sort_by(|one, other| one.0.cmp(&other.0));
        unread.dedup_by(|one, other| one.0 == other.0);
        self.read(history, found, unread)
    }

    /// Reads the files that may have changed, and stores their contents.
    fn read(
        &self,
        history: &mut History,
        mut found: ScanResult,
        unread: Vec<(RelativePath, RecordedStamp, u32)>,
    ) -> Result<ScanResult, UndoError> {
        let limit = history.limits().file;
        let sizes = unread.iter().map(|(_, seen, _)| seen.size).filter(|size| *size <= limit);
        history.make_room(sizes.sum())?;
        for (path, seen, mode) in unread {
            let before = history.manifest.get(&path).map(|slot| &slot.entry);
            let before = before.filter(|entry| entry.seen.same_content(&seen));
            let known = before.and_then(Entry::content).map(str::to_owned);
            let (content, seen) = match self.content(&path, limit) {
                Ok((content, seen)) => {
                    let fits = history.bytes().saturating_add(seen.size) <= history.limits().total;
                    let kept = known.as_deref() == Some(blake3::hash(&content).to_hex().as_str());
                    let hash = if fits || kept { Some(history.store.store(&content)?) } else { None };
                    (hash, seen)
                }
                Err(Errno::FBIG) => (None, seen),
                // Removed meanwhile.
                Err(Errno::NOENT) => continue,
                // Not readable any more, but still the recorded file.
                Err(_) => (known, seen),
            };
            found.push((path, Some(Entry { look: RecordedKind::File(content), mode, seen })));
        }
        Ok(found)
    }

    /// Reads the content of a file.
    fn content(&self, path: &RelativePath, limit: u64) -> Result<(Vec<u8>, RecordedStamp), Errno> {
        let (parent, name) = path.split();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let handle = open(self.workspace.folder(parent)?, name, flags)?;
        let before = fstat(&handle)?;
        if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return Err(Errno::NOENT);
        }
        let mut seen = RecordedStamp::of(&before);
        if seen.size > limit {
            return Err(Errno::FBIG);
        }
        let mut content = Vec::with_capacity(usize::try_from(seen.size).unwrap_or_default() + 1);
        let mut file = File::from(handle);
        let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        file.by_ref().take(limit + 1).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > limit {
            return Err(Errno::FBIG);
        }
        let after = RecordedStamp::of(&fstat(&file)?);
        // The file is being written: the next scan reads it again.
        seen.fresh |= (after.size, after.modified, after.changed) != (seen.size, seen.modified, seen.changed);
        Ok((content, seen))
    }
}

impl Scan<'_> {
    fn root_rules(&self) -> Rules {
        match self.workspace.folder(b".git/info") {
            Ok(folder) => Rules::default().with(folder, "exclude", &RelativePath::new("")),
            Err(_) => Rules::default(),
        }
    }

    /// Scans the content of a directory.
    fn enter(
        &mut self,
        folder: &OwnedFd,
        path: &mut Vec<u8>,
        rules: &Rules,
        level: usize,
    ) -> Result<(), Errno> {
        let readable = open(folder, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let (mut names, mut left): (Vec<Vec<u8>>, Vec<OsString>) = (Vec::new(), Vec::new());
        for entry in Dir::new(readable)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if temporary::is_temporary(OsStr::from_bytes(&name)) {
                left.push(OsStr::from_bytes(&name).to_owned());
            } else if !matches!(name.as_slice(), b"." | b".." | b".git") {
                names.push(name);
            }
        }
        if !left.is_empty() {
            temporary::sweep(folder, &left);
        }
        let rules = if names.iter().any(|name| name == b".gitignore") {
            rules.with(folder, ".gitignore", &RelativePath::new(path.clone()))
        } else {
            rules.clone()
        };
        let length = path.len();
        for name in names {
            path.truncate(length);
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let name = OsStr::from_bytes(&name);
            let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                self.visit(folder.as_fd(), name, path, &stat);
                continue;
            }
            let closed = level >= MAX_LEVELS || rules.ignore(&RelativePath::new(path.clone()));
            let inner = open(folder, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW);
            let entered = match inner {
                Ok(inner) if !closed => self.enter(&inner, path, &rules, level + 1).is_ok(),
                _ => false,
            };
            path.truncate(length + usize::from(length > 0) + name.len());
            self.visit_directory(
                path,
                &stat,
                if entered { RecordedKind::Folder } else { RecordedKind::Closed },
            );
        }
        path.truncate(length);
        Ok(())
    }

    /// Scans one path, down from the root.
    fn scan_path(&mut self, path: &RelativePath) {
        let mut rules = self.root_rules();
        let mut here = RelativePath::new("");
        let names: Vec<_> = path.as_path().iter().collect();
        for (index, name) in names.iter().enumerate() {
            let Ok(folder) = self.workspace.folder(here.as_bytes()) else { return };
            rules = rules.with(&folder, ".gitignore", &here);
            here = here.join(name);
            if *name == ".git" || temporary::is_temporary(name) {
                return;
            }
            match statat(&folder, *name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                    if rules.ignore(&here) {
                        return;
                    }
                    self.visit_directory(here.as_bytes(), &stat, RecordedKind::Folder);
                }
                Ok(stat) => {
                    self.report_missing_beneath(&here);
                    if index + 1 == names.len() {
                        self.visit(folder.as_fd(), name, here.as_bytes(), &stat);
                    }
                    return;
                }
                Err(_) => {
                    self.report_missing_beneath(&here);
                    if self.manifest.contains_key(&here) {
                        self.found.push((here, None));
                    }
                    return;
                }
            }
        }
    }

    fn report_missing_beneath(&mut self, path: &RelativePath) {
        let (first, last) = path.beneath();
        let beneath = self.manifest.range(first..last);
        self.found.extend(beneath.map(|(path, _)| (path.clone(), None)));
    }

    fn visit_directory(&mut self, path: &[u8], stat: &Stat, look: RecordedKind) {
        let entry = Entry { look, mode: mode(stat), seen: RecordedStamp::of(stat) };
        self.compare(path, entry);
    }

    /// Handles an entry that is not a directory.
    fn visit(&mut self, folder: rustix::fd::BorrowedFd<'_>, name: &OsStr, path: &[u8], stat: &Stat) {
        let (seen, mode) = (RecordedStamp::of(stat), mode(stat));
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let number = self.number;
                match self.manifest.get_mut(path) {
                    Some(slot)
                        if matches!(slot.entry.look, RecordedKind::File(_))
                            && slot.entry.seen.proves_unchanged(&seen)
                            && slot.entry.mode == mode =>
                    {
                        slot.visited = number;
                    }
                    slot => {
                        if let Some(slot) = slot {
                            slot.visited = number;
                        }
                        self.unread.push((RelativePath::new(path), seen, mode));
                    }
                }
            }
            FileType::Symlink => {
                let Ok(target) = readlinkat(folder, name, Vec::new()) else { return };
                let look = RecordedKind::Link(RelativePath::new(target.into_bytes()));
                self.compare(path, Entry { look, mode: 0o777, seen });
            }
            _ => {}
        }
    }

    fn compare(&mut self, path: &[u8], entry: Entry) {
        match self.manifest.get_mut(path) {
            Some(slot) if slot.entry.same(&entry) => {
                slot.visited = self.number;
                slot.entry.seen = entry.seen;
            }
            slot => {
                if let Some(slot) = slot {
                    slot.visited = self.number;
                }
                self.found.push((RelativePath::new(path), Some(entry)));
            }
        }
    }

    /// Reports recorded paths that the scan did not find.
    fn find_missing(&mut self) {
        let missing = self.manifest.iter().filter(|(_, slot)| slot.visited != self.number);
        self.found.extend(missing.map(|(path, _)| (path.clone(), None)));
    }
}

fn mode(stat: &Stat) -> u32 {
    // The set-user-id and set-group-id bits of files are not restored.
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    stat.st_mode & if is_folder { 0o7777 } else { crate::files::PLAIN_MODE }
}
