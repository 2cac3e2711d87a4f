//! Finds the memory files that apply, in order: the user's, then from the outermost to the innermost directory.

use std::path::Path;

use lariat_guard::instructions::{self, AGENTS, CLAUDE};

use super::{Instructions, MemoryFile, MemoryFiles};

/// The location of a file, which decides its owner and the handle to read it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    /// At or below the root of the project.
    Project,
    /// Above the project, in the user's home, but not the user's own.
    Above,
    /// In a directory of the user's own settings.
    User,
}

impl Location {
    /// Whether it applies only in a trusted project.
    pub(super) const fn needs_trust(self) -> bool {
        matches!(self, Self::Project | Self::Above)
    }
}

impl MemoryFiles {
    /// The directories whose files apply from the start.
    pub(super) fn directories_to_root(&self) -> Vec<(Location, String)> {
        let text = |path: std::path::PathBuf| path.to_str().map(str::to_owned);
        let mut way = Vec::new();
        if self.home.is_some() {
            way.push((Location::User, ".claude".to_owned()));
            let above = self.territory.directories_above_root().into_iter().filter_map(text);
            way.extend(above.map(|directory| (Location::Above, directory)));
        }
        way.extend(
            self.territory
                .directories_to_root()
                .into_iter()
                .filter_map(text)
                .map(|directory| (Location::Project, directory)),
        );
        let Some(directory) = relative(&self.directory, self.workspace.path()) else { return way };
        let start = way.last().map(|(_, directory)| directory.clone()).unwrap_or_default();
        let steps = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
        let steps = steps.chain((!directory.is_empty()).then_some(directory.as_str()));
        way.extend(steps.map(|step| (Location::Project, joined(&start, step))));
        way
    }

    /// The project's directories among them.
    pub(super) fn project_directories(&self) -> impl Iterator<Item = String> {
        self.directories_to_root()
            .into_iter()
            .filter(|(location, _)| *location == Location::Project)
            .map(|(_, directory)| directory)
    }

    /// The names of the memory files in a directory.
    pub(super) fn names(&self, location: Location, directory: &str) -> Vec<String> {
        let names = CLAUDE.iter().chain(&AGENTS).map(|name| joined(directory, name));
        let there = names.filter(|path| self.exists(location, path));
        there
            .map(|path| MemoryFile { location, path, text: String::new() }.display_path(&self.territory))
            .collect()
    }

    /// Whether a directory from the root to the working directory has a `CLAUDE.md`.
    pub(super) fn has_claude_md(&self) -> bool {
        let mut paths =
            self.project_directories().flat_map(|directory| CLAUDE.map(|name| joined(&directory, name)));
        paths.any(|path| self.exists(Location::Project, &path))
    }

    /// The memory files of a directory. `elsewhere`: another directory of the project has a `CLAUDE.md`.
    pub(super) fn of_directory(
        &self,
        location: Location,
        directory: &str,
        elsewhere: bool,
    ) -> Vec<MemoryFile> {
        let read = |names: &[&str]| {
            let paths = names.iter().map(|name| joined(directory, name));
            let found = paths.filter_map(|path| {
                let text = instructions::without_comments(&self.read(location, &path)?);
                (!text.trim().is_empty()).then_some(MemoryFile { location, path, text })
            });
            found.collect::<Vec<MemoryFile>>()
        };
        // In the user's own directory, the files are at the top.
        let family = |names: &[&'static str]| match location {
            Location::User => names.iter().copied().filter(|name| !name.contains('/')).collect(),
            _ => names.to_vec(),
        };
        let mut found = read(&family(&CLAUDE));
        let agents = match self.instructions {
            Instructions::Claude => false,
            Instructions::ClaudeAndAgents => true,
            Instructions::ClaudeOrAgents => found.is_empty() && !elsewhere,
        };
        if agents {
            found.extend(read(&family(&AGENTS)));
        }
        found
    }
}

/// The parent directories of a path, outermost first, without the workspace itself.
pub(super) fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Normalizes a path relative to the root; `None` if it leads outside.
pub(super) fn relative(path: &str, root: &Path) -> Option<String> {
    let path = match path.strip_prefix('/') {
        Some(_) => Path::new(path).strip_prefix(root).ok()?.to_str()?,
        None => path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

pub(super) fn joined(directory: &str, name: &str) -> String {
    match (directory.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => directory.to_owned(),
        _ => format!("{directory}/{name}"),
    }
}
