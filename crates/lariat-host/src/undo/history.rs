//! Keeps the current state of the workspace and the checkpoints that led to it in memory.
//!
//! It also bounds what is stored. The contents that are needed are the current ones and those from before each
//! difference; dropping the oldest checkpoints frees the contents that only they needed.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checkpoints::UndoLimits;
use super::entry::{Entry, RelativePath, same};
use super::error::UndoError;
use super::log::Log;
use super::scan::ScanResult;
use super::store::Store;

/// What is recorded about every path, and the number of the last scan that found it.
pub(super) type Manifest = BTreeMap<RelativePath, Slot>;

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) entry: Entry,
    pub(super) visited: u64,
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeAuthor {
    /// The initial state when recording began.
    Base,
    /// The user, or any program that is not a tool call.
    User,
    /// A tool call that begins here. Its changes follow later.
    Begin(String),
    /// A tool call.
    Call(String),
}

/// A set of changes and who made them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoCheckpoint {
    pub(super) by: ChangeAuthor,
    /// The loop of a tool call that begins, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) loop_id: Option<String>,
    /// Whether the whole workspace was scanned.
    pub(super) whole: bool,
    pub(super) changes: Vec<Difference>,
}

/// The state of a path before and after a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Difference {
    pub(super) path: RelativePath,
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

/// What a tool call changed about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path.
    pub path: RelativePath,
    /// What it was, with its mode; `None` if it did not exist.
    pub before: Option<(super::RecordedKind, u32)>,
    /// What it became, with its mode; `None` if it was removed.
    pub after: Option<(super::RecordedKind, u32)>,
}

/// An entry in the list of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Who made the changes.
    pub by: ChangeAuthor,
    /// The loop of the tool call; `None` if it is not known.
    pub loop_id: Option<String>,
    /// Number of changed paths.
    pub paths: usize,
}

/// Everything that is recorded.
#[derive(Debug)]
pub(super) struct History {
    pub(super) manifest: Manifest,
    pub(super) checkpoints: VecDeque<UndoCheckpoint>,
    pub(super) store: Store,
    log: Log,
    limits: UndoLimits,
}

impl History {
    pub(super) fn open(directory: &Path, limits: UndoLimits) -> Result<Self, UndoError> {
        let mut store = Store::open(directory.join("blobs"))?;
        let (log, read) = Log::open(directory)?;
        let mut manifest = Manifest::new();
        let mut checkpoints = VecDeque::new();
        for checkpoint in read {
            for change in &checkpoint.changes {
                // Each checkpoint needs the content from before; the current content is counted below.
                if let Some(hash) = change.before.as_ref().and_then(Entry::content) {
                    store.add_reference(hash);
                }
                apply(&mut manifest, change);
            }
            if checkpoint.by != ChangeAuthor::Base {
                checkpoints.push_back(checkpoint);
            }
        }
        for slot in manifest.values() {
            if let Some(hash) = slot.entry.content() {
                store.add_reference(hash);
            }
        }
        store.sweep();
        Ok(Self { manifest, checkpoints, store, log, limits })
    }

    pub(super) const fn is_new(&self) -> bool {
        self.log.bytes() == 0
    }

    /// Size on disk, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.store.bytes() + self.log.bytes()
    }

    pub(super) const fn limits(&self) -> &UndoLimits {
        &self.limits
    }

    /// Adds a checkpoint: compares what a scan found with the recorded state.
    pub(super) fn add(&mut self, by: ChangeAuthor, whole: bool, found: ScanResult) -> Result<(), UndoError> {
        self.add_of_loop(by, None, whole, found)
    }

    /// Adds the checkpoint at which a tool call of a loop begins.
    pub(super) fn add_begin(
        &mut self,
        call: String,
        loop_id: Option<&str>,
        whole: bool,
    ) -> Result<(), UndoError> {
        self.add_of_loop(ChangeAuthor::Begin(call), loop_id.map(str::to_owned), whole, Vec::new())
    }

    fn add_of_loop(
        &mut self,
        by: ChangeAuthor,
        loop_id: Option<String>,
        whole: bool,
        mut found: ScanResult,
    ) -> Result<(), UndoError> {
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let mut changes = Vec::new();
        for (path, after) in found {
            let before = self.manifest.get(&path).map(|slot| slot.entry.clone());
            if same(before.as_ref(), after.as_ref()) {
                // The stamp differs, but the content is the same.
                if let (Some(slot), Some(mut after)) = (self.manifest.get_mut(&path), after) {
                    after.look = slot.entry.look.clone();
                    slot.entry = after;
                }
                continue;
            }
            changes.push(Difference { path, before, after });
        }
        if changes.is_empty() && matches!(by, ChangeAuthor::User) {
            return Ok(());
        }
        let checkpoint = UndoCheckpoint { by, loop_id, whole, changes };
        self.log.append(&checkpoint)?;
        for change in &checkpoint.changes {
            if let Some(hash) = change.after.as_ref().and_then(Entry::content) {
                self.store.add_reference(hash);
            }
            apply(&mut self.manifest, change);
        }
        if checkpoint.by != ChangeAuthor::Base {
            self.checkpoints.push_back(checkpoint);
        }
        if self.checkpoints.len() > self.limits.checkpoints {
            self.drop_oldest(self.checkpoints.len() / 8 + 1)?;
        }
        Ok(())
    }

    /// Drops the oldest checkpoints until `bytes` more fit, or none is left.
    pub(super) fn make_room(&mut self, bytes: u64) -> Result<(), UndoError> {
        while self.bytes().saturating_add(bytes) > self.limits.total && !self.checkpoints.is_empty() {
            self.drop_oldest(self.checkpoints.len() / 8 + 1)?;
        }
        self.store.sweep();
        Ok(())
    }

    fn drop_oldest(&mut self, count: usize) -> Result<(), UndoError> {
        let dropped: Vec<_> = self.checkpoints.drain(..count.min(self.checkpoints.len())).collect();
        // The log must begin with the state before the first remaining checkpoint: undo them all from the current
        // state.
        let mut base: BTreeMap<_, _> =
            self.manifest.iter().map(|(path, slot)| (path.clone(), slot.entry.clone())).collect();
        for change in self.checkpoints.iter().rev().flat_map(|checkpoint| checkpoint.changes.iter().rev()) {
            match &change.before {
                Some(entry) => drop(base.insert(change.path.clone(), entry.clone())),
                None => drop(base.remove(&change.path)),
            }
        }
        let changes =
            base.into_iter().map(|(path, entry)| Difference { path, before: None, after: Some(entry) });
        let base =
            UndoCheckpoint { by: ChangeAuthor::Base, loop_id: None, whole: true, changes: changes.collect() };
        self.log.rewrite(std::iter::once(&base).chain(&self.checkpoints))?;
        for change in dropped.iter().flat_map(|checkpoint| &checkpoint.changes) {
            if let Some(hash) = change.before.as_ref().and_then(Entry::content) {
                self.store.release(hash);
            }
        }
        Ok(())
    }

    /// Whether another loop than this one has a tool call with this id.
    pub(super) fn has_call_of_another_loop(&self, call: &str, loop_id: &str) -> bool {
        let begin = self.begin(call).and_then(|at| self.checkpoints.get(at));
        begin.is_some_and(|begin| begin.loop_id.as_deref() != Some(loop_id))
    }

    /// Position of the checkpoint at which a tool call begins.
    pub(super) fn begin(&self, call: &str) -> Option<usize> {
        let begins =
            |checkpoint: &UndoCheckpoint| matches!(&checkpoint.by, ChangeAuthor::Begin(name) if name == call);
        self.checkpoints.iter().position(begins)
    }
}

fn apply(manifest: &mut Manifest, change: &Difference) {
    match &change.after {
        Some(entry) => {
            drop(manifest.insert(change.path.clone(), Slot { entry: entry.clone(), visited: 0 }));
        }
        None => drop(manifest.remove(&change.path)),
    }
}
