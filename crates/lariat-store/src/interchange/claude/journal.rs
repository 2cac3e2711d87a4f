//! Builds the tree of messages of a journal for the export, and the steps of its newest conversation.
//!
//! [`SessionFold`] decides what the model sees; this module only tracks which message follows which.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lariat_core::event::{AgentEvent, CompactionCause, CompactionEdit, Description, Event};
use lariat_core::id::{LoopId, MessageId};
use lariat_core::message::SharedMessage;
use lariat_core::time::Timestamp;

/// A compaction.
#[derive(Clone, Debug)]
pub(super) struct CompactionStep {
    pub(super) cause: CompactionCause,
    pub(super) tokens_before: u64,
    pub(super) at: Timestamp,
    pub(super) edits: Arc<Vec<CompactionEdit>>,
}

impl CompactionStep {
    /// Returns whether a message is a summary made by this compaction.
    pub(super) fn is_summary(&self, id: MessageId) -> bool {
        self.edits
            .iter()
            .any(|edit| matches!(edit, CompactionEdit::Summarise { summary, .. } if summary.id() == id))
    }
}

#[derive(Debug)]
pub(super) enum JournalStep {
    Message(Timestamp, SharedMessage),
    Compaction(CompactionStep),
}

/// Consecutive messages after a base.
#[derive(Debug, Default)]
pub(super) struct JournalBranch {
    pub(super) base: Option<MessageId>,
    pub(super) steps: Vec<JournalStep>,
}

/// The messages of a journal.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) branches: Vec<JournalBranch>,
    pub(super) removed: HashSet<MessageId>,
    pub(super) about: Description,
    /// Time of the first event.
    pub(super) begun: Timestamp,
    home: HashMap<MessageId, usize>,
}

impl Journal {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut journal = Self {
            begun: events.first().map(|event| event.timestamp).unwrap_or_default(),
            ..Self::default()
        };
        let mut loops: HashMap<&LoopId, usize> = HashMap::new();
        let mut queued: HashMap<MessageId, &SharedMessage> = HashMap::new();
        for record in events {
            let own = record.loop_id.as_ref().and_then(|id| loops.get(id)).copied();
            match &record.event {
                AgentEvent::AgentStart(start) => {
                    loops.insert(&start.loop_id, journal.branch(start.base));
                }
                AgentEvent::MessagesImported { base, messages } => {
                    let at = journal.branch(*base);
                    messages.iter().for_each(|message| journal.add(at, record.timestamp, message));
                }
                AgentEvent::MessageQueued { message, .. } => {
                    queued.insert(message.id(), message);
                }
                AgentEvent::MessageEnd { message } => {
                    let message = queued.remove(&message.id()).or_else(|| message.shared());
                    if let (Some(at), Some(message)) = (own, message) {
                        journal.add(at, record.timestamp, message);
                    }
                }
                AgentEvent::MessageRemoved { message_id } => {
                    journal.removed.insert(*message_id);
                }
                AgentEvent::Compaction { cause, edits, tokens_before, .. } => {
                    if let Some(branch) = own.and_then(|at| journal.branches.get_mut(at)) {
                        branch.steps.push(JournalStep::Compaction(CompactionStep {
                            cause: *cause,
                            tokens_before: *tokens_before,
                            at: record.timestamp,
                            edits: Arc::clone(edits),
                        }));
                    }
                }
                AgentEvent::SessionDescribed(description) => journal.describe(description),
                _ => {}
            }
        }
        journal
    }

    fn branch(&mut self, base: Option<MessageId>) -> usize {
        self.branches.push(JournalBranch { base, steps: Vec::new() });
        self.branches.len() - 1
    }

    fn add(&mut self, at: usize, time: Timestamp, message: &SharedMessage) {
        self.home.insert(message.id(), at);
        if let Some(branch) = self.branches.get_mut(at) {
            branch.steps.push(JournalStep::Message(time, Arc::clone(message)));
        }
    }

    fn describe(&mut self, news: &Description) {
        let about = &mut self.about;
        for (slot, news) in [
            (&mut about.title, &news.title),
            (&mut about.cwd, &news.cwd),
            (&mut about.git_branch, &news.git_branch),
        ] {
            if news.is_some() {
                slot.clone_from(news);
            }
        }
        if news.tags.is_some() {
            about.tags.clone_from(&news.tags);
        }
    }

    /// Returns the steps of the conversation that ends at a message, including the results and compactions after it.
    pub(super) fn steps(&self, tip: Option<MessageId>) -> Vec<&JournalStep> {
        let mut parts = Vec::new();
        let mut visited = HashSet::new();
        let mut next = tip;
        while let Some(id) = next {
            let Some(at) = self.home.get(&id).copied().filter(|at| visited.insert(*at)) else { break };
            let Some(branch) = self.branches.get(at) else { break };
            let is_end =
                |step: &JournalStep| matches!(step, JournalStep::Message(_, message) if message.id() == id);
            let end = branch.steps.iter().position(is_end).map_or(branch.steps.len(), |at| at + 1);
            let belongs = |step: &&JournalStep| match step {
                JournalStep::Message(_, message) => message.as_tool_result().is_some(),
                JournalStep::Compaction(_) => true,
            };
            let more = branch.steps.iter().skip(end).take_while(belongs).count();
            parts.push(branch.steps.iter().take(end + more));
            next = branch.base;
        }
        parts.into_iter().rev().flatten().collect()
    }
}
