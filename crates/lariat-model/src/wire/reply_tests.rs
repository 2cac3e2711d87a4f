//! Tests which events a reply emits, and when.

use lariat_core::content::Content;
use lariat_core::message::StopReason;
use lariat_core::model::{ProviderError, StreamEvent};
use serde_json::json;

use super::*;

fn events(reply: &mut Reply) -> Vec<StreamEvent> {
    std::iter::from_fn(|| reply.next_event()).collect()
}

fn calls(reply: &mut Reply) -> Vec<(String, Value)> {
    let call = |event: StreamEvent| match event {
        StreamEvent::ToolCallEnd { call, .. } => Some((call.id.to_string(), call.arguments)),
        _ => None,
    };
    events(reply).into_iter().filter_map(call).collect()
}

/// A reply with one tool call whose arguments arrived in these pieces.
fn called(pieces: &[&str], stop: StopReason) -> Reply {
    let mut reply = Reply::default();
    reply.start("m");
    reply.call(0, "a", "read").unwrap();
    pieces.iter().for_each(|piece| reply.arguments(0, (*piece).into()).unwrap());
    reply.stop(stop);
    reply
}

#[test]
fn tool_calls_wait_for_a_clean_end() {
    let mut reply = called(&["{\"p\"", ":1}"], StopReason::ToolUse);
    assert_eq!(calls(&mut reply), []);
    reply.finish().unwrap();
    assert_eq!(calls(&mut reply), [("a".to_owned(), json!({"p": 1}))]);
}

#[test]
fn invalid_arguments_emit_no_tool_call_for_any_stop_reason() {
    for pieces in [&["{\"p\":"][..], &["{\"p\":1}}"], &["[1]"], &["\"x\""], &["{}", "{}"]] {
        for stop in [StopReason::ToolUse, StopReason::Stop] {
            let mut reply = called(pieces, stop);
            assert!(matches!(reply.finish(), Err(ProviderError::InvalidReply(_))), "{pieces:?}");
            assert!(!reply.is_done());
            assert_eq!(calls(&mut reply), []);
        }
    }
}

#[test]
fn one_invalid_tool_call_suppresses_all() {
    let mut reply = called(&["{}"], StopReason::ToolUse);
    reply.call(1, "b", "read").unwrap();
    reply.arguments(1, "{".into()).unwrap();
    assert!(reply.finish().is_err());
    assert_eq!(calls(&mut reply), []);
}

#[test]
fn truncated_reply_emits_no_tool_calls() {
    for stop in [StopReason::Length, StopReason::Refusal, StopReason::ContextExceeded] {
        let mut reply = called(&["{\"p\":1}"], stop);
        reply.finish().unwrap();
        let events = events(&mut reply);
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. })), "{stop:?}");
        assert!(matches!(events.last(), Some(StreamEvent::Done { stop_reason, .. }) if *stop_reason == stop));
    }
}

#[test]
fn missing_arguments_become_an_empty_object() {
    for pieces in [&[][..], &[" "], &["null"], &["{}"]] {
        let mut reply = called(pieces, StopReason::ToolUse);
        reply.finish().unwrap();
        assert_eq!(calls(&mut reply), [("a".to_owned(), json!({}))]);
    }
}

#[test]
fn empty_id_and_name_deltas_overwrite_nothing() {
    let mut reply = called(&[], StopReason::ToolUse);
    reply.call(0, "", "").unwrap();
    reply.finish().unwrap();
    let Some(StreamEvent::ToolCallEnd { call, .. }) = events(&mut reply).into_iter().nth(1) else { panic!() };
    assert_eq!((call.id.as_str(), call.name.as_str()), ("a", "read"));
}

#[test]
fn missing_and_repeated_ids_are_made_unique() {
    let mut reply = Reply::default();
    for (index, id) in ["", "x", "x", "", "call_0"].into_iter().enumerate() {
        reply.complete_call(index, id, "read", json!({}), None).unwrap();
    }
    reply.stop(StopReason::Stop);
    reply.finish().unwrap();
    let ids: HashSet<String> = calls(&mut reply).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 5);
    assert!(!ids.contains(""));
}

#[test]
fn tool_call_without_name_is_invalid() {
    let mut reply = Reply::default();
    reply.call(0, "a", "").unwrap();
    reply.stop(StopReason::ToolUse);
    assert!(matches!(reply.finish(), Err(ProviderError::InvalidReply(_))));
}

#[test]
fn stop_reason_is_adjusted_to_the_tool_calls() {
    let stop = |mut reply: Reply| {
        reply.finish().unwrap();
        match events(&mut reply).pop() {
            Some(StreamEvent::Done { stop_reason, .. }) => stop_reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(stop(called(&["{}"], StopReason::Stop)), StopReason::ToolUse);
    let mut plain = Reply::default();
    plain.text(0, "hi".into()).unwrap();
    plain.stop(StopReason::ToolUse);
    assert_eq!(stop(plain), StopReason::Stop);
}

#[test]
fn empty_reply_is_an_error_of_its_own() {
    let empty = |fill: fn(&mut Reply), reason| {
        let mut reply = Reply::default();
        fill(&mut reply);
        reply.stop(reason);
        reply.finish()
    };
    assert!(matches!(empty(|_| {}, StopReason::Stop), Err(ProviderError::EmptyReply(_))));
    let thinks = |reply: &mut Reply| reply.thinking(0, "hm".into()).unwrap();
    assert!(matches!(empty(thinks, StopReason::Stop), Err(ProviderError::EmptyReply(_))));
    let redacted =
        |reply: &mut Reply| reply.block(0, Content::RedactedThinking { data: "x".into() }).unwrap();
    assert!(matches!(empty(redacted, StopReason::ToolUse), Err(ProviderError::EmptyReply(_))));
    for reason in [StopReason::Refusal, StopReason::Length, StopReason::Pause, StopReason::ContextExceeded] {
        assert_eq!(empty(|_| {}, reason), Ok(()), "{reason:?} is enough");
    }
}

#[test]
fn reply_without_stop_reason_is_incomplete() {
    let mut reply = Reply::default();
    reply.text(0, "half".into()).unwrap();
    assert!(matches!(reply.finish(), Err(ProviderError::Network(_))));
}

#[test]
fn reply_size_is_limited() {
    let mut reply = Reply::default();
    let piece = "x".repeat(1024 * 1024);
    let fits = (0..64).all(|_| reply.text(0, piece.as_str().into()).is_ok());
    assert!(fits && reply.text(0, "x".into()).is_err());
    assert!(reply.complete_call(1, "a", "write", Value::Null, None).is_err());
    let mut reply = Reply::default();
    assert!((0..CALL_LIMIT).all(|n| reply.call(n, "", "read").is_ok()));
    assert!(reply.call(CALL_LIMIT, "", "read").is_err());
}

#[test]
fn start_and_done_are_emitted_once() {
    let mut reply = Reply::default();
    reply.start("m");
    reply.start("n");
    reply.text(0, "hi".into()).unwrap();
    reply.stop(StopReason::Stop);
    reply.finish().unwrap();
    reply.finish().unwrap();
    let events = events(&mut reply);
    assert_eq!(events.len(), 3);
    assert_eq!(events[0], StreamEvent::Start { model: "m".into() });
}

#[test]
fn start_after_content_is_ignored() {
    let mut reply = Reply::default();
    reply.block(0, Content::RedactedThinking { data: "x".into() }).unwrap();
    reply.start("m");
    reply.text(1, "hello".into()).unwrap();
    assert!(!events(&mut reply).iter().any(|event| matches!(event, StreamEvent::Start { .. })));
}
