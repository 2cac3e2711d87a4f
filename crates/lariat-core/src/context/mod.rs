//! How full the window is, and how to make room.
//!
//! Owns the token estimate, the tracker that combines it with what providers report, the compaction contract and the
//! built-in tiers that need no model. Invariant: tracking costs the same per message at any length.

mod notes;

use serde_json::Value;

pub use notes::{ContextSource, Note, NotesQuery, Told};

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::config::ContextConfig;
use crate::content::Content;
use crate::event::{CompactionCause, CompactionEdit};
use crate::message::{AgentMessage, Message, SharedMessage};
use crate::transcript::Window;
use crate::usage::Usage;

/// Rough heuristic of seed 002: about four characters a token.
const CHARS_PER_TOKEN: u64 = 4;
/// What an image costs, roughly, on the services that count it.
const IMAGE_TOKENS: u64 = 1_200;
/// Framing of one message.
const MESSAGE_OVERHEAD_TOKENS: u64 = 4;

/// Estimates the tokens of a text: about four characters a token, rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(CHARS_PER_TOKEN)
}

/// Estimates the tokens of a message.
pub fn message_tokens(message: &AgentMessage) -> u64 {
    let Some(message) = message.as_llm() else { return 0 };
    MESSAGE_OVERHEAD_TOKENS + message.content().iter().map(block_tokens).sum::<u64>()
}

fn block_tokens(block: &Content) -> u64 {
    match block {
        Content::Text { text } => estimate_tokens(text),
        Content::Image { .. } => IMAGE_TOKENS,
        Content::Thinking { thinking, .. } => estimate_tokens(thinking),
        Content::RedactedThinking { data } => estimate_tokens(data),
        Content::ToolCall(call) => {
            estimate_tokens(&call.name) + value_chars(&call.arguments).div_ceil(CHARS_PER_TOKEN)
        }
        Content::Unknown(fields) => fields.values().map(value_chars).sum::<u64>().div_ceil(CHARS_PER_TOKEN),
    }
}

/// Characters of a JSON value, without building its text.
fn value_chars(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() as u64 + 2,
        Value::Array(items) => 2 + items.iter().map(|item| value_chars(item) + 1).sum::<u64>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(k, v)| k.len() as u64 + 4 + value_chars(v)).sum::<u64>()
        }
    }
}

/// How much of the window is used: what the provider reported for the last request, plus an estimate of what is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextTracker {
    reported: u64,
    estimated: u64,
}

impl ContextTracker {
    /// Starts from the estimate of a conversation and its system prompt.
    pub fn of(window: &Window, config: Option<&ContextConfig>) -> Self {
        let system = config.map_or(0, |config| config.system_prompt_tokens as u64);
        Self {
            reported: 0,
            estimated: system + window.iter().map(|message| message_tokens(message)).sum::<u64>(),
        }
    }

    /// A message was added.
    pub fn add(&mut self, message: &AgentMessage) {
        self.estimated += message_tokens(message);
    }

    /// A reply came, with what its request took. Zero usage means the provider did not say.
    pub fn report(&mut self, usage: &Usage) {
        if usage.context() > 0 {
            *self = Self { reported: usage.context() + usage.output, estimated: 0 };
        }
    }

    /// Tokens the next request will take, as far as anybody knows.
    pub const fn used(&self) -> u64 {
        self.reported + self.estimated
    }
}

/// Makes room in a conversation. May call a model, so it is asynchronous and can be cancelled.
pub trait CompactionStrategy: Send + Sync {
    /// The overlay to lay over the conversation, and what making it cost.
    fn compact<'a>(&'a self, query: CompactionQuery, cancel: CancellationToken) -> BoxFuture<'a, Compacted>;
}

/// What a strategy has to work with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionQuery {
    /// The conversation.
    pub window: Window,
    /// Why room is needed.
    pub cause: CompactionCause,
    /// Tuning.
    pub config: ContextConfig,
    /// Estimated tokens of the whole request now.
    pub tokens: u64,
}

impl CompactionQuery {
    /// A query.
    pub const fn new(window: Window, cause: CompactionCause, config: ContextConfig, tokens: u64) -> Self {
        Self { window, cause, config, tokens }
    }
}

/// What a strategy came up with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compacted {
    /// The overlay; empty when nothing can be done.
    pub edits: Vec<CompactionEdit>,
    /// What making it cost.
    pub usage: Usage,
    /// Why room must not be made, when somebody forbade it.
    pub refused: Option<String>,
}

/// The tiers that need no model: clear old tool output, then drop the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct TieredCompaction;

impl CompactionStrategy for TieredCompaction {
    fn compact<'a>(&'a self, query: CompactionQuery, _cancel: CancellationToken) -> BoxFuture<'a, Compacted> {
        let edits = compact_messages(&query);
        Box::pin(std::future::ready(Compacted { edits, ..Compacted::default() }))
    }
}

/// The overlay of the built-in tiers. After it, the conversation takes at most half of the budget where that is
/// possible without touching the head and the tail that must be kept.
pub fn compact_messages(query: &CompactionQuery) -> Vec<CompactionEdit> {
    let config = &query.config;
    let messages: Vec<&SharedMessage> = query.window.iter().collect();
    let end = whole_step(&messages, messages.len().saturating_sub(config.keep_recent));
    let start = whole_step(&messages, config.keep_first.min(end));
    let Some(middle) = messages.get(start..end).filter(|middle| !middle.is_empty()) else {
        return Vec::new();
    };

    // Aim well below the threshold, so that the next turns do not compact again. After an overflow the estimate was
    // wrong or the real window is smaller than configured: halve what there is, whatever the budget says.
    let mut goal = config.budget() as u64 / 2;
    if query.cause == CompactionCause::Overflow {
        goal = goal.min(query.tokens / 2);
    }
    let mut excess = query.tokens.saturating_sub(goal);
    let mut edits = Vec::new();
    for message in middle {
        let Some(Message::ToolResult(result)) = message.as_llm() else { continue };
        let lines: usize =
            result.content.iter().filter_map(Content::as_text).map(|text| text.lines().count()).sum();
        if lines > config.tool_output_max_lines {
            edits.push(CompactionEdit::ClearToolOutput { message: message.id() });
            excess = excess.saturating_sub(message_tokens(message));
        }
    }
    if excess > 0
        && let (Some(first), Some(last)) = (middle.first(), middle.last())
    {
        edits = vec![CompactionEdit::Drop { first: first.id(), last: last.id() }];
    }
    edits
}

/// The nearest position at or before `at` where a step begins, so that an exchange is never cut in two.
fn whole_step(messages: &[&SharedMessage], at: usize) -> usize {
    let mut at = at.min(messages.len());
    while at > 0 && messages.get(at).is_some_and(|message| message.as_tool_result().is_some()) {
        at -= 1;
    }
    at
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
