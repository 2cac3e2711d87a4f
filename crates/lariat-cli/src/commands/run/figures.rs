//! Computes what a run did from its events: its answer, its figures and the files that it changed.
//!
//! Follows one loop at a time: the first that begins, until it ends. Events of other loops belong to sub-agents.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::id::LoopId;
use lariat_core::message::StopReason;
use lariat_core::session::{FileChange, FileChanges};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;

use crate::wire::json::Ending;

/// What a run did until its end.
#[derive(Clone, Debug)]
pub(super) struct RunFigures {
    /// The position of its end.
    pub(super) seq: u64,
    pub(super) outcome: RunOutcome,
    /// The text of the last reply; empty if there was none.
    text: String,
    stop_reason: Option<StopReason>,
    usage: Usage,
    turns: u32,
    ended_at: Timestamp,
    files: Vec<FileChange>,
}

impl RunFigures {
    /// The end of a run that began at this time.
    pub(super) fn ending(self, began: Timestamp) -> Ending {
        Ending {
            outcome: self.outcome,
            text: self.text,
            stop_reason: self.stop_reason,
            usage: self.usage,
            turns: self.turns,
            duration: self.ended_at.since(began),
            files: self.files,
            schema_check: None,
        }
    }
}

/// The run so far.
#[derive(Debug, Default)]
pub(super) struct RunFold {
    /// The loop to follow.
    root: Option<LoopId>,
    reply: Option<(String, StopReason)>,
    turns: u32,
    changes: FileChanges,
}

impl RunFold {
    /// Handles a durable event. Returns the figures at the end of the run.
    pub(super) fn event(&mut self, record: &EventRecord) -> Option<RunFigures> {
        if let (None, AgentEvent::AgentStart(_)) = (&self.root, &record.event) {
            *self = Self { root: record.loop_id.clone(), ..Self::default() };
        }
        if self.root.is_none() || record.loop_id != self.root {
            return None;
        }
        match &record.event {
            AgentEvent::TurnStart { turn_index, .. } => self.turns = turn_index.saturating_add(1),
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.reply = Some((joined_text(&reply.content), reply.stop_reason));
                }
            }
            AgentEvent::AgentEnd { usage, outcome, .. } => {
                let Self { reply, turns, changes, .. } = std::mem::take(self);
                let (text, stop_reason) = reply.unzip();
                return Some(RunFigures {
                    seq: record.seq,
                    outcome: outcome.clone(),
                    text: text.unwrap_or_default(),
                    stop_reason,
                    usage: *usage,
                    turns,
                    ended_at: record.timestamp,
                    files: changes.into_files(),
                });
            }
            event => self.changes.observe(event),
        }
        None
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
