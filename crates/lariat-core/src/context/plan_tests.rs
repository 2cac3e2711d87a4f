//! Tests of the built-in compaction tiers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::config::ContextConfig;
use crate::context::{ContextTracker, compact_messages};
use crate::id::MessageId;
use crate::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use crate::time::Timestamp;
use crate::transcript::{EditError, Transcript};
use crate::usage::Usage;

fn named(n: u128, message: Message) -> SharedMessage {
    let mut message = AgentMessage::from(message);
    message.assign_id(|| MessageId::new(Uuid::from_u128(n)));
    Arc::new(message)
}

/// Builds a conversation of a prompt and exchanges whose tools print `lines` lines.
fn talk(exchanges: u128, lines: usize) -> Transcript {
    let mut transcript = Transcript::new();
    transcript.push_user(named(1, Message::user("begin"))).unwrap();
    for n in 0..exchanges {
        let id = format!("c{n}");
        let reply = AssistantMessage {
            content: vec![Content::tool_call(id.as_str(), "read", json!({}))],
            stop_reason: StopReason::ToolUse,
            model: String::new(),
            provider: String::new(),
            requested_model: None,
            usage: Usage::default(),
            timestamp: Timestamp::default(),
            error_message: None,
        };
        let result = ToolResultMessage {
            tool_call_id: id.as_str().into(),
            tool_name: "read".to_owned(),
            content: vec![Content::text("line of output\n".repeat(lines))],
            is_error: false,
            timestamp: Timestamp::default(),
        };
        let reply = named(100 + 2 * n, Message::Assistant(reply));
        transcript.push_exchange(reply, vec![named(101 + 2 * n, Message::ToolResult(result))]).unwrap();
    }
    transcript
}

fn query(transcript: &Transcript, cause: CompactionCause, config: &ContextConfig) -> CompactionQuery {
    let window = transcript.window();
    let tokens = ContextTracker::of(&window, Some(config)).used_tokens();
    CompactionQuery::new(window, cause, config.clone(), tokens)
}

fn shrunk(transcript: &Transcript, query: &CompactionQuery) -> u64 {
    let overlaid = transcript.with_edits(&compact_messages(query)).unwrap();
    ContextTracker::of(&overlaid.window(), Some(&query.config)).used_tokens()
}

#[test]
fn clears_only_output_if_that_is_enough() {
    let transcript = talk(20, 100);
    let config = ContextConfig::with_window(20_000);
    let query = query(&transcript, CompactionCause::Threshold, &config);
    let edits = compact_messages(&query);
    assert!(!edits.is_empty());
    assert!(edits.iter().all(|edit| matches!(edit, CompactionEdit::ClearToolOutput { .. })));
    assert!(shrunk(&transcript, &query) <= 10_000);
}

#[test]
fn summarises_the_middle_without_splitting_exchanges() {
    let transcript = talk(200, 10);
    let config = ContextConfig::with_window(8_000);
    let query = query(&transcript, CompactionCause::Threshold, &config);
    assert!(matches!(compact_messages(&query).as_slice(), [CompactionEdit::Summarise { .. }]));
    assert!(shrunk(&transcript, &query) < query.tokens / 2);
}

#[test]
fn overflow_compacts_even_below_the_budget() {
    let transcript = talk(30, 10);
    let config = ContextConfig::with_window(1_000_000);
    let idle = query(&transcript, CompactionCause::Threshold, &config);
    assert!(compact_messages(&idle).is_empty(), "no edits below the threshold");
    let overflow = query(&transcript, CompactionCause::Overflow, &config);
    assert!(shrunk(&transcript, &overflow) < overflow.tokens);
}

/// Builds a conversation with a user message after every second exchange.
fn with_user_messages() -> Transcript {
    let mut transcript = Transcript::new();
    let mut n = 0;
    for (at, message) in talk(40, 80).window().iter().enumerate() {
        let step = message.as_tool_result().is_none();
        if step && at % 4 == 1 {
            n += 1;
            transcript.push_user(named(1_000 + n, Message::user(format!("word {n}")))).unwrap();
        }
        match message.as_llm().unwrap() {
            Message::User(_) => transcript.push_user(Arc::clone(message)).unwrap(),
            Message::Assistant(_) => {
                let results = talk(40, 80).window().iter().skip(at + 1).take(1).cloned().collect();
                transcript.push_exchange(Arc::clone(message), results).unwrap();
            }
            Message::ToolResult(_) => {}
        }
    }
    transcript
}

#[test]
fn verbatim_messages_stay_and_edits_of_them_are_refused() {
    let transcript = with_user_messages();
    let config = ContextConfig::with_window(6_000);
    let pinned = MessageId::new(Uuid::from_u128(110));
    let pins = Arc::new(BTreeSet::from([pinned]));
    let query = query(&transcript, CompactionCause::Emergency, &config).with_pins(pins);
    let (edits, kept) = (compact_messages(&query), query.verbatim());
    let after = transcript.with_edits_keeping(&edits, |id| kept.contains(id)).unwrap();
    let stays: Vec<_> =
        transcript.window().iter().filter(|message| kept.contains(message.id())).cloned().collect();
    let left: Vec<_> = after.window().iter().filter(|message| kept.contains(message.id())).cloned().collect();
    assert_eq!(stays, left);
    assert!(stays.len() > 25 && after.len() < transcript.len());
    let last = transcript.last().unwrap().id();
    for id in [pinned, last, MessageId::new(Uuid::from_u128(1_003))] {
        let edits = [CompactionEdit::Drop { first: id, last: id }];
        let refused = transcript.with_edits_keeping(&edits, |id| kept.contains(id)).unwrap_err();
        assert_eq!(refused, EditError::Verbatim(id));
    }
}

#[test]
fn pinned_output_keeps_its_whole_exchange() {
    let transcript = talk(60, 80);
    let config = ContextConfig::with_window(6_000);
    let output = MessageId::new(Uuid::from_u128(141));
    let query = query(&transcript, CompactionCause::Emergency, &config);
    let without = transcript.with_edits(&compact_messages(&query)).unwrap();
    assert!(without.window().iter().all(|message| message.id() != output));
    let query = query.with_pins(Arc::new(BTreeSet::from([output])));
    let with = transcript.with_edits(&compact_messages(&query)).unwrap();
    let pair = [140, 141].map(|n| MessageId::new(Uuid::from_u128(n)));
    assert!(pair.iter().all(|id| with.window().iter().any(|message| message.id() == *id)));
}

#[test]
fn single_very_long_line_is_long() {
    let line = named(
        1,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: "read".to_owned(),
            content: vec![Content::text("x".repeat(50_000))],
            is_error: false,
            timestamp: Timestamp::default(),
        }),
    );
    assert!(is_long(&line, 50));
}

#[test]
fn clears_oldest_first_and_only_as_many_as_needed() {
    let transcript = talk(20, 100);
    let mut config = ContextConfig::with_window(9_000);
    config.system_prompt_tokens = 0;
    let query = query(&transcript, CompactionCause::Threshold, &config);
    let cleared: Vec<MessageId> = compact_messages(&query)
        .iter()
        .map(|edit| match edit {
            CompactionEdit::ClearToolOutput { message } => *message,
            other => panic!("{other:?}"),
        })
        .collect();
    let outputs: Vec<MessageId> = (0..20).map(|n| MessageId::new(Uuid::from_u128(101 + 2 * n))).collect();
    assert_eq!(cleared.as_slice(), &outputs[..cleared.len()]);
    assert!((9..15).contains(&cleared.len()), "{}", cleared.len());
}

#[test]
fn last_step_stays_even_with_keep_recent_zero() {
    let mut transcript = talk(20, 3);
    let note = AgentMessage::note("date", "It is Monday. ".repeat(50));
    let Message::User(note) = note.as_llm().unwrap().clone() else { unreachable!() };
    transcript.push_user(named(900, Message::User(note))).unwrap();
    let mut config = ContextConfig::with_window(400);
    (config.system_prompt_tokens, config.keep_first, config.keep_recent) = (0, 0, 0);
    let query = query(&transcript, CompactionCause::Overflow, &config);
    let after = transcript.with_edits(&compact_messages(&query)).unwrap();
    assert_eq!(after.last().unwrap().id(), MessageId::new(Uuid::from_u128(900)));
}
