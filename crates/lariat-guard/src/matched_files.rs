//! Finds the files that a pattern or a directory stands for.
//!
//! The walk works like the commands that receive these words: a bash pattern matches names as bash does and follows links;
//! a recursive reader descends into directories but does not follow links. The walk is bounded: if there is too much to
//! examine, the result is incomplete, and a rule may match.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{GlobBuilder, GlobMatcher};

use crate::read_only::Depth;
use crate::resolve::{EntryKind, ResolvedPath, Resolver, normalize};

/// Maximum names that are examined in total.
const MAX_NAMES: usize = 50_000;
/// Maximum levels of directories that are examined.
const MAX_LEVELS: usize = 64;

/// The files that a word stands for, found on demand.
#[derive(Clone)]
pub(crate) struct MatchedFiles {
    resolver: Arc<dyn Resolver>,
    /// The directory where the walk starts.
    root: PathBuf,
    /// One pattern for each level below it.
    names: Vec<NamePattern>,
    depth: Depth,
    found: OnceLock<WalkResult>,
}

/// The result of the walk.
#[derive(Clone, Debug, Default)]
pub(crate) struct WalkResult {
    pub(crate) files: Vec<ResolvedPath>,
    /// The targets of the links that were followed.
    pub(crate) links: Vec<PathBuf>,
    /// False if there may be more files.
    pub(crate) is_complete: bool,
    /// The walk stopped at its limit.
    pub(crate) hit_limit: bool,
}

/// A pattern for one component of a path.
#[derive(Clone, Debug)]
enum NamePattern {
    /// Exactly this name, or `..`.
    Plain(String),
    /// A pattern. Without a matcher it cannot be evaluated, and every name is taken to match.
    Pattern { shows_hidden: bool, matcher: Option<GlobMatcher> },
}

impl std::fmt::Debug for MatchedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatchedFiles")
            .field("root", &self.root)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

impl MatchedFiles {
    /// The files in a directory.
    pub(crate) fn in_directory(root: PathBuf, depth: Depth, resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, root, names: Vec::new(), depth, found: OnceLock::new() }
    }

    /// The files that match a pattern relative to a directory, and the files in them.
    pub(crate) fn from_pattern(
        root: &Path,
        pattern: &str,
        depth: Depth,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        let root = if pattern.starts_with('/') { PathBuf::from("/") } else { root.to_owned() };
        let names = pattern
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .map(NamePattern::new)
            .collect();
        Self { resolver, root, names, depth, found: OnceLock::new() }
    }

    /// Walks on the first call and returns the same result afterwards.
    pub(crate) fn walk_result(&self) -> &WalkResult {
        self.found.get_or_init(|| self.walk())
    }

    fn walk(&self) -> WalkResult {
        let mut found = WalkResult::default();
        let Some(real) = self.resolver.real(&self.root) else { return found };
        let mut left = MAX_NAMES;
        let mut ahead = vec![(normalize(&self.root), real, 0)];
        while let Some((named, real, level)) = ahead.pop() {
            if let Some(NamePattern::Plain(name)) = self.names.get(level) {
                let target = ResolvedPath::new(name, &named, self.resolver.as_ref());
                let Some(real) = target.real.clone() else { continue };
                self.add(target.named, real, level, EntryKind::Directory, &mut found, &mut ahead);
                continue;
            }
            let Some(entries) = self.resolver.list(&real) else { return found };
            for entry in entries {
                if left == 0 || level > MAX_LEVELS {
                    found.hit_limit = true;
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
                    // A dangling link leads to nothing that could be read.
                    let Some(target) = self.resolver.real(&inside) else { continue };
                    found.links.push(target.clone());
                    inside = target;
                }
                self.add(named.join(&entry.name), inside, level, entry.kind, &mut found, &mut ahead);
            }
        }
        found.is_complete = true;
        found
    }

    /// Records a name that matches at a level, and schedules its entries.
    fn add(
        &self,
        named: PathBuf,
        real: PathBuf,
        level: usize,
        kind: EntryKind,
        found: &mut WalkResult,
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
            found.files.push(ResolvedPath { named, real: Some(real), entry: None });
        }
    }

    fn fits(&self, level: usize, name: &OsStr) -> bool {
        match (self.names.get(level), self.depth) {
            (Some(pattern), _) => pattern.fits(&name.to_string_lossy()),
            (None, Depth::Everything { hidden: false }) => !name.to_string_lossy().starts_with('.'),
            (None, _) => true,
        }
    }

    /// Whether a link at a level is followed. Bash and the command follow links that a word names; a recursive reader follows
    /// none below.
    fn follows(&self, level: usize) -> bool {
        level < self.names.len() || self.depth == Depth::Files
    }
}

impl NamePattern {
    fn new(pattern: &str) -> Self {
        if !pattern.contains(['*', '?', '[']) {
            return Self::Plain(pattern.to_owned());
        }
        // Bash has named character classes, which globs do not.
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
#[path = "matched_files_tests.rs"]
mod tests;
