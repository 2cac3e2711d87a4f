//! Plans a rewind and finds its conflicts.
//!
//! These are conflicts: a path that the user changed after the target; a path whose current content is not stored, so
//! that replacing it could not be undone; and a path that must stay, or cannot be restored, because of such a path.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{Entry, RecordedKind, RelativePath, same};
use super::error::UndoError;
use super::history::{ChangeAuthor, Difference, History};

/// What to do with conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conflicts {
    /// Keep these paths as they are.
    #[default]
    Keep,
    /// Restore them like all other paths.
    Overwrite,
}

/// Why a path is not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// A program other than a tool call changed it after the target.
    ChangedByUser,
    /// Its current content is not stored, so replacing it could not be undone.
    NotKept,
    /// A path that is kept blocks it.
    Obstructed,
    /// It changed since the preview.
    ChangedSincePreview,
    /// It changed during the rewind.
    ChangedMeanwhile,
    /// The operating system returned an error.
    Refused,
}

/// One path that a rewind would change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The path.
    pub path: RelativePath,
    /// What it is now, with mode and size in bytes.
    pub now: Option<(RecordedKind, u32, u64)>,
    /// What it would be, with mode and size in bytes.
    pub then: Option<(RecordedKind, u32, u64)>,
    /// Why it would be kept, unless conflicts are overwritten.
    pub conflict: Option<Reason>,
}

impl Item {
    /// Whether only the mode differs.
    pub fn is_mode_only(&self) -> bool {
        matches!((&self.now, &self.then), (Some(now), Some(then)) if now.0 == then.0)
    }
}

/// What a rewind would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preview {
    /// The tool call before which the state would be restored.
    pub to: String,
    /// Paths that would change; directories come before their content.
    pub items: Vec<Item>,
    /// Paths that differ but cannot be restored: their content was too large to store, or git ignores them now.
    pub not_restorable: Vec<RelativePath>,
}

impl Preview {
    /// The paths with conflicts.
    pub fn conflicts(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.conflict.is_some())
    }
}

/// What a rewind did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewindResult {
    /// Rewinding to before this id undoes the rewind.
    pub id: String,
    /// Paths that were restored.
    pub restored: Vec<RelativePath>,
    /// Paths that were kept as they are, and why.
    pub kept: Vec<(RelativePath, Reason)>,
    /// Paths that could not be restored.
    pub not_restorable: Vec<RelativePath>,
}

/// A change to one path.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) path: RelativePath,
    pub(super) now: Option<Entry>,
    pub(super) then: Option<Entry>,
    pub(super) conflict: Option<Reason>,
}

/// The steps of a rewind, in the order of paths.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) not_restorable: Vec<RelativePath>,
}

impl Plan {
    /// Plans a rewind to the state before a tool call. The manifest must be up to date.
    pub(super) fn rewind_to(history: &History, call: &str) -> Result<Self, UndoError> {
        let begin = history.begin(call).ok_or_else(|| UndoError::Unknown(call.to_owned()))?;
        let (then, user_changes) = state_before(history, begin);
        let now_at = |path: &RelativePath| history.manifest.get(path).map(|slot| &slot.entry);
        let is_closed = |path: &RelativePath| {
            let closed =
                |entry: Option<&Entry>| entry.is_some_and(|entry| entry.look == RecordedKind::Closed);
            let at = |path: &RelativePath| {
                closed(now_at(path)) || closed(then.get(path).copied().unwrap_or_else(|| now_at(path)))
            };
            at(path) || path.ancestors().any(|above| at(&above))
        };
        let mut plan = Self::default();
        for (path, then) in &then {
            let now = now_at(path);
            if same(now, *then) {
                continue;
            }
            let lost = match then {
                Some(entry) => match &entry.look {
                    RecordedKind::File(None) => true,
                    RecordedKind::File(Some(hash)) => !history.store.has(hash),
                    _ => false,
                },
                None => false,
            };
            if is_closed(path) || lost {
                plan.not_restorable.push((*path).clone());
                continue;
            }
            let conflict = if user_changes.contains(*path) {
                Some(Reason::ChangedByUser)
            } else if now.is_some_and(|now| now.look == RecordedKind::File(None)) {
                Some(Reason::NotKept)
            } else {
                None
            };
            let (now, then) = (now.cloned(), then.cloned());
            plan.steps.push(Step { path: (*path).clone(), now, then, conflict });
        }
        plan.find_blocked_paths(&|path| now_at(path).is_some());
        Ok(plan)
    }

    fn find_blocked_paths(&mut self, is_there: &dyn Fn(&RelativePath) -> bool) {
        // A path that is kept needs its parent directories.
        let stays = self.steps.iter().filter(|step| step.conflict.is_some() && step.now.is_some());
        let stays = stays.map(|step| &step.path);
        let stays = stays.chain(self.not_restorable.iter().filter(|path| is_there(path)));
        let needed: BTreeSet<_> = stays.flat_map(RelativePath::ancestors).collect();
        // A path that is restored needs its parent directory to exist.
        let mut blocked = BTreeSet::new();
        for step in &mut self.steps {
            let is_folder = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_folder);
            let goes = is_folder(&step.now) && !is_folder(&step.then);
            let comes = step.then.is_some() && step.path.ancestors().any(|above| blocked.contains(&above));
            if step.conflict.is_none() && ((goes && needed.contains(&step.path)) || comes) {
                step.conflict = Some(Reason::Obstructed);
            }
            if step.conflict.is_some() && !is_folder(&step.now) {
                blocked.insert(step.path.clone());
            }
        }
    }

    /// The plan as the caller sees it.
    pub(super) fn preview(&self, to: &str) -> Preview {
        let shown = |entry: &Option<Entry>| {
            entry.as_ref().map(|entry| (entry.look.clone(), entry.mode, entry.seen.size))
        };
        let items = self.steps.iter().map(|step| Item {
            path: step.path.clone(),
            now: shown(&step.now),
            then: shown(&step.then),
            conflict: step.conflict,
        });
        Preview { to: to.to_owned(), items: items.collect(), not_restorable: self.not_restorable.clone() }
    }
}

type PastState<'a> = (BTreeMap<&'a RelativePath, Option<&'a Entry>>, BTreeSet<&'a RelativePath>);

/// Returns what paths were before a position, and which of them the user changed after it.
///
/// A tool call that names its files scans only those. So a change by the user may be found much later: if it may have
/// been made before the position, it is treated as if it had been, and a rewind restores the user's version.
fn state_before(history: &History, begin: usize) -> PastState<'_> {
    let (mut then, mut user_changes): PastState<'_> = (BTreeMap::new(), BTreeSet::new());
    let mut whole = false;
    for checkpoint in history.checkpoints.range(begin..) {
        for change in &checkpoint.changes {
            let user = checkpoint.by == ChangeAuthor::User;
            if user && !whole && may_be_older(&then, change) {
                continue;
            }
            then.entry(&change.path).or_insert(change.before.as_ref());
            if user {
                user_changes.insert(&change.path);
            }
        }
        whole |= checkpoint.whole;
    }
    (then, user_changes)
}

/// Whether a change can have been made before the changes that led to `then`.
fn may_be_older(then: &BTreeMap<&RelativePath, Option<&Entry>>, change: &Difference) -> bool {
    let was_no_folder =
        |path: &RelativePath| then.get(path).is_some_and(|entry| !entry.is_some_and(Entry::is_folder));
    let leaves_a_folder = change.after.as_ref().is_some_and(Entry::is_folder);
    let (first, last) = change.path.beneath();
    if then.contains_key(&change.path) {
        return false;
    }
    // It needs a directory that did not exist then.
    if change.after.is_some() && change.path.ancestors().any(|above| was_no_folder(&above)) {
        return false;
    }
    // The directory was not empty then.
    leaves_a_folder || !then.range::<&RelativePath, _>(&first..&last).any(|(_, entry)| entry.is_some())
}
