//! Generates random conversations: many models, cancelled turns, crashes, compaction, forks.
//!
//! Messages are as irregular as journals can be and then pass through [`Transcript::repair`], as when a
//! session is opened. Invariant: the result is a transcript to which a model can reply.

use std::sync::Arc;

use lariat_core::config::ContextConfig;
use lariat_core::content::{Content, ToolCall};
use lariat_core::context::{CompactionQuery, compact_messages};
use lariat_core::event::{CompactionCause, CompactionEdit};
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, Message, SharedMessage, StopReason, ToolResultMessage,
    UserMessage,
};
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_test::SeededRandom;
use serde_json::{Value, json};

use super::replies::Replies;
use super::requests::{AUTHORS, Author};
use crate::wire::corpus::words;

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Ids that some providers send and others reject.
const ODD_IDS: &[&str] = &[
    "",
    "1",
    "a b",
    "ü",
    "call|fc_1",
    "functions.read:0",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
    "x",
    "call_0",
];

/// Names of tools that do not exist, as models make them up.
const ODD_NAMES: &[&str] = &["functions.read", "read file", "läsen", "$read", "a.b:c"];

pub(super) fn transcript(replies: &Replies, dice: &mut SeededRandom) -> Transcript {
    let mut generator = HistoryGenerator::new(replies, dice);
    let messages = generator.cut_messages();
    let (mut transcript, _) = Transcript::repair(messages);
    if generator.dice.chance(25) {
        transcript = generator.compacted(transcript);
    }
    if generator.dice.chance(20) {
        // A fork: the beginning is shared, the rest differs.
        let keep = generator.dice.index(transcript.len() + 1);
        let mut messages: Vec<SharedMessage> = transcript.window().iter().take(keep).cloned().collect();
        messages.extend(generator.cut_messages());
        transcript = Transcript::repair(messages).0;
    }
    if transcript.request().is_err() {
        let asked = generator.recorded(Message::user("Go on."));
        let pushed = transcript.push_user(asked);
        debug_assert!(pushed.is_ok());
    }
    transcript
}

struct HistoryGenerator<'a> {
    replies: &'a Replies,
    dice: &'a mut SeededRandom,
    minter: Minter,
    calls: u64,
}

impl<'a> HistoryGenerator<'a> {
    fn new(replies: &'a Replies, dice: &'a mut SeededRandom) -> Self {
        let mut minter = Minter::default();
        minter.stamp(Stamp { now: Timestamp::from_millis(1_760_000_000_000), entropy: dice.seed() });
        Self { replies, dice, minter, calls: 0 }
    }

    fn recorded(&mut self, message: impl Into<AgentMessage>) -> SharedMessage {
        let mut message = message.into();
        message.assign_id(|| MessageId::new(self.minter.uuid()));
        Arc::new(message)
    }

    /// Messages with the marks of crashes: the end is missing, or one message, or two are in the wrong order.
    fn cut_messages(&mut self) -> Vec<SharedMessage> {
        let mut messages = self.messages();
        if self.dice.chance(25) {
            messages.truncate(self.dice.index(messages.len() + 1));
        }
        if self.dice.chance(15) && !messages.is_empty() {
            messages.remove(self.dice.index(messages.len()));
        }
        if self.dice.chance(10) && messages.len() > 1 {
            let at = self.dice.index(messages.len() - 1);
            messages.swap(at, at + 1);
        }
        if self.dice.chance(5)
            && let Some(again) = self.dice.pick(&messages).cloned()
        {
            messages.push(again);
        }
        messages
    }

    fn messages(&mut self) -> Vec<SharedMessage> {
        let mut messages = Vec::new();
        let mut author = self.author();
        for _ in 0..1 + self.dice.index(9) {
            if self.dice.chance(20) {
                author = self.author();
            }
            match self.dice.index(12) {
                0..=3 => {
                    let user = self.user();
                    messages.push(self.recorded(user));
                }
                4 => messages.push(self.recorded(ExtensionMessage::new("note", json!({"n": 1})))),
                _ => self.exchange(&author, &mut messages),
            }
        }
        messages
    }

    fn author(&mut self) -> Author {
        let known = self.dice.pick(AUTHORS).copied();
        known.unwrap_or(Author {
            wire: crate::server::Wire::OpenAiChat,
            provider: "other",
            id: "some-model",
            reasoning: false,
        })
    }

    fn user(&mut self) -> Message {
        let blocks = 1 + self.dice.index(3);
        let content = (0..blocks).map(|_| self.block()).collect();
        Message::User(UserMessage::new(content))
    }

    /// A block of a prompt or of a tool result.
    fn block(&mut self) -> Content {
        match self.dice.index(20) {
            0..=12 => Content::text(words(self.dice, 8)),
            13..=15 => {
                let kinds = ["image/png", "image/jpeg", "image/webp", "image/gif"];
                let mime_type = self.dice.pick(&kinds).copied().unwrap_or("image/png").to_owned();
                Content::Image { data: PIXEL.to_owned(), mime_type }
            }
            16 => unknown(json!({"type": "mystery", "data": [1, null]})),
            17 => Content::text(" \n"),
            18 => Content::Thinking { thinking: "misplaced".to_owned(), signature: None },
            _ => Content::text("x".repeat(self.dice.index(4_000))),
        }
    }

    /// A reply of a model, and the results of its tool calls.
    fn exchange(&mut self, author: &Author, messages: &mut Vec<SharedMessage>) {
        let reply = self.reply(author);
        let calls: Vec<Arc<ToolCall>> = reply.tool_calls().cloned().collect();
        messages.push(self.recorded(Message::Assistant(reply)));
        let mut results = Vec::new();
        for call in calls {
            // The tool crashed before it ended, ran twice, or once.
            let times = match self.dice.index(20) {
                0..=1 => 0,
                2 => 2,
                _ => 1,
            };
            for _ in 0..times {
                let result = self.result(&call.id, &call.name);
                results.push(self.recorded(result));
            }
        }
        if self.dice.chance(5) {
            let orphan = self.result(&"unknown".into(), "read");
            results.push(self.recorded(orphan));
        }
        if self.dice.chance(10) {
            results.reverse();
        }
        messages.extend(results);
    }

    fn result(&mut self, id: &ToolCallId, name: &str) -> Message {
        let blocks = self.dice.index(4);
        Message::ToolResult(ToolResultMessage {
            tool_call_id: id.clone(),
            tool_name: name.to_owned(),
            content: (0..blocks).map(|_| self.block()).collect(),
            is_error: self.dice.chance(20),
            timestamp: Timestamp::default(),
        })
    }

    fn reply(&mut self, author: &Author) -> AssistantMessage {
        let mut content = self.replies.pick(author, self.dice);
        content.iter_mut().for_each(|block| self.distort(block));
        if author.provider == "anthropic" && self.dice.chance(5) {
            content.splice(0..0, server_tool(self.dice.bits()));
        }
        let paused = author.provider == "anthropic" && self.dice.chance(5);
        if self.dice.chance(4) {
            content.insert(self.dice.index(content.len() + 1), Content::text(" "));
        }
        let mut stop_reason = if content.iter().any(|block| block.as_tool_call().is_some()) {
            StopReason::ToolUse
        } else {
            let ends = [
                StopReason::Stop,
                StopReason::Stop,
                StopReason::Length,
                StopReason::Refusal,
                StopReason::ContextExceeded,
            ];
            ends.get(self.dice.index(ends.len())).copied().unwrap_or(StopReason::Stop)
        };
        if paused {
            // Only Anthropic pauses, while one of its own tools runs.
            content.retain(|block| block.as_tool_call().is_none());
            content.extend(server_tool(self.dice.bits()).into_iter().take(1));
            stop_reason = StopReason::Pause;
        } else if self.dice.chance(12) {
            stop_reason = if self.dice.chance(50) { StopReason::Aborted } else { StopReason::Error };
            content.truncate(self.dice.index(content.len() + 1));
            if let Some(last) = content.last_mut() {
                self.interrupt(last);
            }
        }
        // Providers reply with a dated name for the requested alias.
        let dated = self.dice.chance(30);
        AssistantMessage {
            content,
            stop_reason,
            model: if dated { format!("{}-20990101", author.id) } else { author.id.to_owned() },
            requested_model: dated.then(|| author.id.to_owned()),
            provider: author.provider.to_owned(),
            usage: Usage::new(10, 5),
            timestamp: Timestamp::default(),
            error_message: None,
        }
    }

    /// Distorts a block like imports, other providers and bad models do.
    fn distort(&mut self, block: &mut Content) {
        match block {
            Content::Thinking { signature, .. } if self.dice.chance(10) => *signature = None,
            Content::ToolCall(call) => {
                let mut changed = ToolCall::clone(call);
                self.calls += 1;
                changed.id = match self.dice.index(10) {
                    0..=6 => format!("call_{}_{}", self.dice.seed() % 1_000, self.calls).into(),
                    7..=8 => self.dice.pick(ODD_IDS).copied().unwrap_or_default().into(),
                    _ => changed.id,
                };
                if self.dice.chance(3) {
                    changed.name = self.dice.pick(ODD_NAMES).copied().unwrap_or_default().to_owned();
                }
                if self.dice.chance(4) {
                    changed.arguments =
                        self.dice.pick(&[Value::Null, json!([1]), json!("x")]).cloned().unwrap_or_default();
                }
                *call = Arc::new(changed);
            }
            _ => {}
        }
    }

    /// The last block of a cancelled reply: its end is missing, and so is the signature, which comes last.
    fn interrupt(&mut self, block: &mut Content) {
        match block {
            Content::Text { text } => truncate(text, self.dice),
            Content::Thinking { thinking, signature } => {
                truncate(thinking, self.dice);
                *signature = None;
            }
            _ => {}
        }
    }

    /// Compacts the conversation at random, unless that is rejected.
    fn compacted(&mut self, transcript: Transcript) -> Transcript {
        let window = transcript.window();
        let edits = if self.dice.chance(40) {
            let mut config = ContextConfig::with_window(1 + self.dice.index(4_000));
            config.keep_first = self.dice.index(3);
            config.keep_recent = self.dice.index(5);
            config.tool_output_max_lines = 1;
            let cause =
                if self.dice.chance(50) { CompactionCause::Overflow } else { CompactionCause::Threshold };
            compact_messages(&CompactionQuery::new(window, cause, config, 10_000))
        } else {
            let ids: Vec<MessageId> = window.iter().map(|message| message.id()).collect();
            let (a, b) = (self.dice.index(ids.len()), self.dice.index(ids.len()));
            let (Some(first), Some(last)) = (ids.get(a.min(b)).copied(), ids.get(a.max(b)).copied()) else {
                return transcript;
            };
            match self.dice.index(3) {
                0 => vec![CompactionEdit::ClearToolOutput { message: first }],
                1 => vec![CompactionEdit::Drop { first, last }],
                _ => {
                    let summary = self.recorded(Message::user("Summary: it went well."));
                    vec![CompactionEdit::Summarise { first, last, summary }]
                }
            }
        };
        transcript.with_edits(&edits).unwrap_or(transcript)
    }
}

fn truncate(text: &mut String, dice: &mut SeededRandom) {
    let at = dice.index(text.len() + 1);
    let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text.truncate(at);
}

fn unknown(block: Value) -> Content {
    match block {
        Value::Object(fields) => Content::Unknown(fields),
        _ => Content::text("?"),
    }
}

/// A search that Anthropic ran itself, and its results.
fn server_tool(bits: u64) -> [Content; 2] {
    let id = format!("srvtoolu_{bits:016x}");
    [
        unknown(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}})),
        unknown(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [{
            "type": "web_search_result", "title": "T", "url": "https://example.com/", "encrypted_content": "ZW5j"
        }]})),
    ]
}
