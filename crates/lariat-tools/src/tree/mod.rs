//! Walks a tree of files by handle, in order, on several threads if the tree is large.
//!
//! - `agenda`: the work queue, which delivers results in order.
//! - `rules`: what git ignores.
//!
//! The files of a directory come first, by name, then its directories, by name. Results are delivered in that order however
//! many threads work, so that a limit always cuts the same things. Links are not followed.

mod agenda;
mod rules;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_host::files::{Folder, Kind, Workspace};

use crate::file_tool::failed;
use agenda::{Agenda, Turn};
pub(crate) use rules::Rules;

/// Number of files that a thread handles at a time.
const CHUNK: usize = 64;
/// Number of files after which other threads join; before, starting one costs more than it saves.
const SMALL: usize = 256;
/// Maximum number of threads.
const MOST_THREADS: usize = 12;
/// Maximum number of names to read from one directory.
const MOST_NAMES: usize = 1_000_000;
/// Maximum depth of directories.
const MOST_LEVELS: usize = 256;

/// What to do with the files of a tree.
pub(crate) trait Visit: Sync {
    /// A result.
    type Found: Send;
    /// State of each thread.
    type Tools;

    /// Creates the state of a new thread.
    fn tools(&self) -> Self::Tools;

    /// Whether to visit a file.
    fn wants(&self, path: &str) -> bool;

    /// Visits a file. After `Break`, the remaining files of this job are skipped.
    fn visit(
        &self,
        tools: &mut Self::Tools,
        file: &Visited<'_>,
        found: &mut Vec<Self::Found>,
    ) -> ControlFlow<()>;
}

/// A file that is being visited.
pub(crate) struct Visited<'a> {
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
pub(crate) struct Seen {
    pub(crate) files: usize,
    pub(crate) unreadable: usize,
}

/// A unit of work.
enum Job {
    Enter { above: Arc<Folder>, name: OsString, path: String, rules: Rules, level: usize },
    Look { folder: Arc<Folder>, files: Vec<(OsString, String)> },
}

struct Team<'a, V: Visit, T> {
    visit: &'a V,
    cancel: &'a CancellationToken,
    agenda: Agenda<Job, V::Found, T>,
    stopped: AtomicBool,
    files: AtomicUsize,
    unreadable: AtomicUsize,
}

impl Walk<'_> {
    /// Walks the tree and delivers results in order until `take` returns `Break`.
    pub(crate) fn run<V, T>(self, visit: &V, take: T) -> Result<Seen, ToolError>
    where
        V: Visit,
        T: FnMut(Vec<V::Found>) -> ControlFlow<()> + Send,
    {
        let top = Arc::new(self.workspace.folder(self.path).map_err(failed)?);
        let path = if self.path == "." { String::new() } else { self.path.to_owned() };
        let team = Team {
            visit,
            cancel: self.cancel,
            agenda: Agenda::new(take),
            stopped: AtomicBool::new(false),
            files: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            let mut tools = visit.tools();
            let mut alone = true;
            let turn = team.agenda.first();
            team.list(&mut tools, turn, top, &path, self.rules, 0);
            while let Some((turn, job)) = team.agenda.next() {
                if alone && team.files.load(Ordering::Relaxed) > SMALL {
                    alone = false;
                    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
                    for _ in 1..threads.min(MOST_THREADS) {
                        scope.spawn(|| team.work());
                    }
                }
                team.perform(&mut tools, turn, job);
            }
        });
        if self.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        Ok(Seen { files: team.files.into_inner(), unreadable: team.unreadable.into_inner() })
    }
}

impl<V, T> Team<'_, V, T>
where
    V: Visit,
    T: FnMut(Vec<V::Found>) -> ControlFlow<()> + Send,
{
    fn work(&self) {
        let mut tools = self.visit.tools();
        while let Some((turn, job)) = self.agenda.next() {
            self.perform(&mut tools, turn, job);
        }
    }

    fn perform(&self, tools: &mut V::Tools, turn: Turn, job: Job) {
        match job {
            Job::Look { folder, files } => self.look(tools, turn, &folder, &files),
            Job::Enter { above, name, path, rules, level } => match above.folder(&name) {
                Ok(folder) => self.list(tools, turn, Arc::new(folder), &path, rules, level),
                Err(_) => self.give_up(turn),
            },
        }
    }

    fn give_up(&self, turn: Turn) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
        self.done(turn, Vec::new());
    }

    /// Reads a directory, queues its content for all threads, and visits its first files.
    fn list(
        &self,
        tools: &mut V::Tools,
        turn: Turn,
        folder: Arc<Folder>,
        path: &str,
        rules: Rules,
        level: usize,
    ) {
        let Ok((entries, _)) = folder.names(MOST_NAMES) else { return self.give_up(turn) };
        let rules = rules.with(&folder, path, &entries);
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in entries {
            let inner = join(path, &entry.name);
            match entry.kind {
                Kind::File if self.visit.wants(&inner) && !rules.has(&inner, false) => {
                    files.push((entry.name, inner));
                }
                Kind::Directory if level < MOST_LEVELS && !rules.has(&inner, true) => {
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
            jobs.push(Job::Look { folder: Arc::clone(&folder), files });
        }
        jobs.append(&mut folders);
        if !jobs.is_empty() {
            self.agenda.add(turn, jobs);
        }
        self.look(tools, turn, &folder, &files);
    }

    fn look(&self, tools: &mut V::Tools, turn: Turn, folder: &Folder, files: &[(OsString, String)]) {
        let mut found = Vec::new();
        for (name, path) in files {
            if self.stopped.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
                self.agenda.stop();
                break;
            }
            self.files.fetch_add(1, Ordering::Relaxed);
            if self.visit.visit(tools, &Visited { folder, name, path }, &mut found).is_break() {
                break;
            }
        }
        self.done(turn, found);
    }

    fn done(&self, turn: Turn, found: Vec<V::Found>) {
        if self.agenda.done(turn, found).is_break() {
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
#[path = "../tree_tests.rs"]
mod tests;
