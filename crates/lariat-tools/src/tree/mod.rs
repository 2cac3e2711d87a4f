//! Walks a tree of files by handle, in order, on several threads if the tree is large.
//!
//! - `queue`: the work queue, which delivers results in order.
//! - `rules`: what git ignores.
//!
//! The files of a directory come first, by name, then its directories, by name. Results are delivered in that order
//! however many threads work, so that a limit always cuts the same things. Links are not followed.

mod queue;
mod rules;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_host::files::{EntryKind, Folder, Workspace};

use crate::file_error::failed;
use queue::{QueueTurn, WorkQueue};
pub(crate) use rules::Rules;

/// Number of files that a thread handles at a time.
const CHUNK: usize = 64;
/// Number of files after which other threads join; before, starting one costs more than it saves.
const SMALL: usize = 256;
/// Maximum number of threads.
const MAX_THREADS: usize = 12;
/// Maximum number of names to read from one directory.
const MAX_NAMES: usize = 1_000_000;
/// Maximum depth of directories.
const MAX_LEVELS: usize = 256;

/// What to do with the files of a tree.
pub(crate) trait Visitor: Sync {
    /// A result.
    type Finding: Send;
    /// State of each thread.
    type ThreadState;

    /// Creates the state of a new thread.
    fn thread_state(&self) -> Self::ThreadState;

    /// Whether to visit a file.
    fn wants(&self, path: &str) -> bool;

    /// Visits a file. After `Break`, the remaining files of this job are skipped.
    fn visit(
        &self,
        state: &mut Self::ThreadState,
        file: &VisitedFile<'_>,
        found: &mut Vec<Self::Finding>,
    ) -> ControlFlow<()>;
}

/// A file that is being visited.
pub(crate) struct VisitedFile<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) name: &'a OsStr,
    pub(crate) path: &'a str,
}

/// Where a walk begins, and what it skips.
pub(crate) struct Walk<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) path: &'a str,
    pub(crate) rules: Rules,
    pub(crate) cancel: &'a CancellationToken,
}

/// How many files a walk visited, and how many directories it could not read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkSummary {
    pub(crate) files: usize,
    pub(crate) unreadable: usize,
}

/// A unit of work.
enum Job {
    Enter { above: Arc<Folder>, name: OsString, path: String, rules: Rules, level: usize },
    Visit { folder: Arc<Folder>, files: Vec<(OsString, String)> },
}

struct WalkThreads<'a, V: Visitor, T> {
    visit: &'a V,
    cancel: &'a CancellationToken,
    queue: WorkQueue<Job, V::Finding, T>,
    stopped: AtomicBool,
    files: AtomicUsize,
    unreadable: AtomicUsize,
}

impl Walk<'_> {
    /// Walks the tree and delivers results in order until `take` returns `Break`.
    pub(crate) fn run<V, T>(self, visit: &V, take: T) -> Result<WalkSummary, ToolError>
    where
        V: Visitor,
        T: FnMut(Vec<V::Finding>) -> ControlFlow<()> + Send,
    {
        let top = Arc::new(self.workspace.folder(self.path).map_err(failed)?);
        let path = if self.path == "." { String::new() } else { self.path.to_owned() };
        let threads = WalkThreads {
            visit,
            cancel: self.cancel,
            queue: WorkQueue::new(take),
            stopped: AtomicBool::new(false),
            files: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            let mut state = visit.thread_state();
            let mut alone = true;
            let turn = threads.queue.first();
            threads.list(&mut state, turn, top, &path, self.rules, 0);
            while let Some((turn, job)) = threads.queue.next() {
                if alone && threads.files.load(Ordering::Relaxed) > SMALL {
                    alone = false;
                    let available = std::thread::available_parallelism().map_or(1, |count| count.get());
                    for _ in 1..available.min(MAX_THREADS) {
                        scope.spawn(|| threads.work());
                    }
                }
                threads.perform(&mut state, turn, job);
            }
        });
        if self.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        Ok(WalkSummary { files: threads.files.into_inner(), unreadable: threads.unreadable.into_inner() })
    }
}

impl<V, T> WalkThreads<'_, V, T>
where
    V: Visitor,
    T: FnMut(Vec<V::Finding>) -> ControlFlow<()> + Send,
{
    fn work(&self) {
        let mut state = self.visit.thread_state();
        while let Some((turn, job)) = self.queue.next() {
            self.perform(&mut state, turn, job);
        }
    }

    fn perform(&self, state: &mut V::ThreadState, turn: QueueTurn, job: Job) {
        match job {
            Job::Visit { folder, files } => self.visit_files(state, turn, &folder, &files),
            Job::Enter { above, name, path, rules, level } => match above.folder(&name) {
                Ok(folder) => self.list(state, turn, Arc::new(folder), &path, rules, level),
                Err(_) => self.skip_unreadable(turn),
            },
        }
    }

    fn skip_unreadable(&self, turn: QueueTurn) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
        self.done(turn, Vec::new());
    }

    /// Reads a directory, queues its content for all threads, and visits its first files.
    fn list(
        &self,
        state: &mut V::ThreadState,
        turn: QueueTurn,
        folder: Arc<Folder>,
        path: &str,
        rules: Rules,
        level: usize,
    ) {
        let Ok((entries, _)) = folder.names(MAX_NAMES) else { return self.skip_unreadable(turn) };
        let rules = rules.with(&folder, path, &entries);
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in entries {
            let inner = join(path, &entry.name);
            match entry.kind {
                EntryKind::File if self.visit.wants(&inner) && !rules.has(&inner, false) => {
                    files.push((entry.name, inner));
                }
                EntryKind::Directory if level < MAX_LEVELS && !rules.has(&inner, true) => {
                    let (above, rules, level) = (Arc::clone(&folder), rules.clone(), level + 1);
                    folders.push(Job::Enter { above, name: entry.name, path: inner, rules, level });
                }
                _ => {}
            }
        }
        let later = files.split_off(files.len().min(CHUNK));
        let mut jobs = Vec::with_capacity(folders.len() + later.len().div_ceil(CHUNK));
        let mut later = later.into_iter().peekable();
        while later.peek().is_some() {
            let files = later.by_ref().take(CHUNK).collect();
            jobs.push(Job::Visit { folder: Arc::clone(&folder), files });
        }
        jobs.append(&mut folders);
        if !jobs.is_empty() {
            self.queue.add(turn, jobs);
        }
        self.visit_files(state, turn, &folder, &files);
    }

    fn visit_files(
        &self,
        state: &mut V::ThreadState,
        turn: QueueTurn,
        folder: &Folder,
        files: &[(OsString, String)],
    ) {
        let mut found = Vec::new();
        for (name, path) in files {
            if self.stopped.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
                self.queue.stop();
                break;
            }
            self.files.fetch_add(1, Ordering::Relaxed);
            if self.visit.visit(state, &VisitedFile { folder, name, path }, &mut found).is_break() {
                break;
            }
        }
        self.done(turn, found);
    }

    fn done(&self, turn: QueueTurn, found: Vec<V::Finding>) {
        if self.queue.done(turn, found).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// Joins a path and a name.
pub(crate) fn join(path: &str, name: &OsStr) -> String {
    let name = name.to_string_lossy();
    if path.is_empty() { name.into_owned() } else { format!("{}/{name}", path.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests;
