//! The built-in tiers: what they clear, what they drop, what they keep.

use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::id::MessageId;
use crate::message::{AgentMessage, AssistantMessage, StopReason, ToolResultMessage};
use crate::time::Timestamp;
use crate::transcript::Transcript;

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
    assert!(shrunk(&transcript, &query) <= config.budget() as u64 / 2);
}

#[test]
fn the_middle_is_dropped_when_clearing_is_not_enough_and_no_exchange_is_cut() {
    let transcript = talk(200, 10);
    let config = ContextConfig::with_window(8_000);
    let query = query(&transcript, CompactionCause::Threshold, &config);
    assert!(matches!(compact_messages(&query).as_slice(), [CompactionEdit::Drop { .. }]));
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
