//! Decides which directories git ignores.
//!
//! The `.gitignore` of the deepest directory decides first, `.git/info/exclude` last. Ignore rules are plain data: a
//! repository cannot use them to execute code.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::AsFd;
use rustix::fs::OFlags;

use super::entry::RelativePath;
use super::handle::open;

/// Maximum number of bytes to read from a file of rules.
const LIMIT: u64 = 256 * 1024;

/// The ignore rules that apply in a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules(Option<Arc<IgnoreLevel>>);

#[derive(Debug)]
struct IgnoreLevel {
    own: Gitignore,
    above: Option<Arc<Self>>,
}

impl Rules {
    /// Adds the rules of a file, for the directory at `path`.
    pub(super) fn with(&self, folder: impl AsFd, name: &str, path: &RelativePath) -> Self {
        match read(folder, name, path) {
            Some(own) if !own.is_empty() => Self(Some(Arc::new(IgnoreLevel { own, above: self.0.clone() }))),
            _ => self.clone(),
        }
    }

    /// Whether a directory is ignored.
    pub(super) fn ignore(&self, path: &RelativePath) -> bool {
        let mut level = self.0.as_deref();
        while let Some(here) = level {
            let decided = here.own.matched(path.as_path(), true);
            if !decided.is_none() {
                return decided.is_ignore();
            }
            level = here.above.as_deref();
        }
        false
    }
}

fn read(folder: impl AsFd, name: &str, path: &RelativePath) -> Option<Gitignore> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let handle = open(folder, OsStr::new(name), flags).ok()?;
    let mut bytes = Vec::new();
    File::from(handle).take(LIMIT).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(path.as_path());
    for line in String::from_utf8_lossy(&bytes).lines() {
        // An invalid rule is skipped.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
