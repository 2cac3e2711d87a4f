//! Test data for the screen: events of a run, hostile text, and checks of the output.

use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::event::{
    AgentEvent, ArgsRef, Event, EventRecord, FORMAT_VERSION, LoopConfigSnapshot, LoopStart, MessageRef,
    RecordedMessage, RunOutcome, StreamDelta, TurnTrigger,
};
use lariat_core::id::{EventId, MessageId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::time::Timestamp;
use lariat_core::usage::{Cost, Usage};
use lariat_test::SeededRandom;
use serde_json::Value;

/// The start time of the samples.
pub(crate) const AT: u64 = 1_780_000_000_000;

/// A time in milliseconds after the start.
pub(crate) const fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(AT + millis)
}

pub(crate) fn event(millis: u64, event: AgentEvent) -> Event {
    Arc::new(EventRecord {
        v: FORMAT_VERSION,
        seq: 1,
        id: EventId::new(uuid::Uuid::from_u128(99)),
        timestamp: at(millis),
        loop_id: Some("s.c.1".into()),
        event,
    })
}

fn message(number: u128, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage {
        id: MessageId::new(uuid::Uuid::from_u128(number)),
        turn_id: None,
        message,
    }))
}

pub(crate) fn reply(content: Vec<Content>, usage: Usage) -> SharedMessage {
    message(
        1,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason: StopReason::Stop,
            model: "m".to_owned(),
            requested_model: None,
            provider: "p".to_owned(),
            usage,
            timestamp: at(0),
            error_message: None,
        }),
    )
}

/// A loop starts, with a context window of 100,000 tokens.
pub(crate) fn loop_start(millis: u64) -> Event {
    let mut start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    let mut config = LoopConfigSnapshot::default();
    config.context_window = 100_000;
    config.model = "m".to_owned();
    start.config = Some(Arc::new(config));
    event(millis, AgentEvent::AgentStart(Box::new(start)))
}

pub(crate) fn turn_start(millis: u64, turn_index: u32) -> Event {
    event(millis, AgentEvent::TurnStart { turn_index, triggered_by: TurnTrigger::User })
}

pub(crate) fn reply_start(millis: u64) -> Event {
    let message = MessageRef::resolved(reply(Vec::new(), Usage::default()));
    event(millis, AgentEvent::MessageStart { message })
}

pub(crate) fn delta(millis: u64, delta: StreamDelta) -> Event {
    let message = MessageRef::resolved(reply(Vec::new(), Usage::default()));
    event(millis, AgentEvent::MessageUpdate { message, delta })
}

pub(crate) fn text_delta(millis: u64, text: &str) -> Event {
    delta(millis, StreamDelta::Text { delta: text.to_owned() })
}

pub(crate) fn reply_end(millis: u64, text: &str) -> Event {
    let message = RecordedMessage::Full(reply(vec![Content::text(text)], usage()));
    event(millis, AgentEvent::MessageEnd { message })
}

/// The usage of each sample turn.
pub(crate) fn usage() -> Usage {
    Usage { cache_read: 30_000, cost: Cost::from_nano_usd(12_300_000), ..Usage::new(4_000, 1_000) }
}

pub(crate) fn turn_end(millis: u64) -> Event {
    let message = MessageRef::resolved(reply(Vec::new(), usage()));
    event(millis, AgentEvent::TurnEnd { message, usage: usage(), tool_results: Vec::new() })
}

/// A tool result without an execution.
pub(crate) fn result(millis: u64, id: &str, name: &str, text: &str, is_error: bool) -> Event {
    let result = ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.to_owned(),
        content: vec![Content::text(text)],
        is_error,
        timestamp: at(millis),
    };
    let message = RecordedMessage::Full(message(3, Message::ToolResult(result)));
    event(millis, AgentEvent::MessageEnd { message })
}

pub(crate) fn tool_start(millis: u64, id: &str, name: &str, arguments: Value) -> Event {
    let call = ToolCall { id: id.into(), name: name.to_owned(), arguments, signature: None };
    let args = ArgsRef::Called(Arc::new(call));
    let start = AgentEvent::ToolExecutionStart { tool_call_id: id.into(), tool_name: name.to_owned(), args };
    event(millis, start)
}

/// A tool execution ends with a text and details, or an error.
pub(crate) fn tool_end(millis: u64, id: &str, name: &str, result: Result<(&str, Value), &str>) -> Event {
    let is_error = result.is_err();
    let (text, details) = result.unwrap_or_else(|error| (error, Value::Null));
    let message = message(
        2,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: name.to_owned(),
            content: vec![Content::text(text)],
            is_error,
            timestamp: at(millis),
        }),
    );
    let end = AgentEvent::ToolExecutionEnd {
        tool_call_id: id.into(),
        tool_name: name.to_owned(),
        message: MessageRef::resolved(message),
        details,
        is_error,
        child_loop_id: None,
    };
    event(millis, end)
}

pub(crate) fn loop_end(millis: u64, outcome: RunOutcome) -> Event {
    event(millis, AgentEvent::AgentEnd { messages: Vec::new(), usage: usage(), outcome, rejection: None })
}

/// Removes our own sequences from an output: styles, links and redraws.
pub(crate) fn without_sequences(output: &str) -> String {
    let mut left = String::new();
    let mut rest = output;
    while let Some(letter) = rest.chars().next() {
        rest = match ours(rest) {
            Some(after) => after,
            None => {
                left.push(letter);
                &rest[letter.len_utf8()..]
            }
        };
    }
    left
}

fn ours(text: &str) -> Option<&str> {
    if let Some(after) = text.strip_prefix("\u{1b}[K").or_else(|| text.strip_prefix("\u{1b}[J")) {
        return Some(after);
    }
    // The bottom has at most six rows.
    for rows in 1..=6 {
        if let Some(after) = text.strip_prefix(&format!("\r\u{1b}[{rows}A")) {
            return Some(after);
        }
    }
    // The status line is drawn and erased from the start of its line.
    if let Some(after) = text.strip_prefix('\r')
        && after.starts_with(|letter| matches!(letter, '\u{1b}' | '\u{2800}'..='\u{28ff}'))
    {
        return Some(after);
    }
    if let Some(style) = text.strip_prefix("\u{1b}[") {
        let end = style.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'))?;
        return style[end..].strip_prefix('m');
    }
    let link = text.strip_prefix("\u{1b}]8;;")?;
    let end = link.find(|letter: char| !letter.is_ascii_graphic())?;
    link[end..].strip_prefix("\u{1b}\\")
}

/// Fails if an output can do anything to a terminal except print and style text.
pub(crate) fn assert_harmless(output: &str, context: &str) {
    let left = without_sequences(output);
    let is_bad = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{e0000}'..='\u{e0fff}')
    };
    assert!(!left.contains(is_bad), "{context}\n{left:?}");
}

/// Random text that is difficult for Markdown, terminals and readers.
pub(crate) fn hostile(dice: &mut SeededRandom) -> String {
    const PIECES: &[&str] = &[
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;x\u{1b}\\",
        "\u{9b}31m",
        "\u{90}",
        "\r",
        "\u{8}",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{e0041}",
        "\u{feff}",
        "\0",
        "&#27;[2J",
        "&#x202e;",
        "\n",
        "\n",
        "\n\n",
        "  ",
        "    ",
        "\t",
        "# ",
        "## x",
        "- ",
        "* a\n",
        "1. ",
        "7) b\n",
        "> ",
        ">> q\n",
        "```",
        "```rust\n",
        "~~~\n",
        "fn a() { \"x\" }",
        "// c",
        "**",
        "*",
        "_",
        "`",
        "``",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n",
        "|",
        "---\n",
        "===\n",
        "[t](https://x.y/\u{1b}\\z)",
        "[t](<file:///a b>)",
        "![i](u)",
        "<https://a.b>",
        "[x]: y\n",
        "<b>",
        "<!-- ",
        "- [x] done\n",
        "\\",
        "漢字",
        "👩‍💻",
        "e\u{301}",
        "word ",
        "a",
        "(",
        "]",
        "\u{a0}",
        "⟨U+001B⟩",
    ];
    let count = dice.below(40);
    let mut text = String::new();
    for _ in 0..count {
        if dice.below(12) == 0 {
            let bytes: Vec<u8> = (0..dice.below(6)).map(|_| dice.bits() as u8).collect();
            text.push_str(&String::from_utf8_lossy(&bytes));
        } else {
            text.push_str(PIECES[dice.below(PIECES.len() as u64) as usize]);
        }
    }
    text
}
