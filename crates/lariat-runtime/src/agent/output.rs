//! What a run came to, for those who do not watch it.

use lariat_core::content::joined_text;
use lariat_core::event::RunOutcome;
use lariat_core::id::LoopId;
use lariat_core::message::{SharedMessage, StopReason};
use lariat_core::usage::Usage;

use crate::drive::Driven;

/// What a run came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentOutput {
    /// The run's loop.
    pub loop_id: LoopId,
    /// Text of the last reply; empty when there was none.
    pub text: String,
    /// Why the model stopped last.
    pub stop_reason: Option<StopReason>,
    /// Why the run ended.
    pub outcome: RunOutcome,
    /// Sum over all model calls.
    pub usage: Usage,
    /// Turns it took.
    pub turns: u32,
    /// All messages it produced.
    pub messages: Vec<SharedMessage>,
}

impl AgentOutput {
    pub(super) fn of(loop_id: LoopId, driven: &Driven) -> Self {
        let reply = driven.messages.iter().rev().find_map(|message| message.as_assistant());
        Self {
            loop_id,
            text: reply.map(|reply| joined_text(&reply.content)).unwrap_or_default(),
            stop_reason: reply.map(|reply| reply.stop_reason),
            outcome: driven.ending.outcome.clone(),
            usage: driven.ending.usage,
            turns: driven.ending.turns,
            messages: driven.messages.clone(),
        }
    }
}
