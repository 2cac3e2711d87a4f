//! Decides what git would ignore, from ignore files that are read by handle like every other file.
//!
//! The ignore file of the deepest directory decides first; in one directory, `.ignore` decides before `.gitignore`.
//! `.git` itself is always ignored.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use lariat_host::files::{Entry, Folder, Workspace};

/// Maximum number of bytes to read from an ignore file.
const LIMIT: u64 = 256 * 1024;
/// Ignore files; later ones decide first.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The ignore rules that apply in a directory. Clones share them.
#[derive(Clone, Debug)]
pub(crate) enum Rules {
    /// Ignores nothing.
    Nothing,
    /// Ignores what git ignores.
    Git(Option<Arc<Level>>),
}

/// The rules of one ignore file, and the rules that apply after it.
#[derive(Debug)]
pub(crate) struct Level {
    own: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// The rules of the directories above a path of a workspace.
    pub(crate) fn above(workspace: &Workspace, path: &str) -> Self {
        let mut rules = Self::Git(None);
        let below = Path::new(path);
        if below.components().any(|part| part == Component::ParentDir) {
            return rules;
        }
        let root = if below.is_absolute() { workspace.path() } else { Path::new("") };
        let Ok(below) = below.strip_prefix(root) else { return rules };
        if let Ok(folder) = workspace.folder(".git/info") {
            rules = rules.with_file(&folder, "exclude", &root.to_string_lossy());
        }
        let mut parents: Vec<_> = below.ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents {
            let here = root.join(parent).to_string_lossy().into_owned();
            let Ok(folder) = workspace.folder(if here.is_empty() { "." } else { &here }) else { continue };
            rules = FILES.into_iter().fold(rules, |rules, name| rules.with_file(&folder, name, &here));
        }
        rules
    }

    /// Adds the rules of a directory itself.
    pub(super) fn with(self, folder: &Folder, path: &str, entries: &[Entry]) -> Self {
        let has = |name: &str| entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name)));
        FILES
            .into_iter()
            .filter(|name| has(name).is_ok())
            .fold(self, |rules, name| rules.with_file(folder, name, path))
    }

    fn with_file(self, folder: &Folder, name: &str, directory: &str) -> Self {
        let Self::Git(above) = self else { return self };
        match read(folder, name, directory) {
            Some(own) if !own.is_empty() => Self::Git(Some(Arc::new(Level { own, above }))),
            _ => Self::Git(above),
        }
    }

    /// Whether a path is ignored.
    pub(super) fn has(&self, path: &str, is_directory: bool) -> bool {
        let Self::Git(level) = self else { return false };
        if path.strip_suffix(".git").is_some_and(|rest| rest.is_empty() || rest.ends_with('/')) {
            return true;
        }
        let mut level = level.as_deref();
        while let Some(here) = level {
            let decided = here.own.matched(path, is_directory);
            if !decided.is_none() {
                return decided.is_ignore();
            }
            level = here.above.as_deref();
        }
        false
    }
}

fn read(folder: &Folder, name: &str, directory: &str) -> Option<Gitignore> {
    let (file, _) = folder.file(OsStr::new(name)).ok()?;
    let mut bytes = Vec::new();
    file.take(LIMIT).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // An invalid rule is skipped.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
