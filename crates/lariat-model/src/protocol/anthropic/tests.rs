//! Tests that any valid history makes a request that passes validation, and that appending gives the same
//! request as building from scratch.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{SharedMessage, StopReason};
use lariat_core::model::{RequestMemo, StreamConfig};
use lariat_core::transcript::Transcript;
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::{MODEL, image, model, reply_of, result, thinking, unknown, user};
use super::request::build;

/// Blocks of every kind, valid and invalid.
pub(crate) fn any_block() -> impl Strategy<Value = Content> {
    let ids = prop_oneof![Just("a"), Just("b"), Just("call|fc_1"), Just("ünïcode"), Just("")];
    let names = prop_oneof![Just("read"), Just("my.tool"), Just("führe aus")];
    let server = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []});
    prop_oneof![
        4 => Just(Content::text("words \"quoted\"\n")),
        1 => Just(Content::text(" ")),
        1 => Just(thinking("hm", None)),
        2 => Just(thinking("hm", Some("sig"))),
        1 => Just(thinking("", Some("sig"))),
        1 => Just(image("image/png")),
        1 => Just(image("image/tiff")),
        1 => Just(Content::RedactedThinking { data: "x".into() }),
        1 => Just(unknown(server)),
        1 => Just(unknown(found)),
        1 => Just(unknown(json!({"no": "type"}))),
        4 => (ids, names).prop_map(|(id, name)| Content::tool_call(id, name, json!({"n": 1}))),
    ]
}

/// Messages in the orders that crashes, cancellations, imports and model changes leave behind.
pub(crate) fn any_messages(own: (&'static str, &'static str)) -> impl Strategy<Value = Vec<SharedMessage>> {
    let stop = prop_oneof![
        Just(StopReason::ToolUse),
        Just(StopReason::Stop),
        Just(StopReason::Aborted),
        Just(StopReason::Pause),
        Just(StopReason::Length),
    ];
    let who = prop_oneof![2 => Just(own), 1 => Just(("openai", "gpt-5"))];
    let ids = prop_oneof![Just("a"), Just("b"), Just("call|fc_1"), Just("ünïcode"), Just("")];
    let blocks = || proptest::collection::vec(any_block(), 0..5);
    let message = prop_oneof![
        2 => blocks().prop_map(user),
        4 => (who, stop, blocks()).prop_map(|(who, stop, content)| reply_of(who, stop, content)),
        4 => (ids, blocks()).prop_map(|(id, content)| result(id, content)),
    ];
    proptest::collection::vec(message, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn valid_history_always_passes_validation(given in any_messages(("anthropic", MODEL))) {
        let (transcript, _) = Transcript::repair(given);
        if let Ok(window) = transcript.request() {
            let built = build(&StreamConfig::new(Arc::new(model(MODEL)), window));
            prop_assert!(built.is_ok(), "{:?}", built);
        }
    }

    #[test]
    fn appended_body_equals_one_built_from_scratch(given in any_messages(("anthropic", MODEL))) {
        let (transcript, _) = Transcript::repair(given);
        let messages: Vec<SharedMessage> = transcript.window().iter().cloned().collect();
        let memo = RequestMemo::default();
        for length in 1..=messages.len() {
            let (part, repairs) = Transcript::repair(messages[..length].iter().cloned());
            let (true, Ok(window)) = (repairs.is_empty(), part.request()) else { continue };
            let mut grown = StreamConfig::new(Arc::new(model(MODEL)), window);
            let fresh = build(&grown).unwrap();
            grown.memo = memo.clone();
            prop_assert_eq!(build(&grown).unwrap().body, fresh.body);
        }
    }
}
