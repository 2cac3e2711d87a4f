//! Finds the Markdown files below a directory: commands and sub-agents are such files.
//!
//! Reads through the handle of a workspace, so no link leads out of it. A file that cannot be read is a problem to report,
//! not an error.

use std::path::{Path, PathBuf};

use lariat_host::files::{EntryKind, FileError, Workspace};

/// Maximum entries of one directory that are examined.
const MAX_ENTRIES: usize = 500;
/// Maximum depth of subdirectories.
const MAX_DEPTH: usize = 4;
/// Maximum bytes of a file; larger files are not prompts.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// A Markdown file with its text.
pub(crate) struct MarkdownFile {
    pub(crate) path: PathBuf,
    /// The name of the file without `.md`.
    pub(crate) stem: String,
    /// The subdirectories that it is in.
    pub(crate) below: Vec<String>,
    pub(crate) text: String,
}

/// Reads the Markdown files below a directory. Also returns what could not be read, and why.
pub(crate) fn markdown_files(
    workspace: &Workspace,
    directory: &str,
) -> (Vec<MarkdownFile>, Vec<(PathBuf, String)>) {
    let mut found = FoundFiles { workspace, files: Vec::new(), problems: Vec::new() };
    found.read_level(directory, &mut Vec::new());
    (found.files, found.problems)
}

struct FoundFiles<'a> {
    workspace: &'a Workspace,
    files: Vec<MarkdownFile>,
    problems: Vec<(PathBuf, String)>,
}

impl FoundFiles<'_> {
    fn read_level(&mut self, directory: &str, below: &mut Vec<String>) {
        let path = self.workspace.path().join(directory);
        let mut warn = |path: &Path, problem: String| self.problems.push((path.to_owned(), problem));
        let (entries, more) = match self.workspace.list(directory, MAX_ENTRIES) {
            Ok(listed) => listed,
            Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => return,
            Err(error) => return warn(&path, error.to_string()),
        };
        if more {
            warn(&path, format!("too many entries; only the first {MAX_ENTRIES} were examined"));
        }
        for entry in entries {
            let Some(name) = entry.name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let inner = format!("{directory}/{name}");
            match (name.strip_suffix(".md"), entry.kind) {
                (None, EntryKind::Directory) if below.len() < MAX_DEPTH => {
                    below.push(name.to_owned());
                    self.read_level(&inner, below);
                    below.pop();
                }
                (Some(stem), EntryKind::File | EntryKind::Link) if !stem.is_empty() => {
                    self.read_file(&inner, stem, below)
                }
                _ => {}
            }
        }
    }

    fn read_file(&mut self, path: &str, stem: &str, below: &[String]) {
        let file_path = self.workspace.path().join(path);
        match self.workspace.read(path, MAX_FILE_BYTES) {
            Ok(content) => self.files.push(MarkdownFile {
                path: file_path,
                stem: stem.to_owned(),
                below: below.to_vec(),
                text: String::from_utf8_lossy(&content.bytes).into_owned(),
            }),
            Err(error) => self.problems.push((file_path, error.to_string())),
        }
    }
}
