use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::content::Content;
use crate::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use crate::time::Timestamp;
use crate::transcript::Transcript;
use crate::usage::Usage;

/// Builds exchanges with `results` results each of about `tokens` tokens; ids count from 1.
fn talk(exchanges: u128, results: u128, tokens: usize) -> Transcript {
    let mut transcript = Transcript::new();
    let mut next = 0;
    let mut named = |message: Message| {
        next += 1;
        let mut message = AgentMessage::from(message);
        message.assign_id(|| MessageId::new(Uuid::from_u128(next)));
        Arc::new(message)
    };
    transcript.push_user(named(Message::user("begin"))).unwrap();
    for n in 0..exchanges {
        let call = |at: u128| format!("c{n}-{at}");
        let reply = AssistantMessage {
            content: (0..results)
                .map(|at| Content::tool_call(call(at).as_str(), "read", json!({})))
                .collect(),
            stop_reason: StopReason::ToolUse,
            model: String::new(),
            provider: String::new(),
            requested_model: None,
            usage: Usage::default(),
            timestamp: Timestamp::default(),
            error_message: None,
        };
        let reply = named(Message::Assistant(reply));
        let result = |at: u128| ToolResultMessage {
            tool_call_id: call(at).as_str().into(),
            tool_name: "read".to_owned(),
            content: vec![Content::text("word ".repeat(tokens))],
            is_error: false,
            timestamp: Timestamp::default(),
        };
        let results = (0..results).map(|at| named(Message::ToolResult(result(at)))).collect();
        transcript.push_exchange(reply, results).unwrap();
    }
    transcript
}

fn kept(transcript: &Transcript, window: usize, recent: usize) -> Vec<usize> {
    let mut config = ContextConfig::with_window(window);
    (config.keep_first, config.keep_recent) = (0, recent);
    let verbatim = VerbatimMessages::of(&transcript.window(), &config, &BTreeSet::new());
    // The first message is the user's.
    let messages = transcript.window();
    let kept = messages.iter().enumerate().skip(1).filter(|(_, message)| verbatim.contains(message.id()));
    kept.map(|(at, _)| at).collect()
}

#[test]
fn newest_messages_that_fit_are_kept() {
    assert_eq!(kept(&talk(5, 1, 100), 100_000, 4), [7, 8, 9, 10]);
    assert_eq!(kept(&talk(5, 1, 100), 100_000, 0), [0; 0]);
    assert_eq!(kept(&talk(1, 1, 100), 100_000, 10), [1, 2]);
}

#[test]
fn newest_messages_use_at_most_a_quarter_of_the_window() {
    let talk = talk(5, 1, 1_000);
    let size = |at: usize| message_tokens(talk.window().iter().nth(at).unwrap());
    let two = usize::try_from(size(7) + size(8) + size(9) + size(10)).unwrap();
    assert_eq!(kept(&talk, 4 * two, 10), [7, 8, 9, 10]);
    assert_eq!(kept(&talk, 4 * two - 4, 10), [8, 9, 10], "the reply that does not fit is not kept");
}

#[test]
fn unanswered_messages_always_stay() {
    let talk = talk(2, 3, 1_000);
    assert_eq!(kept(&talk, 1_000, 10), [5, 6, 7, 8], "a reply with all its results");
    assert_eq!(kept(&talk, 1_000, 2), [7, 8], "but at most `keep_recent`");
}
