//! Counts what the result of a run reports: time at the provider, usage by model, denied tool calls.
//!
//! A denied tool call has a result but was never started, and its result says so. Each is counted at most once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::content::{ToolCall, joined_text};
use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::ToolCallId;
use lariat_core::message::{AssistantMessage, ToolResultMessage};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use lariat_service::claude_tools::{claude_input, claude_name};
use serde_json::{Value, json};

/// Prefix of the result of a denied tool call.
const DENIED: &str = "Denied: ";

/// The counts so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Time that the provider took.
    api: Duration,
    asked_at: Option<Timestamp>,
    models: BTreeMap<String, Usage>,
    /// Tool calls of the turn.
    calls: HashMap<ToolCallId, Arc<ToolCall>>,
    started: HashSet<ToolCallId>,
    denied: Vec<Value>,
}

impl Tally {
    pub(crate) fn event(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::TurnStart { .. } => {
                self.asked_at = Some(record.timestamp);
                self.calls.clear();
                self.started.clear();
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                self.started.insert(tool_call_id.clone());
            }
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return };
                if let Some(reply) = message.as_assistant() {
                    self.reply(reply, record.timestamp);
                }
                if let Some(result) = message.as_tool_result() {
                    self.result(result);
                }
            }
            _ => {}
        }
    }

    fn reply(&mut self, reply: &AssistantMessage, now: Timestamp) {
        if let Some(asked_at) = self.asked_at.take() {
            self.api += now.since(asked_at);
        }
        *self.models.entry(reply.model.clone()).or_default() += reply.usage;
        self.add_calls(reply);
    }

    /// Adds the tool calls of a reply, for questions about them. Counts nothing.
    pub(super) fn add_calls(&mut self, reply: &AssistantMessage) {
        self.calls.extend(reply.tool_calls().map(|call| (call.id.clone(), Arc::clone(call))));
    }

    fn result(&mut self, result: &ToolResultMessage) {
        if self.is_denied(result) {
            let input = self.input(&result.tool_call_id);
            self.denied.push(json!({
                "tool_name": claude_name(&result.tool_name),
                "tool_use_id": result.tool_call_id,
                "tool_input": claude_input(&result.tool_name, &input),
            }));
        }
    }

    /// Whether a result reports a denied tool call.
    pub(super) fn is_denied(&self, result: &ToolResultMessage) -> bool {
        result.is_error
            && !self.started.contains(&result.tool_call_id)
            && joined_text(&result.content).starts_with(DENIED)
    }

    /// The arguments of a tool call of this turn; an empty object if its reply is unknown.
    pub(crate) fn input(&self, call: &ToolCallId) -> Value {
        self.calls.get(call).map_or_else(|| json!({}), |call| call.arguments.clone())
    }

    pub(super) fn api_millis(&self) -> u64 {
        millis(self.api)
    }

    pub(super) fn denials(&self) -> &[Value] {
        &self.denied
    }

    /// Usage by model, with the field names of the result.
    pub(super) fn models(&self, window: u64) -> Value {
        let one = |usage: &Usage| {
            json!({
                "inputTokens": usage.input,
                "outputTokens": usage.output,
                "cacheReadInputTokens": usage.cache_read,
                "cacheCreationInputTokens": usage.cache_write,
                "webSearchRequests": 0,
                "costUSD": usage.cost.as_usd(),
                "contextWindow": window,
            })
        };
        self.models.iter().map(|(model, usage)| (model.clone(), one(usage))).collect()
    }

    /// The total cost so far.
    pub(super) fn cost(&self) -> f64 {
        self.models.values().fold(Usage::default(), |sum, usage| sum + *usage).cost.as_usd()
    }

    /// Resets what belongs to a single result, such as denials.
    pub(super) fn reset(&mut self) {
        self.denied.clear();
        self.api = Duration::ZERO;
    }
}

/// Milliseconds, saturating.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
