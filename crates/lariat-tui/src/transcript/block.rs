//! The blocks of a transcript: data, without rows.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::content::{Content, joined_text};
use lariat_core::event::RunOutcome;
use lariat_core::id::MessageId;
use lariat_core::message::SharedMessage;
use lariat_core::usage::Usage;
use lariat_terminal::theme::Style;
use serde_json::Value;

/// Something that happened and does not change any more.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// A message of the user that the model received.
    User { text: String, images: Option<SharedMessage> },
    /// Text and thinking of a reply.
    Reply { id: MessageId, segments: Vec<Segment> },
    /// A tool call that ended.
    Call(Box<EndedCall>),
    /// A sentence about another event.
    Note { style: Style, words: String },
    /// The conversation continues elsewhere.
    Divider { words: String },
    /// The end of a run.
    End(Box<RunEnd>),
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Thinking, in the pieces that the provider sent.
    Thinking(Vec<String>),
    /// Markdown.
    Text(String),
}

/// A tool call that ended.
#[derive(Clone, Debug)]
pub(super) struct EndedCall {
    pub(super) tool: String,
    pub(super) arguments: Option<CallArguments>,
    /// The message with the result; `None` if the run ended without one.
    pub(super) result: Option<SharedMessage>,
    pub(super) details: Value,
    pub(super) is_error: bool,
    /// Its run time; `None` if it did not run.
    pub(super) took: Option<Duration>,
    /// Who denied it.
    pub(super) denied_by: Option<String>,
    /// Whether the task list of its result differs from the one before.
    pub(super) has_new_tasks: bool,
}

/// Arguments that the reply and the transcript share.
#[derive(Clone, Debug)]
pub(super) enum CallArguments {
    Called(Arc<lariat_core::content::ToolCall>),
    Replaced(Arc<Value>),
}

impl CallArguments {
    pub(super) fn get(&self) -> &Value {
        match self {
            Self::Called(call) => &call.arguments,
            Self::Replaced(arguments) => arguments,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(super) struct RunEnd {
    pub(super) outcome: RunOutcome,
    pub(super) rejection: Option<String>,
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) duration: Duration,
}

impl EndedCall {
    /// The result that the model received.
    pub(super) fn output(&self) -> String {
        let result = self.result.as_ref().and_then(|message| message.as_tool_result());
        result.map(|result| joined_text(&result.content)).unwrap_or_default()
    }
}

/// The segments of a reply. Texts are joined as the stream joins them: an empty line separates them only where a tool
/// call or another block is between them.
pub(super) fn segments(content: &[Content]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut is_apart = false;
    for block in content {
        match block {
            Content::Text { text } => {
                add_text(&mut segments, text, is_apart);
                is_apart = false;
            }
            Content::Thinking { thinking, .. } => add_thinking(&mut segments, thinking, true),
            _ => is_apart = true,
        }
    }
    segments
}

/// Adds text; `is_apart` if another block is between it and the text before.
pub(super) fn add_text(segments: &mut Vec<Segment>, text: &str, is_apart: bool) {
    if text.is_empty() {
        return;
    }
    match segments.last_mut() {
        Some(Segment::Text(before)) => {
            if is_apart {
                before.push_str("\n\n");
            }
            before.push_str(text);
        }
        _ => segments.push(Segment::Text(text.to_owned())),
    }
}

/// Adds thinking; `is_piece` if it starts a new piece.
pub(super) fn add_thinking(segments: &mut Vec<Segment>, thinking: &str, is_piece: bool) {
    if thinking.is_empty() {
        return;
    }
    match segments.last_mut() {
        Some(Segment::Thinking(pieces)) => match pieces.last_mut().filter(|_| !is_piece) {
            Some(last) => last.push_str(thinking),
            None => pieces.push(thinking.to_owned()),
        },
        _ => segments.push(Segment::Thinking(vec![thinking.to_owned()])),
    }
}
