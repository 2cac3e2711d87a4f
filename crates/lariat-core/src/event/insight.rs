//! Computes the figures of a run from its events: tokens and context per turn, duration and bytes per tool call.
//!
//! The journal has every figure already, so there are no events for them, and journals of earlier versions give the same
//! figures. A client feeds each durable event of a session to one [`InsightFold`], in order.

use std::collections::HashMap;

use serde::Serialize;

use super::{AgentEvent, EventRecord, RecordedMessage};
use crate::content::Content;
use crate::id::{LoopId, ToolCallId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "name")]
#[non_exhaustive]
pub enum Insight {
    /// What the model call of a turn used.
    #[serde(rename = "insight.tokens")]
    Tokens {
        /// Index of the turn in its loop.
        turn_index: u32,
        /// Tokens and cost, with the cached tokens.
        usage: Usage,
    },
    /// How full the context window is after a turn.
    #[serde(rename = "insight.context")]
    Context {
        /// Index of the turn in its loop.
        turn_index: u32,
        /// Tokens of the last request and its reply, as the provider reported them.
        used: u64,
        /// Size of the window in tokens; 0 if it is not known.
        window: u64,
    },
    /// How long a tool call ran and how much it returned to the model.
    #[serde(rename = "insight.tool")]
    Tool {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// Time from start to end, in milliseconds.
        duration_ms: u64,
        /// Bytes of the result: text, and pictures as they are sent.
        bytes: u64,
        /// True if the tool call failed.
        is_error: bool,
    },
}

impl Insight {
    /// Returns the dotted name of the figure.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tokens { .. } => "insight.tokens",
            Self::Context { .. } => "insight.context",
            Self::Tool { .. } => "insight.tool",
        }
    }
}

/// Computes figures from the durable events of a session.
#[derive(Clone, Debug, Default)]
pub struct InsightFold {
    window: u64,
    turns: HashMap<Option<LoopId>, u32>,
    started: HashMap<ToolCallId, Timestamp>,
    /// Tool calls that ended and whose result follows.
    ended: HashMap<ToolCallId, Timestamp>,
}

impl InsightFold {
    /// Applies an event and returns the figures that it completes, in the order in which they are reported.
    pub fn apply(&mut self, record: &EventRecord) -> Vec<Insight> {
        match &record.event {
            AgentEvent::AgentStart(start) => {
                if let Some(config) = &start.config {
                    self.window = config.context_window;
                }
                Vec::new()
            }
            AgentEvent::AgentEnd { .. } => {
                self.turns.remove(&record.loop_id);
                Vec::new()
            }
            AgentEvent::TurnStart { turn_index, .. } => {
                self.turns.insert(record.loop_id.clone(), *turn_index);
                Vec::new()
            }
            AgentEvent::TurnEnd { usage, .. } => {
                let turn_index = self.turns.get(&record.loop_id).copied().unwrap_or_default();
                let used = usage.input + usage.cache_read + usage.cache_write + usage.output;
                let context = Insight::Context { turn_index, used, window: self.window };
                vec![Insight::Tokens { turn_index, usage: *usage }, context]
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                self.started.insert(tool_call_id.clone(), record.timestamp);
                Vec::new()
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.ended.insert(tool_call_id.clone(), record.timestamp);
                Vec::new()
            }
            AgentEvent::MessageEnd { message } => self.tool(message).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn tool(&mut self, message: &RecordedMessage) -> Option<Insight> {
        let result = message.shared()?.as_tool_result()?;
        let ended = self.ended.remove(&result.tool_call_id)?;
        let started = self.started.remove(&result.tool_call_id)?;
        let duration = ended.since(started).as_millis();
        Some(Insight::Tool {
            tool_call_id: result.tool_call_id.clone(),
            tool_name: result.tool_name.clone(),
            duration_ms: u64::try_from(duration).unwrap_or(u64::MAX),
            bytes: result.content.iter().map(bytes).sum(),
            is_error: result.is_error,
        })
    }
}

fn bytes(content: &Content) -> u64 {
    let length = match content {
        Content::Image { data, .. } => data.len(),
        other => other.as_text().map_or(0, str::len),
    };
    u64::try_from(length).unwrap_or(u64::MAX)
}
