//! Keeps a copy of the workspace's sources, with mistakes planted in it, and a target directory for its builds.
//!
//! Invariants: the workspace itself is never changed; a file of the copy is written only if its content differs, so
//! that cargo compiles only what changed; files that the workspace no longer has are removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::SWITCH;
use super::patch::{Mistake, plant};
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Declares the module with the switch.
const ROOT_FILE: &str = "crates/lariat-core/src/lib.rs";
const MANIFEST: &str = "Cargo.toml";
const SWITCH_FILE: &str = "crates/lariat-core/src/mistake_switch.rs";

pub(super) struct SourceCopy<'a> {
    workspace: &'a Workspace,
    /// The directory with the copy and its builds, relative to the workspace's root or absolute.
    place: String,
}

impl<'a> SourceCopy<'a> {
    /// A copy with this name. Copies with different names can be used at the same time.
    pub(super) fn new(workspace: &'a Workspace, name: &str) -> Self {
        Self { workspace, place: format!("{}/{name}", workspace.target()) }
    }

    /// Brings the copy up to date and plants `mistakes`, and no others.
    pub(super) fn write(&self, mistakes: &[&Mistake]) -> Result<()> {
        let mut planted = plant(mistakes, |file| self.workspace.read(file))?;
        let root = match planted.remove(ROOT_FILE) {
            Some(text) => text,
            None => self.workspace.read(ROOT_FILE)?,
        };
        planted.insert(ROOT_FILE.to_owned(), format!("{root}\npub mod mistake_switch;\n"));
        planted.insert(SWITCH_FILE.to_owned(), switch_module());
        planted.insert(MANIFEST.to_owned(), without_warnings(&self.workspace.read(MANIFEST)?)?);
        let copy = self.workspace.root().join(&self.place).join("sources");
        let listed = CommandLine::of("git", "ls-files --cached --others --exclude-standard")
            .capture(self.workspace)?;
        let mut present = BTreeSet::new();
        for file in listed.lines().filter(|file| !planted.contains_key(*file)) {
            let (source, target) = (self.workspace.root().join(file), copy.join(file));
            // A file that is deleted but still in the index.
            let Ok(metadata) = source.symlink_metadata() else { continue };
            present.insert(if metadata.is_symlink() {
                link(&target, &std::fs::read_link(&source)?)?
            } else {
                let target = update(&target, &std::fs::read(&source)?)?;
                std::fs::set_permissions(&target, metadata.permissions())?;
                target
            });
        }
        for (file, text) in &planted {
            present.insert(update(&copy.join(file), text.as_bytes())?);
        }
        remove_others(&copy, &present)?;
        Ok(())
    }

    /// A cargo command on the copy.
    pub(super) fn cargo(&self, command: &str) -> CommandLine {
        CommandLine::cargo(command)
            .with_arguments(["--locked", "--manifest-path", &self.manifest()])
            .with_arguments(["--target-dir", &format!("{}/target", self.place)])
    }

    /// A run of tests that were built from the copy; `description` is the file in which nextest described that build.
    pub(super) fn nextest(&self, description: &str) -> CommandLine {
        CommandLine::cargo("nextest run --manifest-path").with_arguments([
            &self.manifest(),
            "--binaries-metadata",
            description,
        ])
    }

    /// Writes a file beside the copy and returns its path.
    pub(super) fn keep(&self, name: &str, text: &str) -> Result<String> {
        let file = self.workspace.absolute(&format!("{}/{name}", self.place));
        update(Path::new(&file), text.as_bytes())?;
        Ok(file)
    }

    fn manifest(&self) -> String {
        format!("{}/sources/Cargo.toml", self.place)
    }

    /// A program that was built from the copy.
    pub(super) fn program(&self, profile: &str, name: &str) -> CommandLine {
        CommandLine::of(&self.workspace.absolute(&format!("{}/target/{profile}/{name}", self.place)), "")
    }
}

/// Switches warnings off: a planted mistake may leave something unused. Unlike a compiler flag, this concerns only the workspace's
/// crates, so that others are the same as in every build.
fn without_warnings(manifest: &str) -> Result<String> {
    const LINTS: &str = "[workspace.lints.rust]\n";
    let (before, after) = manifest.split_once(LINTS).context("the workspace has no lints")?;
    Ok(format!("{before}{LINTS}warnings = \"allow\"\n{after}"))
}

/// Reads the environment once, because the machine asks often.
fn switch_module() -> String {
    format!(
        "//! Tells which planted mistake is switched on.\n\n\
         /// Whether the mistake with this name is switched on.\n\
         pub fn is_active(name: &str) -> bool {{\n    \
             static ACTIVE: std::sync::LazyLock<String> =\n        \
                 std::sync::LazyLock::new(|| std::env::var({SWITCH:?}).unwrap_or_default());\n    \
             *ACTIVE == name\n\
         }}\n"
    )
}

/// Creates a symbolic link unless it leads there already. Returns its path.
fn link(file: &Path, destination: &Path) -> Result<PathBuf> {
    if std::fs::read_link(file).is_ok_and(|known| known == destination) {
        return Ok(file.to_owned());
    }
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    // An earlier copy may have a file here.
    let _ = std::fs::remove_file(file);
    std::os::unix::fs::symlink(destination, file)
        .with_context(|| format!("cannot create {}", file.display()))?;
    Ok(file.to_owned())
}

/// Writes a file unless it has this content already. Returns its path.
fn update(file: &Path, bytes: &[u8]) -> Result<PathBuf> {
    if std::fs::read(file).is_ok_and(|known| known == bytes) {
        return Ok(file.to_owned());
    }
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file.to_owned())
}

/// Removes files that are not `present`, and directories without files. Returns whether nothing is left.
fn remove_others(directory: &Path, present: &BTreeSet<PathBuf>) -> Result<bool> {
    let mut is_empty = true;
    for entry in std::fs::read_dir(directory)? {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
        let is_gone = if kind?.is_dir() {
            remove_others(&path, present)? && std::fs::remove_dir(&path).is_ok()
        } else {
            !present.contains(&path) && std::fs::remove_file(&path).is_ok()
        };
        is_empty &= is_gone;
    }
    Ok(is_empty)
}
