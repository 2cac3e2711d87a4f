//! Tests replies that follow the protocol, and replies that violate it.

use lariat_core::content::ToolCall;
use lariat_core::model::StreamEvent;
use serde_json::json;

use super::*;
use crate::wire::{Decoder, Framing};

fn decoded(stream: &str) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    let mut decoder = Decoder::new(Framing::sse(), MessagesInterpreter::default());
    let fed = decoder.feed(stream.as_bytes()).and_then(|()| decoder.end());
    (std::iter::from_fn(|| decoder.next_event()).collect(), fed)
}

fn events(stream: &str) -> Vec<StreamEvent> {
    let (events, ended) = decoded(stream);
    ended.unwrap();
    events
}

/// A stream of events, each named after its type.
fn stream(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5-20250929", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 25, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 1}}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    let usage = json!({"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 11}});
    let closing = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage});
    [closing, json!({"type": "message_stop"})]
}

fn reply(blocks: &[Value], reason: &str) -> String {
    stream(&[&[start()], blocks, &end(reason)].concat())
}

fn text(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::TextDelta { index, delta: delta.into() }
}

fn stops_with(events: &[StreamEvent]) -> StopReason {
    match events.last() {
        Some(StreamEvent::Done { stop_reason, .. }) => *stop_reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn decodes_thinking_text_and_parallel_tool_calls() {
    let blocks = [
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let \"me\" "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "see."})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB=="})),
        stop(0),
        block(1, json!({"type": "redacted_thinking", "data": "opaque=="})),
        stop(1),
        block(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Größe 📏"})),
        stop(2),
        block(3, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ".txt\"}"})),
        stop(3),
        block(4, json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}})),
        stop(4),
    ];
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        signature: None,
    };
    let thinking = |delta: &str| StreamEvent::ThinkingDelta { index: 0, delta: delta.into() };
    let arguments = |delta: &str| StreamEvent::ToolCallDelta { index: 3, delta: delta.into() };
    let usage = Usage {
        input: 25,
        output: 40,
        cache_read: 3,
        cache_write: 7,
        total_tokens: 75,
        reasoning: 11,
        ..Usage::default()
    };
    assert_eq!(
        events(&reply(&blocks, "tool_use")),
        [
            StreamEvent::Start { model: "claude-sonnet-4-5-20250929".into() },
            thinking("Let \"me\" "),
            thinking("see."),
            StreamEvent::ThinkingSignature { index: 0, signature: "EqQB==".into() },
            StreamEvent::Block { index: 1, content: Content::RedactedThinking { data: "opaque==".into() } },
            text(2, "Größe 📏"),
            arguments("{\"path\": \"a"),
            arguments(".txt\"}"),
            StreamEvent::ToolCallEnd { index: 3, call: call("toolu_1", "read", json!({"path": "a.txt"})) },
            StreamEvent::ToolCallEnd { index: 4, call: call("toolu_2", "now", json!({})) },
            StreamEvent::Done { stop_reason: StopReason::ToolUse, usage },
        ]
    );
}

#[test]
fn maps_every_stop_reason() {
    let said = [block(0, json!({"type": "text", "text": "x"})), stop(0)];
    let cases = [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("pause_turn", StopReason::Pause),
        ("refusal", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        ("something_new", StopReason::Stop),
    ];
    for (reason, mapped) in cases {
        assert_eq!(stops_with(&events(&reply(&said, reason))), mapped, "{reason}");
    }
}

#[test]
fn provider_tool_blocks_are_emitted_whole() {
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://a.example", "encrypted_content": "E=="}]});
    let blocks = [
        block(0, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"query\":"})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "\"rust\"}"})),
        stop(0),
        block(1, found.clone()),
        stop(1),
        block(2, json!({"type": "text", "text": "", "citations": []})),
        delta(2, json!({"type": "citations_delta", "citation": {"type": "web_search_result_location"}})),
        delta(2, json!({"type": "text_delta", "text": "Found."})),
        stop(2),
    ];
    let whole = |index: usize, block: Value| StreamEvent::Block {
        index,
        content: Content::Unknown(block.as_object().unwrap().clone()),
    };
    let asked = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rust"}});
    let events = events(&reply(&blocks, "pause_turn"));
    assert_eq!(events[1..4], [whole(0, asked), whole(1, found), text(2, "Found.")]);
}

#[test]
fn unknown_deltas_extend_unknown_blocks() {
    let blocks = [
        block(0, json!({"type": "compaction", "content": "a"})),
        delta(0, json!({"type": "compaction_delta", "content": "b", "more": 1})),
        block(1, json!({"type": "text", "text": "x"})),
    ];
    let events = events(&reply(&blocks, "end_turn"));
    let grown = json!({"type": "compaction", "content": "ab", "more": 1});
    assert!(
        events.contains(&StreamEvent::Block { index: 0, content: serde_json::from_value(grown).unwrap() })
    );
}

#[test]
fn truncated_provider_tool_call_is_dropped() {
    let blocks = [
        block(0, json!({"type": "text", "text": "x"})),
        block(1, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"qu"})),
    ];
    assert_eq!(events(&reply(&blocks, "max_tokens")).len(), 3);
}

#[test]
fn tolerates_unknown_events_null_fields_and_numeric_ids() {
    let blocks = [
        json!({"type": "brand_new", "index": null, "data": [1]}),
        block(0, json!({"type": "text", "text": null})),
        delta(0, json!({"type": "text_delta", "text": null})),
        delta(0, json!({"type": "brand_new_delta", "x": 1})),
        delta(0, json!({"type": "text_delta", "text": "ok"})),
        json!({"type": "content_block_start", "index": 9, "content_block": null}),
        json!({"type": "content_block_stop", "index": 77}),
        json!({"type": "message_delta", "delta": null, "usage": null}),
        block(1, json!({"type": "tool_use", "id": 7, "name": "read", "input": null})),
        stop(1),
    ];
    let events = events(&reply(&blocks, "tool_use"));
    assert_eq!(events[1], text(0, "ok"));
    assert!(matches!(&events[2], StreamEvent::ToolCallEnd { call, .. } if call.id.as_str() == "7"));
}

#[test]
fn events_without_a_name_are_recognised_by_type() {
    let named = reply(&[block(0, json!({"type": "text", "text": "x"}))], "end_turn");
    let unnamed: String =
        named.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect();
    assert_eq!(events(&unnamed), events(&named));
}

#[test]
fn blocks_with_the_same_number_stay_separate() {
    let blocks = [
        block(0, json!({"type": "text", "text": "a"})),
        block(0, json!({"type": "tool_use", "id": "x", "name": "read", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"n\":1}"})),
        block(0, json!({"type": "tool_use", "id": "x", "name": "read", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"n\":2}"})),
    ];
    let events = events(&reply(&blocks, "tool_use"));
    let calls: Vec<(&str, &Value)> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolCallEnd { call, .. } => Some((call.id.as_str(), &call.arguments)),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("x", &json!({"n": 1})), ("call_2", &json!({"n": 2}))]);
}

#[test]
fn accepts_deltas_without_start_and_input_sent_with_the_start() {
    let blocks = [
        delta(0, json!({"type": "text_delta", "text": "a"})),
        block(1, json!({"type": "tool_use", "id": "x", "name": "read", "input": {"n": 1}})),
        stop(1),
    ];
    let events = events(&reply(&blocks, "tool_use"));
    assert_eq!(events[1], text(0, "a"));
    assert!(matches!(&events[3], StreamEvent::ToolCallEnd { call, .. } if call.arguments == json!({"n": 1})));
}

#[test]
fn invalid_or_truncated_arguments_emit_no_tool_call() {
    let half = |reason: &str| {
        let blocks = [
            block(0, json!({"type": "text", "text": "x"})),
            block(1, json!({"type": "tool_use", "id": "x", "name": "read", "input": {}})),
            delta(1, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a"})),
        ];
        decoded(&reply(&blocks, reason))
    };
    let called =
        |events: &[StreamEvent]| events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. }));
    let (events, ended) = half("tool_use");
    assert!(matches!(ended, Err(ProviderError::InvalidReply(_))) && !called(&events));
    let (events, ended) = half("max_tokens");
    assert!(ended.is_ok() && !called(&events));
    assert_eq!(stops_with(&events), StopReason::Length);
}

#[test]
fn tool_call_without_arguments_or_end_is_not_emitted() {
    let call = block(0, json!({"type": "tool_use", "id": "x", "name": "read", "input": {}}));
    let begun = |reason: &str| decoded(&reply(std::slice::from_ref(&call), reason));
    assert!(matches!(begun("tool_use").1, Err(ProviderError::InvalidReply(_))));
    assert!(begun("max_tokens").1.is_ok());
    assert!(decoded(&reply(&[call, stop(0)], "tool_use")).1.is_ok());
}

#[test]
fn error_event_after_status_200_is_classified_by_its_type() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    for before in [
        String::new(),
        stream(&[start()]),
        stream(&[start(), block(0, json!({"type": "text", "text": "x"}))]),
    ] {
        let (_, ended) = decoded(&format!("{before}{overloaded}"));
        assert!(matches!(ended, Err(ProviderError::RateLimited(_))), "{ended:?}");
    }
    let unnamed = overloaded.trim_start_matches("event: error\n");
    assert!(matches!(decoded(unnamed).1, Err(ProviderError::RateLimited(_))));
}

#[test]
fn stream_cut_at_any_point_is_an_error() {
    let whole = reply(&[block(0, json!({"type": "text", "text": "x"})), stop(0)], "end_turn");
    let frames: Vec<&str> = whole.split_inclusive("\n\n").collect();
    for kept in 0..frames.len() {
        let (events, ended) = decoded(&frames[..kept].concat());
        assert!(matches!(ended, Err(ProviderError::Network(_))), "{kept}: {ended:?}");
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::Done { .. })));
    }
}

#[test]
fn end_without_stop_reason_or_content_is_an_error() {
    let said = [start(), block(0, json!({"type": "text", "text": "x"})), json!({"type": "message_stop"})];
    assert!(matches!(decoded(&stream(&said)).1, Err(ProviderError::Network(_))));
    assert!(matches!(decoded(&reply(&[], "end_turn")).1, Err(ProviderError::EmptyReply(_))));
}

#[test]
fn invalid_json_is_an_invalid_reply() {
    for data in ["<html>", "{", "[DONE]", "{\"type\":3}"] {
        let (_, ended) = decoded(&format!("event: message_start\ndata: {data}\n\n"));
        assert!(matches!(ended, Err(ProviderError::InvalidReply(_))), "{data}");
    }
}

#[test]
fn missing_usage_is_zero_and_absurd_usage_does_not_overflow() {
    let most = u64::MAX;
    let usage = json!({"input_tokens": most, "output_tokens": most, "cache_read_input_tokens": most});
    let frames = [
        json!({"type": "message_start", "message": {"model": "m"}}),
        block(0, json!({"type": "text", "text": "x"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let done = StreamEvent::Done { stop_reason: StopReason::Stop, usage: Usage::default() };
    assert_eq!(events(&stream(&frames)).last(), Some(&done));
    let mut absurd = frames.clone();
    absurd[2]["usage"] = usage;
    assert!(matches!(events(&stream(&absurd)).last(), Some(StreamEvent::Done { .. })));
}

#[test]
fn too_many_blocks_are_an_error() {
    let one = stream(&[block(0, json!({"type": "text", "text": ""}))]);
    let (_, ended) = decoded(&one.repeat(BLOCK_LIMIT + 1));
    assert!(matches!(ended, Err(ProviderError::InvalidReply(_))));
}
