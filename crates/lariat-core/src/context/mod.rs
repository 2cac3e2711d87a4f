//! How full the window is, and how to make room.
//!
//! Owns the token estimate, the tracker that combines it with what providers report, the compaction contract and the
//! built-in tiers that need no model. Invariant: tracking costs the same per message at any length.

mod calibration;
mod classes;
mod image;
mod notes;
mod tokens;
mod tracker;

pub use notes::{ContextSource, Note, NotesQuery, Told};
pub use tokens::{
    CharacterClasses, ImageTokens, TokenCounter, count_message, estimate_tokens, message_tokens,
};
pub use tracker::{ContextTracker, TrackerState};

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::config::ContextConfig;
use crate::content::Content;
use crate::event::{CompactionCause, CompactionEdit};
use crate::message::{Message, SharedMessage};
use crate::transcript::Window;
use crate::usage::Usage;

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
