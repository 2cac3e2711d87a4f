//! The choices that disturb a world, numbered so that a run can be repeated without some of them.
//!
//! Whatever may go wrong in a world asks [`Choices::disturb`] first. A choice that is left out has no effect: the process does
//! not die, the store does not fail, the user says nothing. Invariant: the number of a choice depends only on the run before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a choice disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ChoiceKind {
    /// Something that a user asks for, after the first.
    Task,
    /// The process dies.
    Death,
    /// An append fails, is slow, or ends the process.
    Append,
    /// Another call of the store fails or is slow.
    StoreCall,
    /// A snapshot is lost or torn.
    Snapshot,
    /// The clock jumps.
    Clock,
    /// A user sends a message.
    Message,
    /// A user cancels.
    Cancel,
    /// A user answers a question.
    Answer,
    /// An in-process hook stops something.
    Hook,
    /// A reply of the model is more than a text.
    Reply,
    /// A tool does more than return a text.
    Tool,
    /// A client of a host asks for something.
    Command,
    /// A client sends a command again.
    Retry,
    /// A client that follows a session is slow, loses its connection, or reads earlier events again.
    Reader,
}

impl ChoiceKind {
    pub(super) const ALL: [Self; 15] = [
        Self::Task,
        Self::Clock,
        Self::Reader,
        Self::Retry,
        Self::Snapshot,
        Self::StoreCall,
        Self::Append,
        Self::Message,
        Self::Answer,
        Self::Hook,
        Self::Tool,
        Self::Cancel,
        Self::Death,
        Self::Reply,
        Self::Command,
    ];
}

/// A choice of a run: the how manieth of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Choice {
    pub(super) kind: ChoiceKind,
    pub(super) number: u32,
}

/// The choices that a run does without.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut {
    pub(super) kinds: BTreeSet<ChoiceKind>,
    pub(super) choices: BTreeSet<Choice>,
}

impl LeftOut {
    fn contains(&self, choice: Choice) -> bool {
        self.kinds.contains(&choice.kind) || self.choices.contains(&choice)
    }
}

/// Whether a run has a story. Telling that of every run would take most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    Silent,
    Story,
}

/// The choices of a run. Clones are the same run.
#[derive(Clone)]
pub(super) struct Choices(Arc<Run>);

struct Run {
    left_out: LeftOut,
    telling: Telling,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: BTreeMap<ChoiceKind, u32>,
    made: Vec<Choice>,
    left_out: usize,
    story: Vec<String>,
}

impl Choices {
    pub(super) fn new(left_out: LeftOut, telling: Telling) -> Self {
        Self(Arc::new(Run { left_out, telling, state: Mutex::default() }))
    }

    /// Whether a disturbance happens, which the seed wants.
    pub(super) fn disturb(&self, kind: ChoiceKind) -> bool {
        let mut state = self.lock();
        let count = state.counts.entry(kind).or_default();
        let choice = Choice { kind, number: *count };
        *count += 1;
        let happens = !self.0.left_out.contains(choice);
        if happens {
            state.made.push(choice);
        } else {
            state.left_out += 1;
        }
        happens
    }

    /// Adds a sentence to the story, if the run has one.
    pub(super) fn tell(&self, sentence: impl FnOnce() -> String) {
        if self.has_story() {
            let sentence = sentence();
            self.lock().story.push(sentence);
        }
    }

    pub(super) fn has_story(&self) -> bool {
        self.0.telling == Telling::Story
    }

    /// The disturbances, how many were left out, and the story.
    pub(super) fn summary(&self) -> (Vec<Choice>, usize, Vec<String>) {
        let state = self.lock();
        (state.made.clone(), state.left_out, state.story.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
