//! Which files a pattern or a folder stands for.
//!
//! Owns the walk over names, in the way of the commands that are given them: a pattern of bash fits names as bash does and
//! follows links; a recursive reader goes into folders, and not where links lead. Bounded: what is too large to look
//! through is not known, and then a rule may fit.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{GlobBuilder, GlobMatcher};

use crate::place::{EntryKind, Resolver, Target, plain};
use crate::read_only::Depth;

/// Names that are looked at in all.
const MOST_NAMES: usize = 50_000;
/// Levels that are looked at.
const MOST_LEVELS: usize = 64;

/// The files that a word stands for.
#[derive(Clone)]
pub(crate) struct Reach {
    resolver: Arc<dyn Resolver>,
    /// Where it begins.
    root: PathBuf,
    /// One pattern for each level beneath it.
    names: Vec<Name>,
    depth: Depth,
    found: OnceLock<Found>,
}

/// What a reach holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<Target>,
    /// Where the links lead that are followed.
    pub(crate) links: Vec<PathBuf>,
    /// False when there may be more.
    pub(crate) is_whole: bool,
    /// There are more than are looked at.
    pub(crate) is_cut: bool,
}

/// A pattern for one name.
#[derive(Clone, Debug)]
enum Name {
    /// This name, or what leads up.
    Plain(String),
    /// What fits; `None` when that cannot be told: everything does.
    Pattern { shows_hidden: bool, matcher: Option<GlobMatcher> },
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("root", &self.root).field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Reach {
    /// What lies in a folder.
    pub(crate) fn beneath(root: PathBuf, depth: Depth, resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, root, names: Vec::new(), depth, found: OnceLock::new() }
    }

    /// What fits a pattern, relative to a folder, and what lies in it.
    pub(crate) fn fitting(root: &Path, pattern: &str, depth: Depth, resolver: Arc<dyn Resolver>) -> Self {
        let root = if pattern.starts_with('/') { PathBuf::from("/") } else { root.to_owned() };
        let names =
            pattern.split('/').filter(|name| !name.is_empty() && *name != ".").map(Name::new).collect();
        Self { resolver, root, names, depth, found: OnceLock::new() }
    }

    /// Looks, once.
    pub(crate) fn found(&self) -> &Found {
        self.found.get_or_init(|| self.look())
    }

    fn look(&self) -> Found {
        let mut found = Found::default();
        let Some(real) = self.resolver.real(&self.root) else { return found };
        let mut left = MOST_NAMES;
        let mut ahead = vec![(plain(&self.root), real, 0)];
        while let Some((named, real, level)) = ahead.pop() {
            if let Some(Name::Plain(name)) = self.names.get(level) {
                let target = Target::new(name, &named, self.resolver.as_ref());
                let Some(real) = target.real.clone() else { continue };
                self.add(target.named, real, level, EntryKind::Directory, &mut found, &mut ahead);
                continue;
            }
            let Some(entries) = self.resolver.list(&real) else { return found };
            for entry in entries {
                if left == 0 || level > MOST_LEVELS {
                    found.is_cut = true;
                    return found;
                }
                left -= 1;
                if !self.fits(level, &entry.name) {
                    continue;
                }
                let mut inside = real.join(&entry.name);
                if entry.kind == EntryKind::Link {
                    if !self.follows(level) {
                        continue;
                    }
                    // One that leads to nothing is nothing to read.
                    let Some(target) = self.resolver.real(&inside) else { continue };
                    found.links.push(target.clone());
                    inside = target;
                }
                self.add(named.join(&entry.name), inside, level, entry.kind, &mut found, &mut ahead);
            }
        }
        found.is_whole = true;
        found
    }

    /// Notes a name that fits at a level, and goes into it.
    fn add(
        &self,
        named: PathBuf,
        real: PathBuf,
        level: usize,
        kind: EntryKind,
        found: &mut Found,
        ahead: &mut Vec<(PathBuf, PathBuf, usize)>,
    ) {
        let next = level + 1;
        let goes_on = match self.depth {
            _ if next < self.names.len() => true,
            Depth::Names => false,
            Depth::Files => next == self.names.len(),
            Depth::Everything { .. } => kind == EntryKind::Directory || next == self.names.len(),
        };
        if goes_on && kind != EntryKind::File {
            ahead.push((named.clone(), real.clone(), next));
        }
        if next >= self.names.len() {
            found.files.push(Target { named, real: Some(real), entry: None });
        }
    }

    fn fits(&self, level: usize, name: &OsStr) -> bool {
        match (self.names.get(level), self.depth) {
            (Some(pattern), _) => pattern.fits(&name.to_string_lossy()),
            (None, Depth::Everything { hidden: false }) => !name.to_string_lossy().starts_with('.'),
            (None, _) => true,
        }
    }

    /// Bash and the command itself follow links that a word names; a recursive reader none beneath.
    fn follows(&self, level: usize) -> bool {
        level < self.names.len() || self.depth == Depth::Files
    }
}

impl Name {
    fn new(pattern: &str) -> Self {
        if !pattern.contains(['*', '?', '[']) {
            return Self::Plain(pattern.to_owned());
        }
        // Classes of letters have names of their own in bash.
        let is_odd = ["[:", "[.", "[="].iter().any(|class| pattern.contains(class));
        let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build().ok();
        let matcher = glob.filter(|_| !is_odd).map(|glob| glob.compile_matcher());
        Self::Pattern { shows_hidden: pattern.starts_with('.'), matcher }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Plain(plain) => plain == name,
            Self::Pattern { shows_hidden, matcher } => {
                (*shows_hidden || !name.starts_with('.'))
                    && matcher.as_ref().is_none_or(|matcher| matcher.is_match(name))
            }
        }
    }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
