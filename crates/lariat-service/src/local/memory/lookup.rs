//! Which files count, in which order: the person's, then from the outermost directory to the innermost.

use std::path::Path;

use super::{Found, Instructions, MemoryFiles, text};

/// Whose file it is, which says through which handle it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Project,
    Home,
}

const CLAUDE: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
const AGENTS: [&str; 2] = ["AGENTS.md", ".claude/AGENTS.md"];

impl MemoryFiles {
    /// The directories whose files count from the beginning. Above the workspace only those inside of the person's home
    /// do: what lies higher may be anybody's.
    pub(super) fn way(&self) -> Vec<(Side, String)> {
        let mut way = Vec::new();
        if let Some(home) = &self.home {
            way.push((Side::Home, ".claude".to_owned()));
            if let Ok(inside) = self.workspace.path().strip_prefix(home.path()) {
                let above = inside.ancestors().skip(1).filter_map(Path::to_str).map(str::to_owned);
                let mut above: Vec<String> = above.collect();
                above.reverse();
                way.extend(above.into_iter().map(|directory| (Side::Home, directory)));
            }
        }
        let Some(directory) = relative(&self.directory, self.workspace.path()) else { return way };
        way.push((Side::Project, String::new()));
        let steps = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
        way.extend(steps.map(|step| (Side::Project, step.to_owned())));
        if !directory.is_empty() {
            way.push((Side::Project, directory.clone()));
        }
        way
    }

    /// The names of the memory files that a directory has.
    pub(super) fn names(&self, side: Side, directory: &str) -> Vec<String> {
        let names = CLAUDE.iter().chain(&AGENTS).map(|name| joined(directory, name));
        names.filter(|path| self.root(side).is_some_and(|root| root.stamp(path).is_ok())).collect()
    }

    /// Whether a directory on the way to the working directory has a `CLAUDE.md`.
    pub(super) fn has_claude(&self) -> bool {
        let ways = self.way().into_iter().filter(|(side, _)| *side == Side::Project);
        let mut paths = ways.flat_map(|(_, directory)| CLAUDE.map(|name| joined(&directory, name)));
        paths.any(|path| self.workspace.stamp(&path).is_ok())
    }

    /// The memory files of one directory. `elsewhere`: another directory of the project has a `CLAUDE.md`.
    pub(super) fn of_directory(&self, side: Side, directory: &str, elsewhere: bool) -> Vec<Found> {
        let read = |names: &[&str]| {
            let paths = names.iter().map(|name| joined(directory, name));
            let found = paths.filter_map(|path| {
                let text = text::shown(&self.read(side, &path)?);
                (!text.trim().is_empty()).then_some(Found { side, path, text })
            });
            found.collect::<Vec<Found>>()
        };
        let mut found = read(&CLAUDE);
        let agents = match self.instructions {
            Instructions::Claude => false,
            Instructions::ClaudeAndAgents => true,
            Instructions::ClaudeOrAgents => found.is_empty() && !elsewhere,
        };
        if agents {
            found.extend(read(&AGENTS));
        }
        found
    }
}

/// The directories that a path lies in, outermost first, without the workspace itself.
pub(super) fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// A path as a tool or a file names it, relative to the root and without detours; none when it leads out.
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
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
