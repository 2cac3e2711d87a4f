//! The result of a run as data, which programs can serialise to JSON.

use std::time::Duration;

use lariat_core::content::joined_text;
use lariat_core::evaluation::ParallelLoopOutcome;
use lariat_core::event::RunOutcome;
use lariat_core::id::LoopId;
use lariat_core::message::{SharedMessage, StopReason};
use lariat_core::session::FileChange;
use lariat_core::usage::{Cost, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::drive::FinishedRun;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AgentOutput {
    /// The id of the run's loop.
    pub loop_id: LoopId,
    /// Text of the last reply; empty if there was none.
    pub text: String,
    /// The JSON of the last reply, if the run had an output schema. Only `Agent::run_typed` and
    /// `Agent::run_with_schema` validate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Why the model stopped last.
    pub stop_reason: Option<StopReason>,
    /// Why the run ended.
    pub outcome: RunOutcome,
    /// Total usage of all model calls.
    pub usage: Usage,
    /// Their cost, in billionths of a dollar; 0 if prices are unknown.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Cost,
    /// Number of turns.
    pub turns: u32,
    /// Duration, serialised in milliseconds.
    #[serde(rename = "duration_ms", serialize_with = "millis")]
    pub duration: Duration,
    /// The files that tools reported as changed. Changes by shell commands are included only while undo is
    /// on.
    pub files_changed: Vec<FileChange>,
    /// All messages that the run produced.
    pub messages: Vec<SharedMessage>,
}

impl AgentOutput {
    /// Summarises a run; `has_schema` is set if the run had an output schema.
    pub(super) fn of(
        loop_id: LoopId,
        driven: &mut FinishedRun,
        duration: Duration,
        has_schema: bool,
    ) -> Self {
        let reply = driven.messages.iter().rev().find_map(|message| message.as_assistant());
        let text = reply.map(|reply| joined_text(&reply.content)).unwrap_or_default();
        Self {
            loop_id,
            structured: has_schema.then(|| super::json_answer::parse_json_answer(&text).ok()).flatten(),
            text,
            stop_reason: reply.map(|reply| reply.stop_reason),
            outcome: driven.ending.outcome.clone(),
            usage: driven.ending.usage,
            cost: driven.ending.usage.cost,
            turns: driven.ending.turns,
            duration,
            files_changed: std::mem::take(&mut driven.changes).into_files(),
            messages: driven.messages.clone(),
        }
    }

    /// Summarises a branch that was selected, which may have ended in an earlier process.
    pub(super) fn of_branch(branch: &ParallelLoopOutcome, duration: Duration) -> Self {
        let messages = branch.added_messages().to_vec();
        let mut replies = messages.iter().rev().filter_map(|message| message.as_assistant());
        let stop_reason = replies.next().map(|reply| reply.stop_reason);
        let turns = u32::try_from(replies.count() + usize::from(stop_reason.is_some())).unwrap_or(u32::MAX);
        Self {
            loop_id: branch.loop_id.clone(),
            text: branch.text(),
            structured: None,
            stop_reason,
            outcome: branch.outcome.clone(),
            usage: branch.usage,
            cost: branch.usage.cost,
            turns,
            duration,
            files_changed: Vec::new(),
            messages,
        }
    }

    /// Adds the usage and results of an earlier run for the same answer.
    #[cfg(feature = "typed")]
    pub(crate) fn add_earlier(&mut self, earlier: &Self) {
        self.usage += earlier.usage;
        self.cost = self.usage.cost;
        self.turns = self.turns.saturating_add(earlier.turns);
        self.duration += earlier.duration;
        let known = |file: &FileChange| self.files_changed.iter().any(|later| later.path == file.path);
        let mut files: Vec<_> = earlier.files_changed.iter().filter(|file| !known(file)).cloned().collect();
        files.append(&mut self.files_changed);
        self.files_changed = files;
        self.messages = earlier.messages.iter().chain(&self.messages).cloned().collect();
    }
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
