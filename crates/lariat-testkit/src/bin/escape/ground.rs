//! The ground: a workspace, and around it what must never be reached.
//!
//! Owns the folders and the two ways to notice an escape: the kernel's own report of every open and change outside
//! (inotify), and a comparison of everything outside with how it was.

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// In every file outside; never in an answer.
pub(crate) const CANARY: &str = "CANARY";
/// In the file that is outside and, by a hard link, inside.
pub(crate) const HARD: &str = "hard content";

/// The folders of a run. Dropping it removes them.
pub(crate) struct Ground {
    pub(crate) base: PathBuf,
    events: OwnedFd,
    outside: BTreeMap<PathBuf, State>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    inode: u64,
    mode: u32,
    links: u64,
    modified: (i64, i64),
    content: Vec<u8>,
}

/// Folders outside of the workspace.
const OUTSIDE: &[&str] = &["out", "out/deep", "ws-evil", "wS"];

impl Ground {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let base = std::env::temp_dir().join(format!("lariat-escape-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(base.join("ws/a/b/c")).map_err(text)?;
        let base = fs::canonicalize(base).map_err(text)?;
        for folder in OUTSIDE {
            fs::create_dir_all(base.join(folder)).map_err(text)?;
            for file in ["canary", "file", "canary.txt"] {
                fs::write(base.join(folder).join(file), format!("{CANARY} in {folder}/{file}\n"))
                    .map_err(text)?;
            }
        }
        fs::write(base.join("canary"), format!("{CANARY} beside\n")).map_err(text)?;
        fs::write(base.join("out/hard"), format!("{HARD}\n")).map_err(text)?;
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(text)?;
        let mut ground = Self { base, events, outside: BTreeMap::new() };
        ground.outside = ground.look()?;
        let what = WatchFlags::OPEN | WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::CREATE;
        let what = what | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        for folder in OUTSIDE {
            inotify::add_watch(&ground.events, ground.base.join(folder), what | WatchFlags::ONLYDIR)
                .map_err(text)?;
        }
        Ok(ground)
    }

    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.base.join("ws").join(path)
    }

    /// Absolute text of a path beside the workspace.
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.base.join(path).display().to_string()
    }

    pub(crate) fn put(&self, path: &str, content: &str) -> Result<(), String> {
        let path = self.inside(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(text)?;
        }
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) -> Result<(), String> {
        let path = self.inside(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(text)?;
        }
        symlink(target, &path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// What was opened or changed outside since the last question, by name.
    pub(crate) fn opened_outside(&self) -> Vec<String> {
        let mut seen = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                seen.push("more than can be told".to_owned());
            }
            seen.push(format!("{:?} {}", event.events(), name.unwrap_or_default()));
        }
        seen
    }

    /// The first thing outside that is not as it was.
    pub(crate) fn changed_outside(&self) -> Result<Option<String>, String> {
        let now = self.look()?;
        self.opened_outside();
        let differs =
            self.outside.iter().find(|(path, state)| now.get(*path) != Some(state)).map(|(path, _)| path);
        let added = now.keys().find(|path| !self.outside.contains_key(*path));
        Ok(differs.or(added).map(|path| path.display().to_string()))
    }

    fn look(&self) -> Result<BTreeMap<PathBuf, State>, String> {
        let mut found = BTreeMap::new();
        let mut ahead: Vec<PathBuf> = vec![self.base.clone()];
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(&folder).map_err(text)? {
                let path = entry.map_err(text)?.path();
                let data = fs::symlink_metadata(&path).map_err(text)?;
                if path == self.base.join("ws") {
                    continue;
                }
                let content = if data.is_file() { fs::read(&path).map_err(text)? } else { Vec::new() };
                let folder = data.is_dir();
                let state = State {
                    inode: data.ino(),
                    mode: data.mode(),
                    // Breaking a hard link from inside is allowed, and seen in the count only.
                    links: if folder { data.nlink() } else { 0 },
                    modified: (data.mtime(), data.mtime_nsec()),
                    content,
                };
                found.insert(path.clone(), state);
                if folder {
                    ahead.push(path);
                }
            }
        }
        Ok(found)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
