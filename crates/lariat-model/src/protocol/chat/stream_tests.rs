use lariat_core::content::ToolCall;
use lariat_core::message::Message;
use lariat_core::model::StreamEvent;
use lariat_core::usage::Usage as Counted;
use serde_json::json;

use super::*;
use crate::protocol::chat::Chat;
use crate::protocol::chat::fixtures::{decode, model, request, sse};

/// Decodes a stream the way a provider sends it.
fn events_of(provider: &str, lines: &[&str]) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    decode(&Chat, &request(model(provider, "m"), [Message::user("x")]), &sse(lines))
}

fn events(lines: &[&str]) -> Vec<StreamEvent> {
    let (events, outcome) = events_of("generic", lines);
    outcome.expect("the stream must be complete");
    events
}

fn failure(lines: &[&str]) -> ProviderError {
    let (events, outcome) = events_of("generic", lines);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, StreamEvent::ToolCallEnd { .. } | StreamEvent::Done { .. }))
    );
    outcome.expect_err("the stream must fail")
}

fn calls(events: &[StreamEvent]) -> Vec<(usize, &str, &str, String)> {
    let call = |event| match event {
        &StreamEvent::ToolCallEnd { index, call: ToolCall { ref id, ref name, ref arguments, .. } } => {
            Some((index, id.as_str(), name.as_str(), arguments.to_string()))
        }
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

fn stop(events: &[StreamEvent]) -> StopReason {
    match events.last() {
        Some(StreamEvent::Done { stop_reason, .. }) => *stop_reason,
        other => panic!("no end but {other:?}"),
    }
}

fn text(delta: &str) -> StreamEvent {
    StreamEvent::TextDelta { index: TEXT, delta: delta.into() }
}

fn thought(delta: &str) -> StreamEvent {
    StreamEvent::ThinkingDelta { index: REASONING, delta: delta.into() }
}

fn all_text(events: &[StreamEvent]) -> String {
    let delta = |event: &StreamEvent| match event {
        StreamEvent::TextDelta { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

#[test]
fn decodes_openai_reply_into_events_in_order() {
    let stream = [
        r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-2025","service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}"#,
        r#"{"model":"gpt-4.1-2025","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":null}"#,
        r#"{"model":"gpt-4.1-2025","choices":[{"index":0,"delta":{"content":" \"you\""},"finish_reason":null}]}"#,
        r#"{"model":"gpt-4.1-2025","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"model":"gpt-4.1-2025","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":6},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        "[DONE]",
    ];
    let usage = Counted {
        input: 30,
        output: 20,
        cache_read: 64,
        cache_write: 6,
        total_tokens: 120,
        reasoning: 5,
        ..Counted::default()
    };
    assert_eq!(
        events(&stream),
        [
            StreamEvent::Start { model: "gpt-4.1-2025".into() },
            text("Hi"),
            text(" \"you\""),
            StreamEvent::Done { stop_reason: StopReason::Stop, usage },
        ]
    );
}

const BEGIN: &str = r#"{"model":"m","choices":[{"delta":{"content":"a"}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const CALLS: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

#[test]
fn parallel_tool_calls_arrive_in_deltas_and_are_emitted_at_the_end() {
    let stream = [
        r#"{"model":"m","choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":":1}"}}]}}]}"#,
        CALLS,
        "[DONE]",
    ];
    let events = events(&stream);
    assert_eq!(
        calls(&events),
        [(2, "call_a", "read", r#"{"p":1}"#.into()), (3, "call_b", "list", "{}".into())]
    );
    assert_eq!(stop(&events), StopReason::ToolUse);
    assert!(events.iter().position(|e| matches!(e, StreamEvent::ToolCallEnd { .. })) > Some(3));
}

#[test]
fn tool_calls_that_all_have_number_0_stay_separate() {
    let stream = [
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"x","arguments":"{\"n\":2}"}}]}}]}"#,
        CALLS,
    ];
    assert_eq!(
        calls(&events(&stream)),
        [(2, "a", "x", r#"{"n":1}"#.into()), (3, "b", "x", r#"{"n":2}"#.into())]
    );
}

#[test]
fn accepts_numeric_missing_and_repeated_ids() {
    let call = |fields: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{{fields},"function":{{"name":"x","arguments":"{{}}"}}}}]}}}}]}}"#
        )
    };
    let ids = |fields: [&str; 2]| -> Vec<String> {
        let [a, b] = fields.map(call);
        calls(&events(&[&a, &b, CALLS])).iter().map(|call| call.1.to_owned()).collect()
    };
    assert_eq!(ids([r#""index":0,"id":17"#, r#""index":1,"id":18"#]), ["17", "18"]);
    assert_eq!(ids([r#""index":0,"id":"a""#, r#""index":1,"id":"a""#]), ["a", "call_3"]);
    assert_eq!(ids([r#""index":0"#, r#""index":1"#]), ["call_2", "call_3"]);
    assert_eq!(ids([r#""type":"function""#, r#""type":"function""#]), ["call_2", "call_3"]);
    assert_eq!(ids([r#""index":"0","id":null"#, r#""index":"1","id":null"#]), ["call_2", "call_3"]);
}

#[test]
fn accepts_arguments_as_object_null_or_missing() {
    for (arguments, expected) in [(r#"{"a":1}"#, r#"{"a":1}"#), ("null", "{}"), (r#""""#, "{}")] {
        let line = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"a","function":{{"name":"x","arguments":{arguments}}}}}]}}}}]}}"#
        );
        assert_eq!(calls(&events(&[&line, CALLS])), [(2, "a", "x", expected.into())]);
    }
}

#[test]
fn invalid_arguments_emit_no_tool_call() {
    for arguments in [r#"{\"a\":"#, r#"[1]"#, r#"{\"a\":1}}"#, "7"] {
        let line = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"a","function":{{"name":"x","arguments":"{arguments}"}}}}]}}}}]}}"#
        );
        assert!(matches!(failure(&[&line, CALLS, "[DONE]"]), ProviderError::InvalidReply(_)), "{arguments}");
    }
}

#[test]
fn truncated_reply_emits_no_tool_call_even_if_arguments_parse() {
    let call = r#"{"choices":[{"delta":{"content":"t","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}"#;
    let events = events(&[call, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, "[DONE]"]);
    assert_eq!((calls(&events).len(), stop(&events)), (0, StopReason::Length));
}

#[test]
fn tool_calls_with_finish_reason_stop_are_emitted() {
    let call =
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}"#;
    assert_eq!(stop(&events(&[call, STOP])), StopReason::ToolUse);
}

#[test]
fn legacy_function_call_is_a_tool_call() {
    let stream = [
        r#"{"model":"m","choices":[{"delta":{"function_call":{"name":"x","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"a\":1}"}}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
    ];
    assert_eq!(calls(&events(&stream)), [(2, "call_2", "x", r#"{"a":1}"#.into())]);
}

#[test]
fn reads_reasoning_from_either_field_and_only_once() {
    for field in ["reasoning_content", "reasoning"] {
        let line = format!(r#"{{"model":"m","choices":[{{"delta":{{"{field}":"hm","content":null}}}}]}}"#);
        assert_eq!(events(&[&line, BEGIN, STOP])[1], thought("hm"), "{field}");
    }
    let both = r#"{"model":"m","choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#;
    assert_eq!(events(&[both, BEGIN, STOP])[1..3], [thought("hm"), text("a")]);
}

#[test]
fn accepts_content_as_a_list_of_parts_with_thinking() {
    let line = r#"{"model":"m","choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"},"!",{"type":"reference"}]}}]}"#;
    assert_eq!(events(&[line, STOP])[1..4], [thought("hm"), text("yes"), text("!")]);
}

#[test]
fn reasoning_details_are_merged_and_kept_unchanged() {
    let stream = [
        r#"{"model":"m","choices":[{"delta":{"reasoning":"one ","reasoning_details":[{"type":"reasoning.text","text":"one ","index":0,"format":"f"}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"two","reasoning_details":[{"type":"reasoning.text","text":"two","index":0,"format":"f"}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"s==","index":0,"text":null}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"ok","reasoning_details":[{"type":"reasoning.encrypted","data":"e1","id":"a","index":1}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"e2","id":"b","index":1}]}}]}"#,
        STOP,
        "[DONE]",
    ];
    let (events, outcome) = events_of("openrouter", &stream);
    outcome.unwrap();
    assert_eq!(events[1..4], [thought("one "), thought("two"), text("ok")]);
    let StreamEvent::ThinkingSignature { index: REASONING, signature } = &events[4] else {
        panic!("{events:?}")
    };
    assert_eq!(
        serde_json::from_str::<Value>(signature).unwrap(),
        json!([
            {"type": "reasoning.text", "text": "one two", "signature": "s==", "index": 0, "format": "f"},
            {"type": "reasoning.encrypted", "data": "e1", "id": "a", "index": 1},
            {"type": "reasoning.encrypted", "data": "e2", "id": "b", "index": 1},
        ])
    );
}

#[test]
fn reasoning_details_alone_emit_their_text() {
    let line = r#"{"model":"m","choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"sum","index":0}]}}]}"#;
    assert_eq!(events_of("minimax", &[line, BEGIN, STOP]).0[1], thought("sum"));
}

#[test]
fn maps_finish_reasons_of_every_provider() {
    for (word, expected) in [
        ("stop", StopReason::Stop),
        ("eos", StopReason::Stop),
        ("something new", StopReason::Stop),
        ("length", StopReason::Length),
        ("max_tokens", StopReason::Length),
        ("content_filter", StopReason::Refusal),
        ("sensitive", StopReason::Refusal),
        ("model_length", StopReason::ContextExceeded),
        ("tool_calls", StopReason::Stop),
    ] {
        let line = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        assert_eq!(stop(&events(&[BEGIN, &line])), expected, "{word}");
    }
    for word in ["error", "insufficient_system_resource", "network_error", "abort"] {
        let line = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        assert!(matches!(failure(&[BEGIN, &line, "[DONE]"]), ProviderError::Network(_)), "{word}");
    }
}

#[test]
fn refusal_is_emitted_as_text_with_stop_reason_refusal() {
    let refusal = r#"{"model":"m","choices":[{"delta":{"refusal":"I cannot"}}]}"#;
    let events = events(&[refusal, STOP, "[DONE]"]);
    assert_eq!((&events[1], stop(&events)), (&text("I cannot"), StopReason::Refusal));
}

#[test]
fn stream_end_requires_a_finish_reason() {
    assert_eq!(stop(&events(&[BEGIN, STOP])), StopReason::Stop, "[DONE] is not required");
    assert!(matches!(failure(&[BEGIN]), ProviderError::Network(_)));
    assert!(
        matches!(failure(&[BEGIN, "[DONE]"]), ProviderError::Network(_)),
        "[DONE] is not a finish reason"
    );
    assert!(matches!(failure(&[]), ProviderError::Network(_)));
    assert!(matches!(failure(&[STOP, "[DONE]"]), ProviderError::EmptyReply(_)));
}

#[test]
fn ignores_everything_after_the_end() {
    let events = events(&[BEGIN, STOP, "[DONE]", r#"{"error":{"message":"late"}}"#, "garbage"]);
    assert_eq!(stop(&events), StopReason::Stop);
}

#[test]
fn invalid_json_frame_is_an_invalid_reply() {
    for frame in ["<html>", "{", r#"{"choices":[{"delta":"#] {
        assert!(matches!(failure(&[BEGIN, frame, STOP]), ProviderError::InvalidReply(_)), "{frame}");
    }
}

#[test]
fn tolerates_chunks_without_choices_and_unknown_or_null_fields() {
    let odd = [
        r#"{"model":"","choices":[],"prompt_filter_results":[]}"#,
        r#"{"model":"m","choices":null,"new":{"x":[1]}}"#,
        r#"{"model":"m"}"#,
        r#"{"model":"m","choices":[{"delta":null,"finish_reason":null,"logprobs":{}}]}"#,
        r#"{"model":"m","choices":[{"delta":{"content":null,"tool_calls":null,"reasoning_details":null,"refusal":null,"function_call":null,"audio":{}}}],"usage":null,"error":null,"x_groq":null}"#,
        BEGIN,
        STOP,
    ];
    assert_eq!(all_text(&events(&odd)), "a");
}

#[test]
fn reads_a_complete_message_in_one_chunk() {
    let line = r#"{"model":"m","choices":[{"message":{"role":"assistant","content":"all"},"finish_reason":"stop"}]}"#;
    assert_eq!(all_text(&events(&[line])), "all");
}

fn usage(lines: &[&str]) -> Counted {
    match events(lines).pop() {
        Some(StreamEvent::Done { usage, .. }) => usage,
        other => panic!("{other:?}"),
    }
}

#[test]
fn finds_usage_wherever_a_provider_puts_it() {
    let tokens = r#"{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14}"#;
    let places = [
        format!(r#"{{"choices":[],"usage":{tokens}}}"#),
        format!(r#"{{"choices":[{{"delta":{{}}}}],"usage":{tokens}}}"#),
        format!(r#"{{"choices":[{{"delta":{{}},"usage":{tokens}}}]}}"#),
        format!(r#"{{"choices":[],"x_groq":{{"id":"r","usage":{tokens}}}}}"#),
    ];
    for place in &places {
        let usage = usage(&[BEGIN, STOP, place, "[DONE]"]);
        assert_eq!((usage.input, usage.output, usage.total_tokens), (10, 4, 14), "{place}");
    }
    assert_eq!(usage(&[BEGIN, STOP]), Counted::default(), "missing usage is tolerated");
}

#[test]
fn repeated_usage_is_not_summed_and_zeros_do_not_erase_it() {
    let at = |n: u32| {
        format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":10,"completion_tokens":{n},"total_tokens":{}}}}}"#,
            10 + n
        )
    };
    let zeros = r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#;
    let usage = usage(&[BEGIN, &at(1), &at(2), STOP, &at(3), zeros]);
    assert_eq!((usage.input, usage.output), (10, 3));
}

#[test]
fn counts_cached_and_reasoning_tokens_in_every_dialect() {
    let of = |fields: &str| usage(&[BEGIN, STOP, &format!(r#"{{"choices":[],"usage":{{{fields}}}}}"#)]);
    let deepseek = of(
        r#""prompt_tokens":10,"completion_tokens":4,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4"#,
    );
    assert_eq!((deepseek.input, deepseek.cache_read), (4, 6));
    let moonshot = of(r#""prompt_tokens":10,"completion_tokens":4,"cached_tokens":7"#);
    assert_eq!((moonshot.input, moonshot.cache_read), (3, 7));
    let xai = of(
        r#""prompt_tokens":10,"completion_tokens":4,"total_tokens":30,"completion_tokens_details":{"reasoning_tokens":16}"#,
    );
    assert_eq!((xai.output, xai.reasoning), (20, 16));
    let odd = of(
        r#""prompt_tokens":"10","completion_tokens":4.0,"total_tokens":null,"prompt_tokens_details":{"cached_tokens":99}"#,
    );
    assert_eq!((odd.input, odd.cache_read, odd.output), (0, 10, 4));
}

#[test]
fn classifies_errors_anywhere_in_the_stream() {
    type Kind = fn(&ProviderError) -> bool;
    let limited: Kind = |error| matches!(error, ProviderError::RateLimited(_));
    let broken: Kind = |error| matches!(error, ProviderError::Network(_));
    let rejected: Kind = |error| matches!(error, ProviderError::Api(_));
    let overflow: Kind = |error| matches!(error, ProviderError::ContextOverflow(_));
    for (frame, kind) in [
        (r#"{"error":{"message":"The server had an error","type":"server_error"}}"#, broken),
        (r#"{"error":{"message":"busy","code":"rate_limit_exceeded"}}"#, limited),
        (r#"{"error":{"message":"Overloaded","code":529}}"#, limited),
        (r#"{"error":{"message":"upstream","code":502}}"#, broken),
        (r#"{"error":"something broke"}"#, broken),
        (r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, rejected),
        (r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#, rejected),
        (
            r#"{"object":"error","message":"This model's maximum context length is 10 tokens.","code":400}"#,
            overflow,
        ),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":503,"message":"down"}}]}"#,
            broken,
        ),
        (r#"{"x_groq":{"error":{"message":"over capacity","type":"server_error"}}}"#, broken),
        (
            r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"},"choices":null}"#,
            rejected,
        ),
        (r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#, limited),
        (r#"{"code":"Throttling","message":"slow","request_id":"r"}"#, limited),
    ] {
        let error = failure(&[BEGIN, frame, STOP, "[DONE]"]);
        assert!(kind(&error), "{frame}: {error:?}");
    }
    assert_eq!(
        failure(&[r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#]).to_string(),
        "provider: insufficient balance"
    );
    let fine = r#"{"base_resp":{"status_code":0,"status_msg":""},"choices":[{"delta":{"content":"b"}}]}"#;
    assert_eq!(all_text(&events(&[BEGIN, fine, STOP])), "ab");
}
