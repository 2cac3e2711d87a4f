//! How full the window is, and how to make room.
//!
//! Owns the token estimate, the tracker that combines it with what providers report, the compaction contract
//! (`compaction.rs`), what it must leave as it is (`verbatim.rs`), what was done (`work.rs`) and the tiers that need no model (`plan.rs`).
//! Invariant: tracking costs the same per message at any length.

mod compaction;
mod judge;
mod notes;
mod plan;
mod recall;
mod summary;
mod verbatim;
mod work;

use serde_json::Value;

pub use compaction::{Compacted, CompactionQuery, CompactionStrategy, TieredCompaction, compact_messages};
pub use judge::Accepted;
pub use notes::{ContextSource, Note, NotesQuery, Told};
pub use plan::CompactionPlan;
pub use recall::{Recall, recalled_text};
pub use verbatim::Verbatim;
pub(crate) use work::Ended;
pub use work::{CommandRun, FileState, FileTouched, Task, WorkLog};

use crate::config::ContextConfig;
use crate::content::Content;
use crate::message::AgentMessage;
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
