//! Places: the directories that paths in rules and calls are relative to, and where a path really leads.
//!
//! Owns [`Places`], [`Target`] and the contract [`Resolver`]. Nothing here looks at files: the host does, behind the
//! contract. A path is always kept in two forms, as it was named and where it leads; rules see both.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Says where a path really leads.
pub trait Resolver: Send + Sync {
    /// The path with every link in it followed, as the kernel would. What does not exist yet stays as it is named, below
    /// what exists. `None` when it cannot be found out: then nothing allows it.
    fn real(&self, path: &Path) -> Option<PathBuf>;

    /// What lies right in a directory; nothing for what is no directory. `None` when nothing is known about files: then a
    /// pattern is judged by its text alone.
    fn list(&self, directory: &Path) -> Option<Vec<Entry>> {
        let _ = directory;
        None
    }

    /// Whether a shell would take the program of this name from a directory that an agent can write, so that its name says
    /// nothing about what it does.
    fn is_shadowed(&self, program: &str) -> bool {
        let _ = program;
        false
    }
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name alone.
    pub name: OsString,
    /// What it is, without following a link.
    pub kind: EntryKind,
}

/// What a name in a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, or anything else that holds no names.
    File,
    /// A directory.
    Directory,
    /// A link, wherever it leads.
    Link,
}

impl Entry {
    /// A name of a kind.
    pub fn new(name: impl Into<OsString>, kind: EntryKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A world without links. For tests and dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLinks;

impl Resolver for NoLinks {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(plain(path))
    }
}

/// The directories of a session. All are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// Where the session works.
    pub directory: PathBuf,
    /// The root of the project: where its settings are.
    pub project: PathBuf,
    /// The person's home.
    pub home: PathBuf,
    /// Files that hooks run. They are protected like what others execute.
    pub scripts: Vec<PathBuf>,
    /// Directories outside of the workspace that may be read as if they were in it: the person's skills.
    pub readable: Vec<PathBuf>,
}

impl Places {
    /// A session that works at the root of its project.
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
        self.scripts.extend(scripts.into_iter().map(|script| plain(&script)));
        self
    }

    /// The script of a hook that a file is, by its name.
    pub(crate) fn script(&self, target: &Target) -> Option<String> {
        let is_it = |script: &&PathBuf| target.forms().any(|form| form == script.as_path());
        self.scripts.iter().find(is_it).map(|script| script.display().to_string())
    }

    /// Sets the root of the project.
    pub fn with_project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = project.into();
        self
    }

    /// Adds directories outside of the workspace that may be read.
    pub fn with_readable(mut self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(directories);
        self
    }
}

/// A file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// As it was named: absolute, without `.` and `..`.
    pub(crate) named: PathBuf,
    /// Where it leads; `None` when that is not known.
    pub(crate) real: Option<PathBuf>,
    /// The name itself, in the directory where it really is, if links are on the way: what is removed or moved when the
    /// name is that of a link.
    pub(crate) entry: Option<PathBuf>,
}

impl Target {
    /// A path as a call names it, relative to a directory.
    pub(crate) fn new(path: &str, directory: &Path, resolver: &dyn Resolver) -> Self {
        let whole = directory.join(path);
        let (named, real) = (plain(&whole), resolver.real(&whole));
        let is_plain = real.as_ref() == Some(&named);
        let entry = || Some(resolver.real(whole.parent()?)?.join(whole.file_name()?));
        let entry = if is_plain { None } else { entry() };
        Self { named, real, entry }
    }

    /// A file that was opened, by the path that it really has.
    pub(crate) fn opened(path: &Path) -> Self {
        Self { named: path.to_owned(), real: Some(path.to_owned()), entry: None }
    }

    /// All forms, without those that are the same.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Path> {
        let real = self.real.as_deref().filter(|real| *real != self.named);
        let entry = self.entry.as_deref().filter(|entry| *entry != self.named && Some(*entry) != real);
        std::iter::once(self.named.as_path()).chain(real).chain(entry)
    }

    /// True when all forms lie in one of these directories.
    pub(crate) fn is_beneath(&self, directories: &[PathBuf]) -> bool {
        self.real.is_some()
            && self.forms().all(|form| directories.iter().any(|directory| form.starts_with(directory)))
    }
}

/// A path without `.` and `..`, by its words alone.
pub(crate) fn plain(path: &Path) -> PathBuf {
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

/// `~` and `~/x` with the home directory in place.
pub(crate) fn at_home(path: &str, home: &Path) -> Option<PathBuf> {
    match path.strip_prefix('~')? {
        "" => Some(home.to_owned()),
        rest => rest.strip_prefix('/').map(|rest| home.join(rest.trim_start_matches('/'))),
    }
}
