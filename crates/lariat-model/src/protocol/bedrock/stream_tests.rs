//! Tests replies that follow the protocol, and replies that violate it.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use lariat_core::content::ToolCall;
use lariat_core::model::StreamEvent;
use lariat_core::usage::Usage;

use super::*;
use crate::wire::{Decoder, Framing};

fn framed(headers: &[(&'static str, &str)], payload: &str) -> Vec<u8> {
    let mut message = Message::new(payload.as_bytes().to_vec());
    for (name, value) in headers {
        message = message.add_header(Header::new(*name, HeaderValue::String((*value).to_owned().into())));
    }
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

fn event(name: &str, mut payload: Value) -> Vec<u8> {
    payload["p"] = "abcdefgh".into();
    framed(
        &[(":event-type", name), (":content-type", "application/json"), (":message-type", "event")],
        &payload.to_string(),
    )
}

fn exception(name: &str, payload: Value) -> Vec<u8> {
    framed(&[(":exception-type", name), (":message-type", "exception")], &payload.to_string())
}

fn start() -> Vec<u8> {
    event("messageStart", json!({"role": "assistant"}))
}

fn delta(index: u64, delta: Value) -> Vec<u8> {
    event("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}))
}

fn called(index: u64, id: Value, name: &str) -> Vec<u8> {
    let call = json!({"toolUse": {"toolUseId": id, "name": name}});
    event("contentBlockStart", json!({"contentBlockIndex": index, "start": call}))
}

fn stop(index: u64) -> Vec<u8> {
    event("contentBlockStop", json!({"contentBlockIndex": index}))
}

fn stopped(reason: &str) -> Vec<u8> {
    event("messageStop", json!({"stopReason": reason}))
}

fn metadata() -> Vec<u8> {
    let usage = json!({"inputTokens": 25, "outputTokens": 40, "totalTokens": 75,
        "cacheReadInputTokens": 3, "cacheWriteInputTokens": 7});
    event("metadata", json!({"usage": usage, "metrics": {"latencyMs": 12}}))
}

fn decoded(frames: &[Vec<u8>]) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    let mut decoder = Decoder::new(Framing::aws(), ConverseInterpreter::default());
    let fed = decoder.feed(&frames.concat()).and_then(|()| decoder.end());
    (std::iter::from_fn(|| decoder.next_event()).collect(), fed)
}

fn events(frames: &[Vec<u8>]) -> Vec<StreamEvent> {
    let (events, ended) = decoded(frames);
    ended.unwrap();
    events
}

fn text(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::TextDelta { index, delta: delta.into() }
}

fn done(stop_reason: StopReason) -> StreamEvent {
    let usage =
        Usage { input: 25, output: 40, cache_read: 3, cache_write: 7, total_tokens: 75, ..Usage::default() };
    StreamEvent::Done { stop_reason, usage }
}

#[test]
fn decodes_reasoning_text_and_parallel_tool_calls() {
    let frames = [
        start(),
        delta(0, json!({"reasoningContent": {"text": "Let \"me\" see."}})),
        delta(0, json!({"reasoningContent": {"signature": "Eq"}})),
        delta(0, json!({"reasoningContent": {"signature": "QB"}})),
        stop(0),
        delta(1, json!({"reasoningContent": {"redactedContent": "b3BhcXVl"}})),
        stop(1),
        delta(2, json!({"text": "Größe"})),
        delta(2, json!({"text": ""})),
        stop(2),
        called(3, json!("tooluse_1"), "read"),
        delta(3, json!({"toolUse": {"input": "{\"path\":"}})),
        delta(3, json!({"toolUse": {"input": "\"a\"}"}})),
        stop(3),
        called(4, json!("tooluse_2"), "now"),
        stop(4),
        stopped("tool_use"),
        metadata(),
    ];
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        signature: None,
    };
    let arguments = |delta: &str| StreamEvent::ToolCallDelta { index: 3, delta: delta.into() };
    assert_eq!(
        events(&frames),
        [
            StreamEvent::Start { model: String::new() },
            StreamEvent::ThinkingDelta { index: 0, delta: "Let \"me\" see.".into() },
            StreamEvent::ThinkingSignature { index: 0, signature: "EqQB".into() },
            StreamEvent::Block { index: 1, content: Content::RedactedThinking { data: "b3BhcXVl".into() } },
            text(2, "Größe"),
            arguments("{\"path\":"),
            arguments("\"a\"}"),
            StreamEvent::ToolCallEnd { index: 3, call: call("tooluse_1", "read", json!({"path": "a"})) },
            StreamEvent::ToolCallEnd { index: 4, call: call("tooluse_2", "now", json!({})) },
            done(StopReason::ToolUse),
        ]
    );
}

#[test]
fn maps_every_stop_reason() {
    let ended =
        |reason: &str| decoded(&[start(), delta(0, json!({"text": "x"})), stopped(reason), metadata()]);
    let cases = [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("guardrail_intervened", StopReason::Refusal),
        ("content_filtered", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        ("something_new", StopReason::Stop),
    ];
    for (reason, mapped) in cases {
        let (events, result) = ended(reason);
        assert_eq!((events.last(), result), (Some(&done(mapped)), Ok(())), "{reason}");
    }
    for reason in ["malformed_model_output", "malformed_tool_use"] {
        assert!(matches!(ended(reason).1, Err(ProviderError::InvalidReply(_))), "{reason}");
    }
}

#[test]
fn reply_completes_with_metadata_or_at_the_end_of_the_body() {
    let said = || vec![start(), delta(0, json!({"text": "x"}))];
    let with = |more: Vec<Vec<u8>>| events(&[said(), more].concat());
    assert_eq!(with(vec![stopped("end_turn"), metadata()]).last(), Some(&done(StopReason::Stop)));
    assert_eq!(with(vec![metadata(), stopped("end_turn")]).last(), Some(&done(StopReason::Stop)));
    let uncounted = StreamEvent::Done { stop_reason: StopReason::Stop, usage: Usage::default() };
    assert_eq!(with(vec![stopped("end_turn")]).last(), Some(&uncounted));
}

#[test]
fn stream_that_ends_before_the_stop_reason_is_an_error() {
    let frames = [start(), delta(0, json!({"text": "x"})), stop(0), stopped("end_turn")];
    let bytes = frames.concat();
    let reason = frames[3].len();
    for kept in 0..bytes.len() - reason {
        let (events, ended) = decoded(&[bytes[..kept].to_vec()]);
        assert!(matches!(ended, Err(ProviderError::Network(_))), "{kept}: {ended:?}");
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::Done { .. })));
    }
}

#[test]
fn classifies_exception_at_any_point_of_the_stream() {
    let cases = [
        ("throttlingException", "rate limited: because"),
        ("modelStreamErrorException", "network: because"),
        ("internalServerException", "network: because"),
        ("serviceUnavailableException", "network: because"),
        ("validationException", "provider: because"),
    ];
    for (name, shown) in cases {
        let failed = exception(name, json!({"message": "because"}));
        let frames = [start(), delta(0, json!({"text": "x"})), stopped("end_turn")];
        for kept in 0..=frames.len() {
            let mut frames = frames[..kept].to_vec();
            frames.push(failed.clone());
            assert_eq!(decoded(&frames).1.unwrap_err().to_string(), shown, "{name} after {kept}");
        }
    }
    let headers =
        [(":message-type", "error"), (":error-code", "InternalError"), (":error-message", "broken")];
    assert!(decoded(&[framed(&headers, "")]).1.unwrap_err().to_string().contains("broken"));
}

#[test]
fn provider_tool_blocks_are_emitted_whole() {
    let begun = |index: u64, start: Value| {
        event("contentBlockStart", json!({"contentBlockIndex": index, "start": start}))
    };
    let frames = [
        start(),
        begun(0, json!({"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}})),
        delta(0, json!({"toolUse": {"input": "{\"q\":1}"}})),
        stop(0),
        begun(
            1,
            json!({"toolResult": {"toolUseId": "s", "type": "nova_grounding_result", "status": "success"}}),
        ),
        delta(1, json!({"toolResult": [{"text": "a"}]})),
        delta(1, json!({"toolResult": [{"json": {"b": 1}}]})),
        stop(1),
        begun(2, json!({"image": {"format": "png"}})),
        delta(2, json!({"image": {"source": {"bytes": "AA=="}}})),
        delta(3, json!({"citation": {"title": "t"}})),
        delta(3, json!({"text": "Found."})),
        stopped("end_turn"),
        metadata(),
    ];
    let whole = |index: usize, block: Value| StreamEvent::Block {
        index,
        content: Content::Unknown(block.as_object().unwrap().clone()),
    };
    let events = events(&frames);
    let asked = json!({"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use", "input": {"q": 1}}});
    let found = json!({"toolResult": {"toolUseId": "s", "type": "nova_grounding_result", "status": "success",
        "content": [{"text": "a"}, {"json": {"b": 1}}]}});
    let image = json!({"image": {"format": "png", "source": {"bytes": "AA=="}}});
    assert_eq!(events[1..5], [whole(0, asked), whole(1, found), text(3, "Found."), whole(2, image)]);
}

#[test]
fn tolerates_unknown_events_null_fields_numeric_ids_and_repeated_numbers() {
    let frames = [
        event("brandNew", json!({"x": 1})),
        event("contentBlockDelta", json!({"contentBlockIndex": null, "delta": null})),
        event("contentBlockStart", json!({"start": null})),
        delta(0, json!({"text": null, "toolUse": null, "reasoningContent": null})),
        called(0, json!(7), "read"),
        delta(0, json!({"toolUse": {"input": null}})),
        called(0, json!("7"), "read"),
        stopped("end_turn"),
        event("metadata", json!({"usage": null})),
    ];
    let ids: Vec<String> = events(&frames)
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolCallEnd { call, .. } => Some(call.id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["7", "call_2"]);
}

#[test]
fn invalid_or_truncated_arguments_emit_no_tool_call() {
    let half = |reason: &str| {
        let input = delta(1, json!({"toolUse": {"input": "{\"path\": \"a"}}));
        decoded(&[
            delta(0, json!({"text": "x"})),
            called(1, json!("a"), "read"),
            input,
            stopped(reason),
            metadata(),
        ])
    };
    let calls =
        |events: &[StreamEvent]| events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. }));
    let (events, ended) = half("tool_use");
    assert!(matches!(ended, Err(ProviderError::InvalidReply(_))) && !calls(&events));
    let (events, ended) = half("max_tokens");
    assert!(ended.is_ok() && !calls(&events));
    assert_eq!(events.last(), Some(&done(StopReason::Length)));
}

#[test]
fn invalid_json_damaged_frame_or_empty_reply_is_an_error() {
    let broken = framed(&[(":event-type", "messageStart"), (":message-type", "event")], "<html>");
    assert!(matches!(decoded(&[broken]).1, Err(ProviderError::InvalidReply(_))));
    let mut damaged = start();
    damaged[20] ^= 1;
    assert!(matches!(decoded(&[damaged]).1, Err(ProviderError::InvalidReply(_))));
    let silent = [start(), stopped("end_turn"), metadata()];
    assert!(matches!(decoded(&silent).1, Err(ProviderError::EmptyReply(_))));
}

#[test]
fn too_many_blocks_are_an_error() {
    let frames: Vec<Vec<u8>> = vec![called(0, json!("a"), "read"); BLOCK_LIMIT + 1];
    assert!(matches!(decoded(&frames).1, Err(ProviderError::InvalidReply(_))));
}
