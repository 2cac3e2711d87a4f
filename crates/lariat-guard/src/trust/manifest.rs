//! Lists what a directory of a project contains that could execute, raise privileges or instruct the model.
//!
//! Files are compared by their bytes; settings files by their content, so that a comment or a line break changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::effects::{self, WorkspaceEffect, WorkspaceEffectKind};
use super::git;
use crate::document;
use crate::hooks::scripts::executed_part;
use crate::instructions;
use crate::workspace_reader::{Entry, WorkspaceReader};

/// Directories that are relevant with everything in them.
const DIRECTORIES: &[&str] = &[".claude", ".lariat", ".agents"];
/// Files that are relevant.
const FILES: &[&str] = &[".mcp.json", ".claude.json", "lariat.toml"];
/// The relevant files that are settings: one parser reads them, so their parsed value is compared.
const SETTINGS: &[&str] =
    &[".claude/settings.json", ".claude/settings.local.json", ".mcp.json", "lariat.toml"];
/// Below [`DIRECTORIES`], checkouts of other branches: each is a workspace of its own.
const WORKTREES: &str = ".claude/worktrees";

const MAX_FILES: usize = 2_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;
const MAX_DEPTH: usize = 16;
/// Maximum characters of each file that are stored, to show what changed.
const MAX_SHOWN_CHARS: usize = 16 * 1024;

/// What a workspace contains that is relevant to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    files: BTreeMap<String, ManifestFile>,
    /// Derived from whole files, so it is missing in a manifest that was loaded.
    #[serde(skip)]
    brought: Vec<WorkspaceEffect>,
}

/// One file, by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestFile {
    /// Hash of the whole file.
    pub hash: String,
    /// The beginning of the file, to show what changed.
    pub text: String,
}

/// Why a workspace cannot be examined and therefore cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// More files or bytes than a user could have reviewed.
    #[error("the workspace has more than {MAX_FILES} files or {MAX_BYTES} bytes of configuration")]
    TooMuch,
    /// A file exists but cannot be read.
    #[error("cannot read {path}: {problem}")]
    Unreadable {
        /// Its path in the workspace.
        path: String,
        /// The error of the system.
        problem: String,
    },
    /// A relevant path is neither a file nor a directory.
    #[error("{path} is neither a file nor a directory")]
    SpecialFile {
        /// Its path in the workspace.
        path: String,
    },
}

impl Manifest {
    /// Examines the root of a project.
    pub fn of(look: &dyn WorkspaceReader) -> Result<Self, ManifestError> {
        Self::of_directory(look, "")
    }

    /// Examines a directory of a project, given relative to its root. What belongs to the whole repository is part of the
    /// root's manifest.
    ///
    /// # Errors
    /// The directory cannot be examined.
    pub fn of_directory(look: &dyn WorkspaceReader, directory: &str) -> Result<Self, ManifestError> {
        let mut walk = ManifestWalk { look, directory, manifest: Self::default(), bytes: 0 };
        for folder in DIRECTORIES {
            walk.folder(&walk.path(folder), 0)?;
        }
        for file in FILES {
            walk.file(&walk.path(file))?;
        }
        walk.instructions()?;
        if directory.is_empty() {
            walk.git()?;
        }
        // A command may name scripts elsewhere in the project; trusting the command means trusting them. Git also names
        // directories of scripts.
        let brought = walk.manifest.brought.clone();
        let top = walk.look.top().unwrap_or(Path::new("/nonexistent")).to_owned();
        for one in brought.iter().filter(|one| one.kind != WorkspaceEffectKind::Git) {
            for path in one.paths(&top) {
                walk.file(&path)?;
                walk.file(&walk.path(&path))?;
            }
        }
        walk.named_by_git()?;
        Ok(walk.manifest)
    }

    /// Examines only the instruction files of a directory above a project. What they import is not included.
    ///
    /// # Errors
    /// The files cannot be examined.
    pub fn of_instructions(look: &dyn WorkspaceReader) -> Result<Self, ManifestError> {
        let mut walk = ManifestWalk { look, directory: "", manifest: Self::default(), bytes: 0 };
        for file in instructions::CLAUDE.iter().chain(&instructions::AGENTS) {
            walk.file(file)?;
        }
        Ok(walk.manifest)
    }

    /// Whether a file in the manifest has exactly these bytes or, for a settings file, the same settings.
    pub fn contains_exactly(&self, path: &str, bytes: &[u8]) -> bool {
        self.files.get(path).is_some_and(|file| file.hash == hash(path, bytes))
    }

    /// Whether nothing in the workspace could take effect.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Its files, by their paths in the workspace.
    pub fn files(&self) -> impl Iterator<Item = (&str, &ManifestFile)> {
        self.files.iter().map(|(path, brings)| (path.as_str(), brings))
    }

    /// What would take effect, in words for the user.
    pub fn effects(&self) -> &[WorkspaceEffect] {
        &self.brought
    }

    /// Returns the files that differ from those of an earlier manifest.
    pub(super) fn since(&self, before: &Self) -> Vec<super::Difference> {
        let paths: std::collections::BTreeSet<&String> =
            before.files.keys().chain(self.files.keys()).collect();
        let differs = |path: &&String| {
            before.files.get(*path).map(|file| &file.hash) != self.files.get(*path).map(|file| &file.hash)
        };
        let text = |manifest: &Self, path: &String| manifest.files.get(path).map(|file| file.text.clone());
        paths
            .into_iter()
            .filter(differs)
            .map(|path| super::Difference {
                path: path.clone(),
                before: text(before, path),
                now: text(self, path),
            })
            .collect()
    }
}

struct ManifestWalk<'a> {
    look: &'a dyn WorkspaceReader,
    /// The directory, relative to the root of the project; empty at the root.
    directory: &'a str,
    manifest: Manifest,
    bytes: usize,
}

impl ManifestWalk<'_> {
    fn path(&self, name: &str) -> String {
        if self.directory.is_empty() { name.to_owned() } else { format!("{}/{name}", self.directory) }
    }

    fn folder(&mut self, folder: &str, depth: usize) -> Result<(), ManifestError> {
        if depth > MAX_DEPTH {
            return Err(ManifestError::TooMuch);
        }
        if is_or_ends_with(folder, WORKTREES) {
            return Ok(());
        }
        let entries = self.look.entries(folder).map_err(|problem| unreadable(folder, problem))?;
        self.entries(folder, entries, depth)
    }

    fn entries(&mut self, folder: &str, entries: Vec<Entry>, depth: usize) -> Result<(), ManifestError> {
        for entry in entries {
            match entry {
                Entry::Folder(name) => self.folder(&format!("{folder}/{name}"), depth + 1)?,
                Entry::File(name) => self.file(&format!("{folder}/{name}"))?,
                Entry::Link(name, target) => self.link(format!("{folder}/{name}"), &target, depth)?,
                Entry::Other(name) => {
                    return Err(ManifestError::SpecialFile { path: format!("{folder}/{name}") });
                }
            }
        }
        Ok(())
    }

    /// Adds the files that instruct the model and the files they import.
    fn instructions(&mut self) -> Result<(), ManifestError> {
        for file in instructions::CLAUDE.iter().chain(&instructions::AGENTS) {
            self.file(&self.path(file))?;
        }
        let found = self.manifest.brought.iter().filter(|one| one.kind == WorkspaceEffectKind::Instructions);
        let mut ahead: Vec<(String, usize)> = found.map(|one| (one.file.clone(), 0)).collect();
        while let Some((file, hops)) = ahead.pop() {
            if hops == instructions::MOST_HOPS {
                continue;
            }
            let Ok(Some(bytes)) = self.look.read(&file, self.room()) else { continue };
            // Comments are hidden from the model, so nothing in them is imported.
            let text = instructions::without_comments(&String::from_utf8_lossy(&bytes));
            for target in instructions::imports(&text)
                .iter()
                .filter_map(|import| instructions::import_target(&file, import))
            {
                // A word that names no file is prose.
                if self.manifest.files.contains_key(&target) {
                    continue;
                }
                let Ok(Some(bytes)) = self.look.read(&target, self.room()) else { continue };
                self.record(target.clone(), &bytes)?;
                let what = format!("{target}, imported by {file}");
                let kind = WorkspaceEffectKind::Instructions;
                self.manifest.brought.push(WorkspaceEffect { file: target.clone(), kind, what });
                ahead.push((target, hops + 1));
            }
        }
        Ok(())
    }

    /// Adds a link, both its target as written and the content it leads to. Links out of the workspace are not followed.
    fn link(&mut self, path: String, target: &str, depth: usize) -> Result<(), ManifestError> {
        if depth >= MAX_DEPTH {
            return Err(ManifestError::TooMuch);
        }
        self.record(format!("{path} (link)"), target.as_bytes())?;
        if let Ok(Some(bytes)) = self.look.read(&path, self.room()) {
            self.add(path.clone(), &bytes)?;
        }
        let entries = self.look.entries(&path).unwrap_or_default();
        self.entries(&path, entries, depth + 1)
    }

    /// Adds what git would start in the repository, in its submodules, and in what only looks like a repository.
    fn git(&mut self) -> Result<(), ManifestError> {
        let pointer = self.text(".git")?;
        // A pointer that leads out of the workspace is listed but not followed.
        let inside = pointer.as_deref().and_then(git::directory);
        let folder = inside.unwrap_or(".git").trim_end_matches('/').to_owned();
        self.repository(&folder, git::relevant_lines)?;
        if let Some(text) = &pointer {
            self.git_file(".git".to_owned(), text)?;
        }
        self.file(&format!("{folder}/info/attributes"))?;
        if self
            .manifest
            .brought
            .iter()
            .any(|one| one.kind == WorkspaceEffectKind::Git && git::is_driver(&one.what))
        {
            self.file(".gitattributes")?;
        }
        self.submodules(&format!("{folder}/modules"), 0)?;
        for submodule in git::submodules(&self.text(".gitmodules")?.unwrap_or_default()) {
            let own = format!("{submodule}/.git");
            let pointer = self.text(&own)?;
            let leads = pointer.as_deref().and_then(|text| git::submodule_directory(&submodule, text));
            let usual = leads.as_ref().is_some_and(|path| path.starts_with(".git/modules/"));
            if let Some(text) = pointer.as_ref().filter(|_| !usual) {
                self.git_file(own.clone(), text)?;
            }
            self.repository(leads.as_deref().unwrap_or(&own), git::relevant_lines_in_submodule)?;
        }
        if pointer.is_none() && self.text(".git/HEAD")?.is_none() && self.text("HEAD")?.is_some() {
            self.repository("", git::relevant_lines)?;
        }
        Ok(())
    }

    /// Adds the repositories of submodules, whose names may contain directories.
    fn submodules(&mut self, folder: &str, depth: usize) -> Result<(), ManifestError> {
        if depth > MAX_DEPTH {
            return Err(ManifestError::TooMuch);
        }
        let entries = self.look.entries(folder).map_err(|problem| unreadable(folder, problem))?;
        for entry in entries {
            let (Entry::Folder(name) | Entry::Link(name, _)) = entry else { continue };
            if depth > 0 && git::WITHOUT_REPOSITORIES.contains(&name.as_str()) {
                continue;
            }
            let inner = format!("{folder}/{name}");
            self.repository(&inner, git::relevant_lines_in_submodule)?;
            self.submodules(&inner, depth + 1)?;
        }
        Ok(())
    }

    /// Adds what the configuration and the hooks of a repository would start.
    fn repository(&mut self, folder: &str, relevant_lines: fn(&str) -> String) -> Result<(), ManifestError> {
        let within =
            |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        for name in ["config", "config.worktree"] {
            let path = within(name);
            let relevant_lines = self.text(&path)?.map(|text| relevant_lines(&text)).unwrap_or_default();
            if !relevant_lines.is_empty() {
                self.git_file(path, &relevant_lines)?;
            }
        }
        let hooks = within("hooks");
        let entries = self.look.entries(&hooks).map_err(|problem| unreadable(&hooks, problem))?;
        let entries = entries.into_iter().filter(|entry| !git::is_sample(entry)).collect();
        self.entries(&hooks, entries, 0)
    }

    /// Adds the files that git's configuration names and, if those are configuration, the files they name in turn.
    fn named_by_git(&mut self) -> Result<(), ManifestError> {
        let lines = self.manifest.brought.iter().filter(|one| one.kind == WorkspaceEffectKind::Git);
        let mut ahead: Vec<WorkspaceEffect> = lines.cloned().collect();
        while let Some(one) = ahead.pop() {
            for path in git::named_files(&one.file, &one.what, self.look.top()) {
                if self.manifest.files.contains_key(&path) {
                    continue;
                }
                let Some(text) = self.text(&path)? else {
                    self.folder(&path, 0)?;
                    continue;
                };
                self.file(&path)?;
                if git::includes(&one.what) {
                    let relevant_lines = git::relevant_lines(&text);
                    let lines = relevant_lines.lines().map(|line| line.trim().to_owned());
                    let lines = lines.map(|what| WorkspaceEffect {
                        file: path.clone(),
                        kind: WorkspaceEffectKind::Git,
                        what,
                    });
                    let lines: Vec<WorkspaceEffect> = lines.collect();
                    self.manifest.brought.extend(lines.iter().cloned());
                    ahead.extend(lines);
                }
            }
        }
        Ok(())
    }

    fn text(&self, path: &str) -> Result<Option<String>, ManifestError> {
        let bytes = self.look.read(path, MAX_BYTES).map_err(|problem| unreadable(path, problem))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn git_file(&mut self, path: String, text: &str) -> Result<(), ManifestError> {
        let lines = text.lines().map(|line| line.trim().to_owned());
        let brought =
            lines.map(|what| WorkspaceEffect { file: path.clone(), kind: WorkspaceEffectKind::Git, what });
        self.manifest.brought.extend(brought);
        self.record(path, text.as_bytes())
    }

    fn file(&mut self, path: &str) -> Result<(), ManifestError> {
        if self.manifest.files.contains_key(path) {
            return Ok(());
        }
        match self.look.read(path, self.room()).map_err(|problem| unreadable(path, problem))? {
            Some(bytes) => self.add(path.to_owned(), &bytes),
            None => Ok(()),
        }
    }

    /// How many more bytes may be read: one more than the limit, to detect an excess.
    const fn room(&self) -> usize {
        MAX_BYTES.saturating_sub(self.bytes) + 1
    }

    fn add(&mut self, path: String, bytes: &[u8]) -> Result<(), ManifestError> {
        // A file beyond the limit is not even parsed.
        self.record(path.clone(), bytes)?;
        let start = self.path("");
        let name = path.strip_prefix(&start).unwrap_or(&path);
        self.manifest.brought.extend(effects::of(&path, name, &String::from_utf8_lossy(bytes)));
        Ok(())
    }

    fn record(&mut self, path: String, bytes: &[u8]) -> Result<(), ManifestError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_BYTES || self.manifest.files.len() >= MAX_FILES {
            return Err(ManifestError::TooMuch);
        }
        let text = String::from_utf8_lossy(bytes).chars().take(MAX_SHOWN_CHARS).collect();
        let hash = hash(&path, bytes);
        self.manifest.files.insert(path, ManifestFile { hash, text });
        Ok(())
    }
}

fn hash(path: &str, bytes: &[u8]) -> String {
    let is_settings = SETTINGS.iter().any(|name| is_or_ends_with(path, name));
    let said = is_settings.then(|| document::canonical(path, bytes)).flatten();
    let bytes = executed_part(path, bytes);
    blake3::hash(said.as_deref().map_or(&*bytes, str::as_bytes)).to_hex().to_string()
}

/// Whether a path names this file, in any directory.
fn is_or_ends_with(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

fn unreadable(path: &str, problem: String) -> ManifestError {
    ManifestError::Unreadable { path: path.to_owned(), problem }
}
