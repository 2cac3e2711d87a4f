//! Rule files in `.claude/rules/**/*.md`, for all paths or for certain ones.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use lariat_connect::skills::FrontMatter;
use lariat_guard::instructions::{self, RULES};
use lariat_host::files::EntryKind;

use super::lookup::{Location, joined};
use super::{MAX_FILES, MemoryFile, MemoryFiles};
/// Maximum directory depth.
const MAX_DEPTH: usize = 5;
/// Maximum entries per directory.
const MAX_ENTRIES: usize = 200;

/// A rule file.
#[derive(Clone, Debug)]
pub(super) struct MemoryRule {
    pub(super) found: MemoryFile,
    /// The paths that it applies to; `None` for all.
    paths: Option<GlobSet>,
}

impl MemoryRule {
    pub(super) const fn is_for_all(&self) -> bool {
        self.paths.is_none()
    }

    pub(super) fn is_about(&self, path: &str) -> bool {
        self.paths.as_ref().is_some_and(|paths| paths.is_match(path))
    }
}

impl MemoryFiles {
    pub(super) fn find_rules(&self) -> Vec<MemoryRule> {
        let mut files = Vec::new();
        for directory in self.project_directories() {
            self.walk(&joined(&directory, RULES), 0, &mut files);
        }
        files.into_iter().filter_map(|path| self.rule(path)).collect()
    }

    fn walk(&self, folder: &str, depth: usize, files: &mut Vec<String>) {
        let Some(Ok((entries, _))) = self.project.as_ref().map(|project| project.list(folder, MAX_ENTRIES))
        else {
            return;
        };
        for entry in entries {
            let Some(path) = entry.name.to_str().map(|name| joined(folder, name)) else { continue };
            match entry.kind {
                EntryKind::Directory if depth < MAX_DEPTH => self.walk(&path, depth + 1, files),
                EntryKind::File | EntryKind::Link if path.ends_with(".md") && files.len() < MAX_FILES => {
                    files.push(path)
                }
                _ => {}
            }
        }
    }

    fn rule(&self, path: String) -> Option<MemoryRule> {
        let whole = self.read(Location::Project, &path)?;
        let (front, body) = FrontMatter::split(&whole);
        let globs = front.list("paths");
        let mut set = GlobSetBuilder::new();
        for glob in &globs {
            match GlobBuilder::new(glob).literal_separator(true).build() {
                Ok(glob) => {
                    set.add(glob);
                }
                Err(error) => self.problem(format!("`{path}`: {error}")),
            }
        }
        let paths = if globs.is_empty() { None } else { Some(set.build().ok()?) };
        let text = instructions::without_comments(body);
        Some(MemoryRule { found: MemoryFile { location: Location::Project, path, text }, paths })
    }
}
