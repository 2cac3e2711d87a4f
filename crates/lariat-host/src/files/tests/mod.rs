//! Tests the file operations with real directories, links and concurrent writers.
#![expect(clippy::disallowed_methods, reason = "tests check the files without going through the workspace")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A workspace in a temporary directory, next to a directory outside the workspace.
struct Fixture {
    base: PathBuf,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("lariat-files-{}-{count}", std::process::id()));
        fs::create_dir_all(base.join("ws")).unwrap();
        fs::create_dir_all(base.join("out")).unwrap();
        fs::write(base.join("out/canary"), "outside").unwrap();
        let base = fs::canonicalize(base).unwrap();
        let workspace = Workspace::open(base.join("ws")).unwrap();
        Self { base, workspace }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.join("ws").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn read(&self, path: &str) -> Result<String, FileError> {
        self.workspace.read(path, 1 << 20).map(|content| String::from_utf8(content.bytes).unwrap())
    }

    fn known(&self, path: &str) -> FileVersion {
        let content = self.workspace.read(path, 1 << 20).unwrap();
        FileVersion::of(content.stamp, &content.bytes)
    }

    /// Names in the workspace that begin like temporary files.
    fn left_behind(&self) -> Vec<String> {
        let names = self.workspace.list(".", 10_000).unwrap().0;
        let names = names.into_iter().map(|entry| entry.name.into_string().unwrap());
        names.filter(|name| name.starts_with(".lariat-")).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

mod access;
mod sweep;
mod writes;
