//! The fixture: a workspace, surrounded by files that no tool may reach.
//!
//! It detects an escape in two ways: inotify reports every open and change outside the workspace, and a
//! comparison finds everything outside that differs from its initial state.

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Content of every file outside the workspace; must never appear in a result.
pub(crate) const CANARY: &str = "CANARY";
/// Part of a name that exists only outside the workspace; must never appear in a result.
pub(crate) const OUTSIDE_NAME: &str = "only_outside";
/// Content of the file that is outside and also inside, through a hard link.
pub(crate) const HARD: &str = "hard content";

/// The directories of one run, removed on drop.
pub(crate) struct Fixture {
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

/// Directories outside the workspace.
const OUTSIDE: &[&str] = &["out", "out/deep", "ws-evil", "wS"];

impl Fixture {
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
        // A definition for the map of a repository, and patterns that a walk would read.
        let source = format!("pub fn {CANARY}_function() {{}}\n");
        fs::write(base.join("out").join(format!("{OUTSIDE_NAME}.rs")), source).map_err(text)?;
        fs::write(base.join("out/.gitignore"), format!("{CANARY}\n")).map_err(text)?;
        fs::write(base.join("canary"), format!("{CANARY} beside\n")).map_err(text)?;
        fs::write(base.join("out/hard"), format!("{HARD}\n")).map_err(text)?;
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(text)?;
        let mut fixture = Self { base, events, outside: BTreeMap::new() };
        fixture.outside = fixture.look()?;
        let what = WatchFlags::OPEN | WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::CREATE;
        let what = what | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        for folder in OUTSIDE {
            inotify::add_watch(&fixture.events, fixture.base.join(folder), what | WatchFlags::ONLYDIR)
                .map_err(text)?;
        }
        Ok(fixture)
    }

    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.base.join("ws").join(path)
    }

    /// Absolute path of a file beside the workspace.
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

    /// Names of the files outside that were opened or changed since the last call.
    pub(crate) fn opened_outside(&self) -> Vec<String> {
        let mut seen = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                seen.push("too many events for inotify".to_owned());
            }
            seen.push(format!("{:?} {}", event.events(), name.unwrap_or_default()));
        }
        seen
    }

    /// The first file outside that differs from its initial state.
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
                    // Tools may break a hard link from inside, which changes only the link count.
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

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
