//! Resolves the paths in rules and tool calls: which directory they are relative to, and where they really lead.
//!
//! Nothing here reads files; the host does, behind the trait [`Resolver`]. A path is always kept in two forms, as named and
//! with links resolved, and rules see both.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Finds out where a path really leads.
pub trait Resolver: Send + Sync {
    /// Returns the path with every link followed, as the kernel would. Components that do not exist yet stay as named.
    /// `None` if this cannot be found out: then nothing allows the path.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// Lists the entries of a directory; empty for anything else. `None` if nothing is known about files: then a pattern
    /// is compared by its text alone.
    fn list(&self, directory: &Path) -> Option<Vec<Entry>> {
        let _ = directory;
        None
    }

    /// Whether a shell would find the program of this name in a directory that the agent can write, so that the name says
    /// nothing about what it does.
    fn is_shadowed(&self, program: &str) -> bool {
        let _ = program;
        false
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name without the directory.
    pub name: OsString,
    /// Its kind, without following a link.
    pub kind: EntryKind,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, or anything else that is neither a directory nor a link.
    File,
    /// A directory.
    Directory,
    /// A link, wherever it leads.
    Link,
}

impl Entry {
    /// Creates an entry.
    pub fn new(name: impl Into<OsString>, kind: EntryKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A resolver for a file system without links, for tests and dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLinks;

impl Resolver for NoLinks {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(normalize(path))
    }
}

/// The directories of a session, all absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionDirectories {
    /// The working directory of the session.
    pub directory: PathBuf,
    /// The root of the project, which contains its settings.
    pub project: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// Files that hooks run. They are protected like other files that are executed later.
    pub scripts: Vec<PathBuf>,
    /// Directories outside the workspace that may be read like it: the user's skills.
    pub readable: Vec<PathBuf>,
}

impl SessionDirectories {
    /// A session that works in the root of its project.
    pub fn new(directory: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            project: directory.clone(),
            directory,
            home: home.into(),
            scripts: Vec::new(),
            readable: Vec::new(),
        }
    }

    /// Adds files that hooks run.
    pub fn with_scripts(mut self, scripts: impl IntoIterator<Item = PathBuf>) -> Self {
        self.scripts.extend(scripts.into_iter().map(|script| normalize(&script)));
        self
    }

    /// Returns the hook script that a target is, if it is one.
    pub(crate) fn script(&self, target: &ResolvedPath) -> Option<String> {
        let is_it = |script: &&PathBuf| target.forms().any(|form| form == script.as_path());
        self.scripts.iter().find(is_it).map(|script| script.display().to_string())
    }

    /// Sets the root of the project.
    pub fn with_project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = project.into();
        self
    }

    /// Adds directories outside the workspace that may be read.
    pub fn with_readable(mut self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(directories);
        self
    }
}

/// A file that a tool call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// As named: absolute, without `.` and `..`.
    pub(crate) named: PathBuf,
    /// With links resolved; `None` if that is unknown.
    pub(crate) real: Option<PathBuf>,
    /// The name itself in its real directory, if there are links in the path: what is removed or moved if the name is that
    /// of a link.
    pub(crate) entry: Option<PathBuf>,
}

impl ResolvedPath {
    /// Resolves a path that a tool call names, relative to a directory.
    pub(crate) fn new(path: &str, directory: &Path, resolver: &dyn Resolver) -> Self {
        let whole = directory.join(path);
        let (named, real) = (normalize(&whole), resolver.real(&whole));
        let is_plain = real.as_ref() == Some(&named);
        let entry = || Some(resolver.real(whole.parent()?)?.join(whole.file_name()?));
        let entry = if is_plain { None } else { entry() };
        Self { named, real, entry }
    }

    /// A file that was opened, by its real path.
    pub(crate) fn of_opened_file(path: &Path) -> Self {
        Self { named: path.to_owned(), real: Some(path.to_owned()), entry: None }
    }

    /// All forms of the path, without duplicates.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Path> {
        let real = self.real.as_deref().filter(|real| *real != self.named);
        let entry = self.entry.as_deref().filter(|entry| *entry != self.named && Some(*entry) != real);
        std::iter::once(self.named.as_path()).chain(real).chain(entry)
    }

    /// Whether all forms lie in one of these directories.
    pub(crate) fn is_beneath(&self, directories: &[PathBuf]) -> bool {
        self.real.is_some()
            && self.forms().all(|form| directories.iter().any(|directory| form.starts_with(directory)))
    }
}

/// Removes `.` and `..` from a path without looking at files.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
    }
    whole
}

/// Replaces the `~` of `~` and `~/x` by the home directory.
pub(crate) fn expand_home(path: &str, home: &Path) -> Option<PathBuf> {
    match path.strip_prefix('~')? {
        "" => Some(home.to_owned()),
        rest => rest.strip_prefix('/').map(|rest| home.join(rest.trim_start_matches('/'))),
    }
}
