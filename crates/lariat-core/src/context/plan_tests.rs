//! The built-in tiers: what they clear, what they drop, what they keep.

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
use crate::transcript::{OverlayError, Transcript};
use crate::usage::Usage;

fn named(n: u128, message: Message) -> SharedMessage {
    let mut message = AgentMessage::from(message);
    message.assign_id(|| MessageId::new(Uuid::from_u128(n)));
    Arc::new(message)
}

/// A question, then exchanges whose tools print so many lines.
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
    let tokens = ContextTracker::of(&window, Some(config)).used();
    CompactionQuery::new(window, cause, config.clone(), tokens)
}

fn shrunk(transcript: &Transcript, query: &CompactionQuery) -> u64 {
    let overlaid = transcript.overlaid(&compact_messages(query)).unwrap();
    ContextTracker::of(&overlaid.window(), Some(&query.config)).used()
}

#[test]
fn clearing_old_output_is_enough_when_it_makes_room() {
    let transcript = talk(20, 100);
    let config = ContextConfig::with_window(20_000);
    let query = query(&transcript, CompactionCause::Threshold, &config);
    let edits = compact_messages(&query);
    assert!(!edits.is_empty());
    assert!(edits.iter().all(|edit| matches!(edit, CompactionEdit::ClearToolOutput { .. })));
    assert!(shrunk(&transcript, &query) <= 10_000);
}

#[test]
fn the_middle_is_dropped_when_clearing_is_not_enough_and_no_exchange_is_cut() {
    let transcript = talk(200, 10);
    let config = ContextConfig::with_window(8_000);
    let query = query(&transcript, CompactionCause::Threshold, &config);
    assert!(matches!(compact_messages(&query).as_slice(), [CompactionEdit::Summarise { .. }]));
    assert!(shrunk(&transcript, &query) < query.tokens / 2);
}

#[test]
fn an_overflow_makes_room_although_the_estimate_is_far_below_the_budget() {
    let transcript = talk(30, 10);
    let config = ContextConfig::with_window(1_000_000);
    let idle = query(&transcript, CompactionCause::Threshold, &config);
    assert!(compact_messages(&idle).is_empty(), "nothing to do while there is room");
    let overflow = query(&transcript, CompactionCause::Overflow, &config);
    assert!(shrunk(&transcript, &overflow) < overflow.tokens);
}

/// A conversation with a person's word after every second exchange.
fn talked_over() -> Transcript {
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
fn what_must_stay_stays_and_the_machine_would_refuse_anything_else() {
    let transcript = talked_over();
    let config = ContextConfig::with_window(6_000);
    let pinned = MessageId::new(Uuid::from_u128(110));
    let pins = Arc::new(BTreeSet::from([pinned]));
    let query = query(&transcript, CompactionCause::Emergency, &config).with_pins(pins);
    let (edits, kept) = (compact_messages(&query), query.verbatim());
    let after = transcript.overlaid_keeping(&edits, |id| kept.contains(id)).unwrap();
    let stays: Vec<_> =
        transcript.window().iter().filter(|message| kept.contains(message.id())).cloned().collect();
    let left: Vec<_> = after.window().iter().filter(|message| kept.contains(message.id())).cloned().collect();
    assert_eq!(stays, left);
    assert!(stays.len() > 25 && after.len() < transcript.len());
    let last = transcript.last().unwrap().id();
    for id in [pinned, last, MessageId::new(Uuid::from_u128(1_003))] {
        let edits = [CompactionEdit::Drop { first: id, last: id }];
        let refused = transcript.overlaid_keeping(&edits, |id| kept.contains(id)).unwrap_err();
        assert_eq!(refused, OverlayError::Verbatim(id));
    }
}

#[test]
fn a_pinned_output_keeps_its_whole_exchange() {
    let transcript = talk(60, 80);
    let config = ContextConfig::with_window(6_000);
    let output = MessageId::new(Uuid::from_u128(141));
    let query = query(&transcript, CompactionCause::Emergency, &config);
    let without = transcript.overlaid(&compact_messages(&query)).unwrap();
    assert!(without.window().iter().all(|message| message.id() != output));
    let query = query.with_pins(Arc::new(BTreeSet::from([output])));
    let with = transcript.overlaid(&compact_messages(&query)).unwrap();
    let pair = [140, 141].map(|n| MessageId::new(Uuid::from_u128(n)));
    assert!(pair.iter().all(|id| with.window().iter().any(|message| message.id() == *id)));
}

#[test]
fn a_single_endless_line_of_output_is_long() {
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
fn the_oldest_go_first_and_no_more_than_needed() {
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
