//! Where the repository is and what text it holds.
//!
//! Owns finding the root, reading files by their path from the root, and walking the tree without build
//! output.
//! Invariant: paths handed out are relative to the root and use `/`, so that messages are the same on every
//! machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold what tools made, not what people wrote.
const NOT_OURS: &[&str] = &[".git", "target", "node_modules"];

pub(crate) struct Workspace {
    root: PathBuf,
    target: String,
}

impl Workspace {
    /// The workspace around the current directory, as cargo sees it.
    pub(crate) fn locate() -> Result<Self> {
        let here =
            Self::at(std::env::current_dir().context("the current directory is gone; change to another")?);
        let manifest =
            crate::command_line::CommandLine::cargo("locate-project --workspace --message-format plain")
                .capture(&here)?;
        let root =
            Path::new(manifest.trim()).parent().context("cargo named a manifest without a directory")?;
        Ok(Self::at(root.to_owned()))
    }

    fn at(root: PathBuf) -> Self {
        let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
        Self { root, target }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target directory, relative to the root or absolute, as the person set it.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn read(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<()> {
        std::fs::write(self.root.join(path), text).with_context(|| format!("cannot write {path}"))
    }

    /// A path from the root, for programs that start elsewhere.
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
                    if !NOT_OURS.iter().any(|name| entry.file_name() == OsStr::new(name)) {
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

    /// The names in a directory that end in `end`, without it, sorted.
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

    fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.to_string_lossy().replace('\\', "/")
    }

    #[cfg(test)]
    pub(crate) fn fake(target: &str) -> Self {
        Self { root: PathBuf::from("."), target: target.to_owned() }
    }
}
