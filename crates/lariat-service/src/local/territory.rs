//! Whose a file is: the person's, the organisation's or the project's. The one place that decides it.
//!
//! Owns where a project begins. The person's are the folders of their own settings and nothing else; everything at or below
//! the root of a project is the project's, and so is every directory above it: what lies there may be anybody's, and may
//! speak to the model only when a person trusts it.
//! Invariant: no file counts as the person's because it lies below their home.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// The person who works here: it counts as it is.
    Person,
    /// The organisation, on this machine.
    Organisation,
    /// The project, or a directory above it: it needs trust, and can only forbid without.
    Project,
}

/// The directories of a session, by whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Territory {
    directory: PathBuf,
    root: PathBuf,
    home: Option<PathBuf>,
    own: Vec<PathBuf>,
}

/// Folders of the person's own settings, in their home.
const OWN: [&str; 3] = [".claude", ".agents", ".config/lariat"];
/// Folders of the organisation's settings.
const MANAGED: [&str; 2] = ["/etc/lariat", "/etc/claude-code"];
/// What is at the root of a repository. The nearest one is the project's.
const REPOSITORY: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// What speaks to agents. Without a repository, the outermost directory that has one of these is the root.
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
/// Directories above each other that are looked at.
const HIGHEST: usize = 64;

impl Territory {
    /// The territory of a session in a directory. Both paths are canonical.
    pub fn of(directory: &Path, home: Option<&Path>) -> Self {
        let home = home.filter(|home| home.parent().is_some());
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        let own = home.iter().flat_map(|home| OWN.iter().map(|folder| home.join(folder))).collect();
        let root = root(directory, home.as_deref());
        Self { directory: directory.to_owned(), root, home, own }
    }

    /// Adds a folder of the person's own settings.
    #[must_use]
    pub fn with_own(mut self, folder: impl Into<PathBuf>) -> Self {
        self.own.push(folder.into());
        self
    }

    /// Whose a file is, by its path.
    pub fn owner(&self, path: &Path) -> Owner {
        let is_own = |inside: bool| {
            let mut own = self.own.iter().filter(|own| !inside || own.starts_with(&self.root));
            own.any(|own| path.starts_with(own))
        };
        // A project in a folder of the person's own is a project all the same.
        match path.starts_with(&self.root) {
            true if is_own(true) => Owner::Person,
            true => Owner::Project,
            false if is_own(false) => Owner::Person,
            false if MANAGED.iter().any(|folder| path.starts_with(folder)) => Owner::Organisation,
            false => Owner::Project,
        }
    }

    /// Where the project begins.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the session works, relative to the root; empty at the root.
    pub fn directory(&self) -> &Path {
        self.directory.strip_prefix(&self.root).unwrap_or(Path::new(""))
    }

    /// The directories from the root to where the session works, outermost first, relative to the root.
    pub fn way(&self) -> Vec<PathBuf> {
        let mut way: Vec<PathBuf> = self.directory().ancestors().map(Path::to_owned).take(HIGHEST).collect();
        way.reverse();
        way
    }

    /// The directories above the root whose instructions would count, outermost first, relative to the home. What lies
    /// above the home never does.
    pub fn above(&self) -> Vec<PathBuf> {
        let inside = self.home.as_ref().and_then(|home| self.root.strip_prefix(home).ok());
        let above = inside.into_iter().flat_map(|inside| inside.ancestors().skip(1));
        let mut above: Vec<PathBuf> = above.map(Path::to_owned).take(HIGHEST).collect();
        above.reverse();
        above
    }
}

/// Where the project of a directory begins.
fn root(directory: &Path, home: Option<&Path>) -> PathBuf {
    let has =
        |folder: &Path, names: &[&str]| names.iter().any(|name| folder.join(name).symlink_metadata().is_ok());
    let reachable: Vec<&Path> = directory
        .ancestors()
        .take(HIGHEST)
        .enumerate()
        // Where everybody can write, a file says nothing about a project; nor does one at the root of the system.
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
