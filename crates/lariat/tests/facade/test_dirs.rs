//! A test fixture: a temporary directory with a project, a home directory and a trust file.
#![expect(clippy::disallowed_methods, reason = "the fixture's own directory")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use lariat::host::files::Workspace;
use lariat::local::WorkspaceLoader;
use lariat::permission::trust::TrustStore;
use lariat::permission::{Format, Level};

pub(crate) struct TestDirs(PathBuf);

impl TestDirs {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lariat-facade-{}-{number}", std::process::id()));
        std::fs::create_dir_all(path.join("project")).unwrap();
        std::fs::create_dir_all(path.join("home")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.write_bytes(name, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Moves a file, a link or a directory to a path where nothing or a link is.
    pub(crate) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.0.join(from), self.0.join(to)).unwrap();
    }

    pub(crate) fn pipe(&self, name: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }

    pub(crate) fn trust_store(&self) -> TrustStore {
        TrustStore::new(self.0.join("state/trust.json"))
    }

    /// Opens the project with the user's usual settings files.
    pub(crate) fn opening(&self) -> WorkspaceLoader {
        self.opening_of("project")
    }

    pub(crate) fn opening_of(&self, name: &str) -> WorkspaceLoader {
        let workspace = Workspace::open(self.0.join(name)).unwrap();
        WorkspaceLoader::new(&workspace, self.path("home"), self.trust_store())
            .with_file(Level::Managed, Format::Json, self.path("managed.json"))
            .with_file(Level::User, Format::Json, self.path("home/.claude/settings.json"))
            .with_file(Level::User, Format::Toml, self.path("home/.config/lariat/config.toml"))
    }
}

impl Drop for TestDirs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
