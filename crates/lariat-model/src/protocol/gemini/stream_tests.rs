//! Tests replies that follow the protocol, and all the ways they can go wrong.

use lariat_core::content::ToolCall;
use lariat_core::message::StopReason;
use lariat_core::model::{ProviderError, StreamEvent};
use serde_json::json;

use super::*;
use crate::protocol::gemini::decoder;

/// Decodes a body; returns its events and how it ended.
fn read(body: &str) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    let mut decoder = decoder();
    let result = decoder.feed(body.as_bytes()).and_then(|()| decoder.end());
    (std::iter::from_fn(|| decoder.next_event()).collect(), result)
}

fn events(frames: &[Value]) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    let body: String = frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect();
    read(&body)
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "m"})
}

fn last(parts: Value, reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": parts}, "finishReason": reason}], "modelVersion": "m"})
}

fn done(stop_reason: StopReason) -> StreamEvent {
    StreamEvent::Done { stop_reason, usage: Usage::default() }
}

fn start() -> StreamEvent {
    StreamEvent::Start { model: "m".into() }
}

fn text(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::TextDelta { index, delta: delta.into() }
}

fn call_events(
    index: usize,
    id: &str,
    name: &str,
    arguments: Value,
    signature: Option<&str>,
) -> [StreamEvent; 2] {
    let delta = arguments.to_string();
    let call =
        ToolCall { id: id.into(), name: name.into(), arguments, signature: signature.map(str::to_owned) };
    [StreamEvent::ToolCallDelta { index, delta }, StreamEvent::ToolCallEnd { index, call }]
}

#[test]
fn decodes_reply_with_thoughts_text_signature_and_usage() {
    let body = concat!(
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Let me \",\"thought\": true}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 11,\"totalTokenCount\": 30,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 11}],\"thoughtsTokenCount\": 19},\"modelVersion\": \"gemini-3-pro-preview\",\"responseId\": \"abc\"}\r\n\r\n",
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"see.\",\"thought\": true}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Four\"}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" it is \\u00e9\"}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\",\"thoughtSignature\": \"c2ln\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 11,\"cachedContentTokenCount\": 4,\"candidatesTokenCount\": 5,\"toolUsePromptTokenCount\": 2,\"totalTokenCount\": 37,\"thoughtsTokenCount\": 19}}\r\n\r\n",
    );
    let (events, result) = read(body);
    result.unwrap();
    let usage =
        Usage { input: 9, output: 24, cache_read: 4, reasoning: 19, total_tokens: 37, ..Usage::default() };
    assert_eq!(
        events,
        [
            StreamEvent::Start { model: "gemini-3-pro-preview".into() },
            StreamEvent::ThinkingDelta { index: 0, delta: "Let me ".into() },
            StreamEvent::ThinkingDelta { index: 0, delta: "see.".into() },
            text(2, "Four"),
            text(2, " it is é"),
            StreamEvent::ThinkingSignature { index: 1, signature: "c2ln".into() },
            StreamEvent::Done { stop_reason: StopReason::Stop, usage },
        ]
    );
}

#[test]
fn complete_tool_calls_keep_signatures_and_get_missing_ids() {
    let (events, result) = events(&[
        parts(json!([{"text": "Hm", "thought": true, "thoughtSignature": "t"}])),
        parts(json!([
            {"functionCall": {"id": "x1", "name": "read", "args": {"p": 1}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "read", "args": {"p": 2}}},
            {"functionCall": {"id": 7, "name": "now"}},
            {"functionCall": {"id": "x1", "name": "now", "args": null}},
        ])),
        last(json!([{"text": ""}]), "STOP"),
    ]);
    result.unwrap();
    let [d1, e1] = call_events(1, "x1", "read", json!({"p": 1}), Some("s"));
    let [d2, e2] = call_events(2, "call_2", "read", json!({"p": 2}), None);
    let [d3, e3] = call_events(3, "7", "now", json!({}), None);
    let [d4, e4] = call_events(4, "call_4", "now", json!({}), None);
    assert_eq!(
        events,
        [
            start(),
            StreamEvent::ThinkingDelta { index: 0, delta: "Hm".into() },
            StreamEvent::ThinkingSignature { index: 0, signature: "t".into() },
            d1,
            d2,
            d3,
            d4,
            e1,
            e2,
            e3,
            e4,
            done(StopReason::ToolUse),
        ]
    );
}

#[test]
fn text_after_a_signed_text_starts_a_new_block() {
    let (events, result) = events(&[
        parts(json!([{"text": "A", "thoughtSignature": "s1"}, {"text": "B"}])),
        parts(json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thoughtSignature": "s2"}])),
        last(json!([{"text": "C"}]), "STOP"),
    ]);
    result.unwrap();
    let signature =
        |index, signature: &str| StreamEvent::ThinkingSignature { index, signature: signature.into() };
    let content = Content::Image { data: "AA==".into(), mime_type: "image/png".into() };
    assert_eq!(
        events,
        [
            start(),
            text(1, "A"),
            signature(0, "s1"),
            text(3, "B"),
            signature(4, "s2"),
            StreamEvent::Block { index: 5, content },
            text(7, "C"),
            done(StopReason::Stop),
        ]
    );
}

#[test]
fn keeps_unknown_parts_and_drops_empty_ones() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "s"});
    let (events, result) = events(&[
        parts(json!([{}, {"futureThing": {}}, {"text": null}, code])),
        last(json!([{"text": "1"}]), "STOP"),
    ]);
    result.unwrap();
    let content = Content::Unknown(code.as_object().unwrap().clone());
    assert_eq!(
        events,
        [start(), StreamEvent::Block { index: 0, content }, text(2, "1"), done(StopReason::Stop)]
    );
}

#[test]
fn maps_every_finish_reason() {
    let rows = [
        ("STOP", StopReason::Stop),
        ("MAX_TOKENS", StopReason::Length),
        ("CONTINUATION", StopReason::Length),
        ("SAFETY", StopReason::Refusal),
        ("RECITATION", StopReason::Refusal),
        ("LANGUAGE", StopReason::Refusal),
        ("BLOCKLIST", StopReason::Refusal),
        ("PROHIBITED_CONTENT", StopReason::Refusal),
        ("SPII", StopReason::Refusal),
        ("IMAGE_SAFETY", StopReason::Refusal),
        ("IMAGE_PROHIBITED_CONTENT", StopReason::Refusal),
        ("IMAGE_RECITATION", StopReason::Refusal),
        ("NO_IMAGE", StopReason::Stop),
        ("SOMETHING_NEW", StopReason::Stop),
    ];
    for (reason, stop) in rows {
        let (events, result) = events(&[last(json!([{"text": "x"}]), reason)]);
        result.unwrap();
        assert_eq!(events.last(), Some(&done(stop)), "{reason}");
    }
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MALFORMED_RESPONSE",
        "OTHER",
        "IMAGE_OTHER",
    ] {
        let error = events(&[last(json!([]), reason)]).1.unwrap_err();
        assert!(matches!(error, ProviderError::InvalidReply(_)) && error.is_retryable(), "{reason}: {error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let error = events(&[last(json!([]), "MISSING_THOUGHT_SIGNATURE")]).1.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
}

#[test]
fn error_contains_the_finish_message() {
    let frame = json!({"candidates": [{
        "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(x",
    }]});
    let error = events(&[frame]).1.unwrap_err().to_string();
    assert!(error.contains("print(x"), "{error}");
}

#[test]
fn truncated_or_refused_reply_emits_no_tool_calls() {
    let call = json!([{"functionCall": {"name": "read", "args": {}}}]);
    for reason in ["MAX_TOKENS", "SAFETY"] {
        let (events, result) = events(&[last(call.clone(), reason)]);
        result.unwrap();
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. })), "{reason}");
    }
}

#[test]
fn blocked_prompt_is_a_refusal() {
    let frame = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}, "modelVersion": "m"});
    let (events, result) = events(&[frame]);
    result.unwrap();
    let usage = Usage { input: 3, ..Usage::default() };
    assert_eq!(events, [start(), StreamEvent::Done { stop_reason: StopReason::Refusal, usage }]);
}

#[test]
fn stream_that_ends_before_a_finish_reason_is_a_network_error() {
    for frames in
        [vec![], vec![parts(json!([{"text": "Half"}]))], vec![last(json!([]), "FINISH_REASON_UNSPECIFIED")]]
    {
        let error = events(&frames).1.unwrap_err();
        assert!(matches!(error, ProviderError::Network(_)), "{error}");
    }
}

#[test]
fn reply_without_content_is_an_empty_reply_error() {
    for parts in [json!([]), json!(null), json!([{"text": ""}]), json!([{"text": "hm", "thought": true}])] {
        let error = events(&[last(parts, "STOP")]).1.unwrap_err();
        assert!(matches!(error, ProviderError::EmptyReply(_)), "{error}");
    }
}

#[test]
fn invalid_frames_are_an_invalid_reply() {
    for body in ["data: {\"candidates\": [\n\n", "data: <html>\n\n", "data: [1]\n\n", "data: 1\n\n"] {
        let error = read(body).1.unwrap_err();
        assert!(matches!(error, ProviderError::InvalidReply(_)), "{body}: {error}");
    }
}

#[test]
fn tolerates_nulls_unknown_fields_other_candidates_and_done() {
    let body = concat!(
        ": comment\n\n",
        "event: ping\ndata: {}\n\n",
        "data: {\"candidates\": null, \"usageMetadata\": null, \"promptFeedback\": null, \"modelVersion\": null, \"x\": [1]}\n\n",
        "data: {\"candidates\": [{\"index\": 1, \"content\": {\"parts\": [{\"text\": \"other\"}]}}, {\"index\": 0, \"content\": null}]}\n\n",
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"ok\", \"thought\": null, \"thoughtSignature\": null, \"functionCall\": null}]}, \"finishReason\": null}]}\n\n",
        "data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let (events, result) = read(body);
    result.unwrap();
    assert_eq!(events, [StreamEvent::Start { model: String::new() }, text(1, "ok"), done(StopReason::Stop)]);
}

#[test]
fn error_after_status_200_is_classified_and_ends_the_stream() {
    let frame =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let (events, result) = events(&[parts(json!([{"text": "Half"}])), frame]);
    assert_eq!(events, [start(), text(1, "Half")]);
    assert!(matches!(result.unwrap_err(), ProviderError::RateLimited(_)));
}

#[test]
fn tool_call_without_name_or_object_arguments_is_not_emitted() {
    for call in
        [json!({"args": {}}), json!({"name": "read", "args": [1]}), json!({"name": "read", "args": "x"})]
    {
        let (events, result) = events(&[last(json!([{"functionCall": call}]), "STOP")]);
        assert!(matches!(result.unwrap_err(), ProviderError::InvalidReply(_)));
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. })));
    }
}

#[test]
fn events_do_not_depend_on_chunk_boundaries() {
    let body = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"é\\u20ac𝄞\"}]}}],\"modelVersion\":\"m\"}\r\n\r\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n";
    let whole = read(body);
    for cut in 0..=body.len() {
        let mut decoder = decoder();
        let (first, second) = body.as_bytes().split_at(cut);
        decoder.feed(first).unwrap();
        decoder.feed(second).unwrap();
        let result = decoder.end();
        let events: Vec<StreamEvent> = std::iter::from_fn(|| decoder.next_event()).collect();
        assert_eq!((events, result), whole.clone(), "cut at {cut}");
    }
}
