//! The symbols that `@` offers after the files: definitions in source files, by name.
//!
//! The program around the client finds them, in a thread of their own, because that parses the whole project. It starts
//! with the first search and again after [`MAX_AGE`]; a search never waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::composer::Suggestion;
use crate::fuzzy;

/// From this age on, the next search finds the symbols again.
pub const MAX_AGE: Duration = Duration::from_secs(60);
/// So many of the best matches are ranked again.
const RANKED: usize = 256;

/// A definition in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The file and the line, as in `src/lib.rs:12`.
    pub place: String,
    /// The definition without its body, on one line.
    pub signature: String,
}

/// Where symbols come from.
pub trait Symbols: Send + Sync {
    /// Finds the symbols of the project. Blocks, so the client calls it in a thread of its own.
    fn symbols(&self) -> Vec<Symbol>;
}

/// An index of symbols.
pub struct SymbolIndex {
    source: Arc<dyn Symbols>,
    found: Arc<Mutex<Arc<[Symbol]>>>,
    search: Option<JoinHandle<()>>,
    started_at: Option<Duration>,
}

impl std::fmt::Debug for SymbolIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SymbolIndex").field("started_at", &self.started_at).finish_non_exhaustive()
    }
}

impl SymbolIndex {
    /// Creates an index. The first search starts to fill it.
    pub fn new(source: Arc<dyn Symbols>) -> Self {
        Self { source, found: Arc::new(Mutex::new(Arc::from([]))), search: None, started_at: None }
    }

    /// The best matches for what was typed after `@`, best first. A path matches no symbol. `now` is any steady clock.
    pub fn search(&mut self, query: &str, most: usize, now: Duration) -> Vec<Suggestion> {
        if query.is_empty() || query.contains(['/', '.']) {
            return Vec::new();
        }
        self.refresh(now);
        let symbols = Arc::clone(&self.found.lock().unwrap_or_else(PoisonError::into_inner));
        let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        let mut matches = fuzzy::find(query, &names);
        matches.truncate(RANKED.max(most));
        // Of two matches, the shorter name has less that was not typed.
        matches.sort_by_cached_key(|found| {
            let name = names.get(found.at).copied().unwrap_or_default();
            (std::cmp::Reverse(found.points), name.len(), found.at)
        });
        let best = matches.iter().take(most).filter_map(|found| symbols.get(found.at));
        best.map(|symbol| Suggestion { name: symbol.place.clone(), summary: symbol.signature.clone() })
            .collect()
    }

    /// Waits until the index is filled.
    pub fn finish(&mut self) {
        if let Some(search) = self.search.take() {
            // A search that panicked leaves the symbols of the one before it.
            let _ = search.join();
        }
    }

    fn refresh(&mut self, now: Duration) {
        let is_young = self.started_at.is_some_and(|then| now.saturating_sub(then) < MAX_AGE);
        if is_young || self.search.as_ref().is_some_and(|search| !search.is_finished()) {
            return;
        }
        let (source, found) = (Arc::clone(&self.source), Arc::clone(&self.found));
        let thread = std::thread::Builder::new().name("symbols".to_owned()).spawn(move || {
            let symbols = source.symbols();
            *found.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(symbols);
        });
        self.search = thread.ok();
        self.started_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{MAX_AGE, Symbol, SymbolIndex, Symbols};

    #[derive(Default)]
    struct Source(AtomicUsize);

    impl Symbols for Source {
        fn symbols(&self) -> Vec<Symbol> {
            self.0.fetch_add(1, Ordering::SeqCst);
            let symbol = |(line, name): (usize, &str)| Symbol {
                name: name.to_owned(),
                place: format!("src/lib.rs:{line}"),
                signature: format!("fn {name}()"),
            };
            ["run_all_the_tests", "run", "Runner", "stop"].into_iter().enumerate().map(symbol).collect()
        }
    }

    fn names(index: &mut SymbolIndex, query: &str, now: Duration) -> Vec<String> {
        index.search(query, 3, now).into_iter().map(|found| found.summary).collect()
    }

    #[test]
    fn finds_names_and_starts_with_the_first_search() {
        let source = Arc::new(Source::default());
        let mut index = SymbolIndex::new(Arc::clone(&source) as _);
        let now = Duration::ZERO;
        assert_eq!(names(&mut index, "", now), [""; 0]);
        assert_eq!(source.0.load(Ordering::SeqCst), 0);
        names(&mut index, "run", now);
        index.finish();
        assert_eq!(names(&mut index, "run", now), ["fn run()", "fn run_all_the_tests()", "fn Runner()"]);
        assert_eq!(index.search("stop", 3, now)[0].name, "src/lib.rs:3");
        assert_eq!(names(&mut index, "src/run", now), [""; 0]);
        index.finish();
        assert_eq!(source.0.load(Ordering::SeqCst), 1);
        names(&mut index, "run", MAX_AGE);
        index.finish();
        assert_eq!(source.0.load(Ordering::SeqCst), 2);
    }
}
