//! The files that `@` offers: an index of a directory and a fuzzy search in it.
//!
//! A thread walks the directory as git would (ignored files and `.git` are left out) and publishes paths as it goes, so
//! that a search never waits for the disk. A search of an index older than [`MAX_AGE`] starts the walk again and answers
//! from the old one. Paths are sorted by length: of two equally good matches, the shorter path wins.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ignore::WalkBuilder;

use crate::fuzzy::{self, FuzzyMatch};

/// Maximum number of paths in the index.
pub const MAX_PATHS: usize = 200_000;
/// From this age on, the next search walks the directory again.
pub const MAX_AGE: Duration = Duration::from_secs(10);
/// The first walk publishes what it has after so many paths, and again each time that the number is four times larger.
const FIRST_PATHS: usize = 1_000;
/// So many of the best matches are ranked again by name and by recent choices.
const RANKED: usize = 256;
/// How many chosen paths are remembered.
const MAX_RECENT: usize = 64;
/// The longest query that is matched, in characters.
const MAX_QUERY: usize = 256;
/// What a match in the last part of the path is worth, in points of the matcher, where a matched character has 16.
const NAME_POINTS: u32 = 24;
/// What a path is worth that the user chose before.
const RECENT_POINTS: u32 = 32;

/// An index of the files in a directory.
#[derive(Debug)]
pub struct FileIndex {
    root: PathBuf,
    paths: Arc<Mutex<Arc<[Arc<str>]>>>,
    walk: Option<Walk>,
    walked_at: Option<Duration>,
    /// Paths that the user chose, the latest last.
    recent: Vec<String>,
}

/// A walk in a thread of its own.
#[derive(Debug)]
struct Walk {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl FileIndex {
    /// Creates an index. The first search, or [`FileIndex::refresh`], starts the walk.
    pub fn new(root: PathBuf) -> Self {
        let paths = Arc::new(Mutex::new(Arc::from([])));
        Self { root, paths, walk: None, walked_at: None, recent: Vec::new() }
    }

    /// Starts a walk unless one is going on or the last one is younger than [`MAX_AGE`]. `now` is any steady clock.
    pub fn refresh(&mut self, now: Duration) {
        let is_young = self.walked_at.is_some_and(|then| now.saturating_sub(then) < MAX_AGE);
        if is_young || self.is_walking() {
            return;
        }
        let is_first = self.walked_at.is_none();
        let stop = Arc::new(AtomicBool::new(false));
        let (root, paths, stopped) = (self.root.clone(), Arc::clone(&self.paths), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("file index".to_owned())
            .spawn(move || walk(&root, is_first, &stopped, |found| publish(&paths, found)));
        self.walk = thread.ok().map(|thread| Walk { thread, stop });
        self.walked_at = Some(now);
    }

    /// Whether a walk is active, so that a later search may find more.
    pub fn is_walking(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| !walk.thread.is_finished())
    }

    /// Waits for the end of the walk.
    pub fn finish(&mut self) {
        if let Some(walk) = self.walk.take() {
            // A walk that panicked leaves the paths of the one before it.
            let _ = walk.thread.join();
        }
    }

    /// The best matches for what was typed after `@`, best first. Directories end with `/`. Never waits for the disk.
    pub fn search(&mut self, query: &str, most: usize, now: Duration) -> Vec<String> {
        self.refresh(now);
        let paths = Arc::clone(&self.paths.lock().unwrap_or_else(PoisonError::into_inner));
        best(&paths, query, most, &self.recent)
    }

    /// The user chose this path; it is offered earlier from now on.
    pub fn chosen(&mut self, path: &str) {
        self.recent.retain(|recent| recent != path);
        self.recent.push(path.to_owned());
        let surplus = self.recent.len().saturating_sub(MAX_RECENT);
        self.recent.drain(..surplus);
    }
}

impl Drop for FileIndex {
    fn drop(&mut self) {
        if let Some(walk) = &self.walk {
            walk.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Walks a directory and publishes sorted paths, at the end and, if it is the first walk, on the way.
fn walk(root: &Path, is_first: bool, stop: &AtomicBool, publish: impl Fn(&[Arc<str>])) {
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut next = FIRST_PATHS;
    for entry in walker.flatten().filter(|entry| entry.depth() > 0) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let is_folder = entry.file_type().is_some_and(|file_type| file_type.is_dir());
        // A path that is not UTF-8 cannot be part of a message.
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        found.push(if is_folder { format!("{path}/").into() } else { path.into() });
        if found.len() >= MAX_PATHS {
            break;
        }
        if is_first && found.len() == next {
            next = next.saturating_mul(4);
            publish(&sorted(found.clone()));
        }
    }
    publish(&sorted(found));
}

fn sorted(mut paths: Vec<Arc<str>>) -> Vec<Arc<str>> {
    paths.sort_unstable_by(|one, other| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
    paths
}

fn publish(paths: &Mutex<Arc<[Arc<str>]>>, found: &[Arc<str>]) {
    *paths.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(found);
}

/// The best of sorted paths.
fn best(paths: &[Arc<str>], query: &str, most: usize, recent: &[String]) -> Vec<String> {
    let query: String = query.chars().take(MAX_QUERY).collect();
    if query.is_empty() {
        let exists = |path: &&String| {
            let place = paths.binary_search_by(|one| {
                one.len().cmp(&path.len()).then_with(|| one.as_ref().cmp(path.as_str()))
            });
            place.is_ok()
        };
        let first: Vec<String> = recent.iter().rev().filter(exists).take(most).cloned().collect();
        let others = paths.iter().filter(|path| !first.iter().any(|first| **first == ***path));
        let others: Vec<String> = others.take(most - first.len()).map(|path| path.to_string()).collect();
        return first.into_iter().chain(others).collect();
    }
    let texts: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    let mut matches = fuzzy::find(&query, &texts);
    matches.truncate(RANKED.max(most));
    let lower = query.to_lowercase();
    let points = |found: &FuzzyMatch| {
        let path = texts.get(found.at).copied().unwrap_or_default();
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
        let in_name = if name.contains(&lower) { NAME_POINTS } else { 0 };
        let chosen = if recent.iter().any(|recent| recent == path) { RECENT_POINTS } else { 0 };
        found.points + in_name + chosen
    };
    // The sort is stable: what the matcher put first stays first among equals.
    matches.sort_by_cached_key(|found| std::cmp::Reverse(points(found)));
    matches.truncate(most);
    matches.iter().filter_map(|found| texts.get(found.at)).map(|path| (*path).to_owned()).collect()
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
