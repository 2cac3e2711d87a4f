//! The fixture of a sequence: a workspace with a git repository, its undo store, and plain copies to compare
//! with.
//!
//! A copy has every path with its kind, mode and bytes. Like undo itself, it omits `.git` and the directory
//! that git ignores.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kind and content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathState {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

/// A plain copy of a workspace.
pub(crate) type Snapshot = BTreeMap<PathBuf, PathState>;

/// The directories of a sequence, removed on drop.
pub(crate) struct World {
    base: PathBuf,
}

/// Script that creates the initial workspace.
const BEGINNING: &str = r#"
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main .
git config user.name t; git config user.email t@example.org
mkdir -p a b/c src/deep ignored
printf 'alpha\nbeta\ngamma\n' > a/one.txt
printf 'alpha\nbeta\ngamma\n' > a/two.txt
printf '#!/bin/sh\necho alpha\n' > src/x.sh; chmod 755 src/x.sh
printf 'deep beta\n' > src/deep/one.txt
printf 'c\n' > b/c/two.txt
head -c 3000 /dev/urandom > b/data.bin
ln -s ../a/one.txt b/link
printf 'ignored/\n*.env\n' > .gitignore
git add -A; git commit -q -m first
git checkout -q -b other
printf 'other\nbeta\n' > a/one.txt; git rm -q -r src/deep; printf 'new\n' > b/new.txt; chmod 644 src/x.sh
git add -A; git commit -q -m second
git checkout -q main
printf 'SECRET=alpha\n' > x.env
printf 'left alone\n' > ignored/file
mkdir -p empty/inner
"#;

impl World {
    /// Copies the template.
    pub(crate) fn new(template: &Path, name: &str) -> Result<Self, String> {
        let base = std::env::temp_dir().join(format!("lariat-undo-{}-{name}", std::process::id()));
        let world = Self { base };
        world.clear();
        fs::create_dir_all(&world.base).map_err(text)?;
        run(Command::new("cp").arg("-a").arg(template).arg(world.workspace()))?;
        Ok(world)
    }

    /// The initial workspace of every sequence.
    pub(crate) fn template() -> Result<Self, String> {
        let base = std::env::temp_dir().join(format!("lariat-undo-{}-template", std::process::id()));
        let world = Self { base };
        world.clear();
        fs::create_dir_all(world.workspace()).map_err(text)?;
        run(Command::new("bash").arg("-c").arg(BEGINNING).current_dir(world.workspace()))?;
        Ok(world)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.base.join("ws")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.base.join("undo")
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.workspace().join(path)
    }

    /// Size of the undo store's files in bytes.
    pub(crate) fn disk_use(&self) -> u64 {
        let mut ahead = vec![self.store()];
        let mut bytes = 0;
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(data) if data.is_dir() => ahead.push(entry.path()),
                    Ok(data) => bytes += data.len(),
                    Err(_) => {}
                }
            }
        }
        bytes
    }

    /// Makes a plain copy of the workspace.
    pub(crate) fn copy(&self) -> Result<Snapshot, String> {
        let root = self.workspace();
        let mut copy = Snapshot::new();
        let mut ahead = vec![root.clone()];
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(&folder).map_err(text)? {
                let path = entry.map_err(text)?.path();
                let relative = path.strip_prefix(&root).map_err(text)?.to_owned();
                if relative.ends_with(".git") || relative == Path::new("ignored") {
                    continue;
                }
                let data = fs::symlink_metadata(&path).map_err(text)?;
                let mode = data.permissions().mode() & 0o7777;
                let thing = if data.is_dir() {
                    ahead.push(path);
                    PathState::Folder(mode)
                } else if data.is_symlink() {
                    PathState::Link(fs::read_link(&path).map_err(text)?)
                } else {
                    PathState::File(mode, fs::read(&path).map_err(text)?)
                };
                copy.insert(relative, thing);
            }
        }
        Ok(copy)
    }

    fn clear(&self) {
        // Files in read-only directories could not be removed.
        let _ = Command::new("chmod").arg("-R").arg("u+rwX").arg(&self.base).output();
        let _ = fs::remove_dir_all(&self.base);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.clear();
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(text)?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
