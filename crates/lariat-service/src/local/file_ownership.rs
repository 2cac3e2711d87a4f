//! Decides who owns a file: the user, the organisation or the project. The only module that does.
//!
//! Also finds the root of a project. Only the directories of their own settings belong to the user. Everything at or below
//! the root of a project belongs to the project, and so does every directory above it: its files may be from anyone, and may
//! instruct the model only if the user trusts them. A file is never the user's just because it is inside their home.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// The user: the file applies without trust.
    User,
    /// The organisation, on this machine.
    Organisation,
    /// The project, or a directory above it: without trust, the file can only restrict.
    Project,
}

/// The directories of a session, by owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOwnership {
    directory: PathBuf,
    root: PathBuf,
    home: Option<PathBuf>,
    own: Vec<PathBuf>,
}

/// Directories of the user's own settings, in their home.
const OWN: [&str; 3] = [".claude", ".agents", ".config/lariat"];
/// Directories of the organisation's settings.
const MANAGED: [&str; 2] = ["/etc/lariat", "/etc/claude-code"];
/// Entries that mark the root of a repository. The nearest one is the project's root.
const REPOSITORY: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Entries that configure agents. Without a repository, the outermost directory with one of these is the root.
const MARKERS: [&str; 8] = [
    "lariat.toml",
    ".lariat",
    ".claude",
    ".agents",
    ".mcp.json",
    "CLAUDE.md",
    "AGENTS.md",
    "CLAUDE.local.md",
];
/// Maximum number of ancestor directories to examine.
const HIGHEST: usize = 64;

impl FileOwnership {
    /// Determines the owners for a session in a directory. Both paths must be canonical.
    pub fn of(directory: &Path, home: Option<&Path>) -> Self {
        let home = home.filter(|home| home.parent().is_some());
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let own = home.iter().flat_map(|home| OWN.iter().map(|folder| home.join(folder))).collect();
        let root = root(directory, home.as_deref());
        Self { directory: directory.to_owned(), root, home, own }
    }

    /// Adds a directory of the user's own settings.
    #[must_use]
    pub fn with_user_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.own.push(folder.into());
        self
    }

    /// The owner of a file, by its path.
    pub fn owner(&self, path: &Path) -> Owner {
        let is_own = |inside: bool| {
            let mut own = self.own.iter().filter(|own| !inside || own.starts_with(&self.root));
            own.any(|own| path.starts_with(own))
        };
        // A project inside a directory of the user's settings is still a project.
        match path.starts_with(&self.root) {
            true if is_own(true) => Owner::User,
            true => Owner::Project,
            false if is_own(false) => Owner::User,
            false if MANAGED.iter().any(|folder| path.starts_with(folder)) => Owner::Organisation,
            false => Owner::Project,
        }
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The working directory, relative to the root; empty at the root.
    pub fn directory(&self) -> &Path {
        self.directory.strip_prefix(&self.root).unwrap_or(Path::new(""))
    }

    /// The directories from the root to the working directory, outermost first, relative to the root.
    pub fn directories_to_root(&self) -> Vec<PathBuf> {
        let mut way: Vec<PathBuf> = self.directory().ancestors().map(Path::to_owned).take(HIGHEST).collect();
        way.reverse();
        way
    }

    /// The directories above the root whose instructions would apply, outermost first, relative to the home. Directories
    /// above the home never apply.
    pub fn directories_above_root(&self) -> Vec<PathBuf> {
        let inside = self.home.as_ref().and_then(|home| self.root.strip_prefix(home).ok());
        let above = inside.into_iter().flat_map(|inside| inside.ancestors().skip(1));
        let mut above: Vec<PathBuf> = above.map(Path::to_owned).take(HIGHEST).collect();
        above.reverse();
        above
    }
}

/// Finds the root of the project that contains a directory.
fn root(directory: &Path, home: Option<&Path>) -> PathBuf {
    let has =
        |folder: &Path, names: &[&str]| names.iter().any(|name| folder.join(name).symlink_metadata().is_ok());
    let reachable: Vec<&Path> = directory
        .ancestors()
        .take(HIGHEST)
        .enumerate()
        // Ignores files in world-writable directories and in `/`: anyone may have put them there.
        .take_while(|(steps, folder)| *steps == 0 || (folder.parent().is_some() && !is_open_to_all(folder)))
        .map(|(_, folder)| folder)
        .collect();
    if let Some(repository) = reachable.iter().find(|folder| has(folder, &REPOSITORY)) {
        return (*repository).to_owned();
    }
    let below_home = reachable.iter().take_while(|folder| Some(**folder) != home || **folder == directory);
    let marked = below_home.filter(|folder| has(folder, &MARKERS)).last();
    (*marked.unwrap_or(&directory)).to_owned()
}

fn is_open_to_all(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|state| state.permissions().mode() & 0o002 != 0)
}
