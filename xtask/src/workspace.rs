//! Locates the repository and reads its files.
//!
//! Invariant: returned paths are relative to the root and use `/`, so that messages are the same on every
//! machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories with generated files.
const GENERATED_DIRECTORIES: &[&str] = &[".git", "target", "node_modules"];

pub(crate) struct Workspace {
    root: PathBuf,
    target: String,
}

impl Workspace {
    /// Finds the workspace around the current directory with cargo.
    pub(crate) fn locate() -> Result<Self> {
        let here =
            Self::at(std::env::current_dir().context("the current directory does not exist any more")?);
        let manifest =
            crate::command_line::CommandLine::cargo("locate-project --workspace --message-format plain")
                .capture(&here)?;
        let root = Path::new(manifest.trim())
            .parent()
            .context("cargo returned a manifest path without a directory")?;
        Ok(Self::at(root.to_owned()))
    }

    fn at(root: PathBuf) -> Self {
        let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
        Self { root, target }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target directory, relative to the root or absolute, as the user set it.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn read(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<()> {
        std::fs::write(self.root.join(path), text).with_context(|| format!("cannot write {path}"))
    }

    /// A path as seen from the root, for programs that start elsewhere.
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.root.join(path).to_string_lossy().into_owned()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Every file whose name ends in one of `extensions`, sorted.
    pub(crate) fn files(&self, extensions: &[&str]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut pending = vec![self.root.clone()];
        while let Some(directory) = pending.pop() {
            let entries = std::fs::read_dir(&directory)
                .with_context(|| format!("cannot list {}", directory.display()))?;
            for entry in entries {
                let entry = entry?;
                let path = entry.path();
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    if !GENERATED_DIRECTORIES.iter().any(|name| entry.file_name() == OsStr::new(name)) {
                        pending.push(path);
                    }
                } else if path
                    .extension()
                    .and_then(OsStr::to_str)
                    .is_some_and(|end| extensions.contains(&end))
                {
                    found.push(self.relative(&path));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The names in a directory that end in `end`, without that ending, sorted.
    pub(crate) fn names(&self, directory: &str, end: &str) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(self.root.join(directory))
            .with_context(|| format!("cannot list {directory}"))?;
        let mut names = Vec::new();
        for entry in entries {
            names.extend(
                entry?.file_name().to_str().and_then(|name| name.strip_suffix(end)).map(str::to_owned),
            );
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.to_string_lossy().replace('\\', "/")
    }

    /// The repository that this program was built from.
    #[cfg(test)]
    pub(crate) fn repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned);
        Self { root: root.unwrap_or_default(), target: "target".to_owned() }
    }

    #[cfg(test)]
    pub(crate) fn fake(target: &str) -> Self {
        Self { root: PathBuf::from("."), target: target.to_owned() }
    }
}
