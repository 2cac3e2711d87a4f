//! What going back would do, and what stands in its way.
//!
//! Owns the rule about conflicts: what somebody else than a call changed after the target is theirs; so is what could not
//! be brought back once it is replaced; and what would have to go, or could not come back, because such a thing stays.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{Entry, Look, RelativePath, same};
use super::error::UndoError;
use super::history::{By, Difference, History};

/// What becomes of conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conflicts {
    /// They stay as they are.
    #[default]
    Keep,
    /// They are restored like everything else.
    Overwrite,
}

/// Why a path is not simply restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Somebody else than a call changed it after the target.
    ChangedByUser,
    /// What is there now is not kept, so replacing it could not be undone.
    NotKept,
    /// Something that stays is in the way.
    InTheWay,
    /// It is not as the preview showed it.
    ChangedSincePreview,
    /// It was changed at the same moment.
    ChangedMeanwhile,
    /// The system refused.
    Refused,
}

/// One path that going back would change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The path.
    pub path: RelativePath,
    /// What it is now, with mode and bytes.
    pub now: Option<(Look, u32, u64)>,
    /// What it would be, with mode and bytes.
    pub then: Option<(Look, u32, u64)>,
    /// Why it would be kept, unless told otherwise.
    pub conflict: Option<Reason>,
}

impl Item {
    /// Whether only the mode differs.
    pub fn is_mode_only(&self) -> bool {
        matches!((&self.now, &self.then), (Some(now), Some(then)) if now.0 == then.0)
    }
}

/// What going back would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preview {
    /// The call before which everything would be again.
    pub to: String,
    /// Paths that would change, those of directories before what is in them.
    pub items: Vec<Item>,
    /// Paths that differ but cannot be restored: their content was too large to keep, or they are ignored now.
    pub not_restorable: Vec<RelativePath>,
}

impl Preview {
    /// The paths with conflicts.
    pub fn conflicts(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.conflict.is_some())
    }
}

/// What going back did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewound {
    /// Going back to before this undoes it.
    pub id: String,
    /// Paths that are now as they were.
    pub restored: Vec<RelativePath>,
    /// Paths that were kept as they are, and why.
    pub kept: Vec<(RelativePath, Reason)>,
    /// Paths that could not be restored.
    pub not_restorable: Vec<RelativePath>,
}

/// One path to change.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) path: RelativePath,
    pub(super) now: Option<Entry>,
    pub(super) then: Option<Entry>,
    pub(super) conflict: Option<Reason>,
}

/// What is to be done, in the order of paths.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) not_restorable: Vec<RelativePath>,
}

impl Plan {
    /// The way to the state before a call. The manifest must be the present.
    pub(super) fn to(history: &History, call: &str) -> Result<Self, UndoError> {
        let begin = history.begin(call).ok_or_else(|| UndoError::Unknown(call.to_owned()))?;
        let (then, theirs) = past(history, begin);
        let now_at = |path: &RelativePath| history.manifest.get(path).map(|slot| &slot.entry);
        let is_closed = |path: &RelativePath| {
            let closed = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.look == Look::Closed);
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
                    Look::File(None) => true,
                    Look::File(Some(hash)) => !history.store.has(hash),
                    _ => false,
                },
                None => false,
            };
            if is_closed(path) || lost {
                plan.not_restorable.push((*path).clone());
                continue;
            }
            let conflict = if theirs.contains(*path) {
                Some(Reason::ChangedByUser)
            } else if now.is_some_and(|now| now.look == Look::File(None)) {
                Some(Reason::NotKept)
            } else {
                None
            };
            let (now, then) = (now.cloned(), then.cloned());
            plan.steps.push(Step { path: (*path).clone(), now, then, conflict });
        }
        plan.find_what_is_in_the_way(&|path| now_at(path).is_some());
        Ok(plan)
    }

    fn find_what_is_in_the_way(&mut self, is_there: &dyn Fn(&RelativePath) -> bool) {
        // A thing that stays needs the directories that it is in.
        let stays = self.steps.iter().filter(|step| step.conflict.is_some() && step.now.is_some());
        let stays = stays.map(|step| &step.path);
        let stays = stays.chain(self.not_restorable.iter().filter(|path| is_there(path)));
        let needed: BTreeSet<_> = stays.flat_map(RelativePath::ancestors).collect();
        // A thing that comes needs its directory to come, too, or to stay.
        let mut blocked = BTreeSet::new();
        for step in &mut self.steps {
            let is_folder = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_folder);
            let goes = is_folder(&step.now) && !is_folder(&step.then);
            let comes = step.then.is_some() && step.path.ancestors().any(|above| blocked.contains(&above));
            if step.conflict.is_none() && ((goes && needed.contains(&step.path)) || comes) {
                step.conflict = Some(Reason::InTheWay);
            }
            if step.conflict.is_some() && !is_folder(&step.now) {
                blocked.insert(step.path.clone());
            }
        }
    }

    /// What a caller sees of it.
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

type Past<'a> = (BTreeMap<&'a RelativePath, Option<&'a Entry>>, BTreeSet<&'a RelativePath>);

/// What paths were before a position, and which of them the user changed after it.
///
/// A call that names its files looks at nothing else. So what the user changed may be found long after: when it may have
/// been there at the position already, it counts as if it had, and going back brings the user's version back.
fn past(history: &History, begin: usize) -> Past<'_> {
    let (mut then, mut theirs): Past<'_> = (BTreeMap::new(), BTreeSet::new());
    let mut whole = false;
    for checkpoint in history.checkpoints.range(begin..) {
        for change in &checkpoint.changes {
            let user = checkpoint.by == By::User;
            if user && !whole && may_be_older(&then, change) {
                continue;
            }
            then.entry(&change.path).or_insert(change.before.as_ref());
            if user {
                theirs.insert(&change.path);
            }
        }
        whole |= checkpoint.whole;
    }
    (then, theirs)
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
    // It needs a directory that was not there.
    if change.after.is_some() && change.path.ancestors().any(|above| was_no_folder(&above)) {
        return false;
    }
    // Something was in it.
    leaves_a_folder || !then.range::<&RelativePath, _>(&first..&last).any(|(_, entry)| entry.is_some())
}
