use lariat_core::message::Message;
use lariat_core::model::StreamEvent;
use lariat_core::usage::Usage as Counted;

use super::*;
use crate::protocol::chat::fixtures::{decode, model, request, sse};
use crate::protocol::responses::Responses;

fn outcome(lines: &[&str]) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    decode(&Responses, &request(model("openai", "gpt-5"), [Message::user("x")]), &sse(lines))
}

fn events(lines: &[&str]) -> Vec<StreamEvent> {
    let (events, outcome) = outcome(lines);
    outcome.expect("the stream must be complete");
    events
}

fn failure(lines: &[&str]) -> ProviderError {
    let (events, outcome) = outcome(lines);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, StreamEvent::ToolCallEnd { .. } | StreamEvent::Done { .. }))
    );
    outcome.expect_err("the stream must fail")
}

fn stop(events: &[StreamEvent]) -> StopReason {
    match events.last() {
        Some(StreamEvent::Done { stop_reason, .. }) => *stop_reason,
        other => panic!("no end but {other:?}"),
    }
}

fn calls(events: &[StreamEvent]) -> Vec<(usize, String, String)> {
    let call = |event: &StreamEvent| match event {
        StreamEvent::ToolCallEnd { index, call } => {
            Some((*index, call.id.to_string(), call.arguments.to_string()))
        }
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

fn said(events: &[StreamEvent]) -> String {
    let delta = |event: &StreamEvent| match event {
        StreamEvent::TextDelta { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

fn thought(events: &[StreamEvent]) -> String {
    let delta = |event: &StreamEvent| match event {
        StreamEvent::ThinkingDelta { delta, .. } => Some(delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","model":"gpt-5-2025","status":"in_progress","instructions":"long","tools":[],"output":[],"error":null,"incomplete_details":null,"usage":null}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"model":"gpt-5-2025","status":"completed","output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":30},"total_tokens":140}}}"#;
const REASONING_DONE: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],"encrypted_content":"gAAA"}}"#;

#[test]
fn decodes_reasoning_text_and_tool_calls_in_order() {
    let stream = [
        CREATED,
        r#"{"type":"response.in_progress","response":{"model":"gpt-5-2025"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"g"}}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"one","obfuscation":"x"}"#,
        r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"one"}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"two"}"#,
        REASONING_DONE,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[],"phase":"commentary"}}"#,
        r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hi \"é\"","logprobs":[]}"#,
        r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":1,"content_index":0,"text":"Hi \"é\""}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi \"é\"","annotations":[]}],"phase":"commentary"}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_a","name":"read","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"p\""}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":":1}"}"#,
        r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":2,"arguments":"{\"p\":1}"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"read","arguments":"{\"p\":1}"}}"#,
        r#"{"type":"response.something_new","output_index":3,"delta":{"x":1}}"#,
        COMPLETED,
    ];
    let events = events(&stream);
    let thinking = |delta: &str| StreamEvent::ThinkingDelta { index: 1, delta: delta.into() };
    let arguments = |delta: &str| StreamEvent::ToolCallDelta { index: 5, delta: delta.into() };
    assert_eq!(
        events[..4],
        [
            StreamEvent::Start { model: "gpt-5-2025".into() },
            thinking("one"),
            thinking("\n\n"),
            thinking("two"),
        ]
    );
    let StreamEvent::ThinkingSignature { index: 1, signature } = &events[4] else { panic!("{events:?}") };
    let item: Value = serde_json::from_str(REASONING_DONE).unwrap();
    assert_eq!(serde_json::from_str::<Value>(signature).unwrap(), item["item"], "the item is kept unchanged");
    assert_eq!(events[5], StreamEvent::TextDelta { index: 3, delta: "Hi \"é\"".into() });
    let StreamEvent::Block { index: 2, content: Content::Unknown(phase) } = &events[6] else {
        panic!("{events:?}")
    };
    assert_eq!(Value::Object(phase.clone()), json!({"type": PHASE_BLOCK, "phase": "commentary"}));
    assert_eq!(events[7..9], [arguments("{\"p\""), arguments(":1}")]);
    assert_eq!(calls(&events), [(5, "call_a".into(), r#"{"p":1}"#.into())]);
    let usage = Counted {
        input: 30,
        output: 40,
        cache_read: 60,
        cache_write: 10,
        total_tokens: 140,
        reasoning: 30,
        ..Counted::default()
    };
    assert_eq!(events[10], StreamEvent::Done { stop_reason: StopReason::ToolUse, usage });
    assert_eq!(events.len(), 11);
}

fn text_item(text: &str) -> String {
    let item = json!({"id": "msg_1", "type": "message", "content": [{"type": "output_text", "text": text}]});
    json!({"type": "response.output_item.done", "output_index": 0, "item": item}).to_string()
}

const TEXT: &str =
    r#"{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","delta":"Hel"}"#;

#[test]
fn completed_item_fills_in_what_the_deltas_missed() {
    assert_eq!(said(&events(&[CREATED, TEXT, &text_item("Hello"), COMPLETED])), "Hello");
    assert_eq!(said(&events(&[CREATED, &text_item("Hello"), COMPLETED])), "Hello", "no deltas at all");
    assert_eq!(said(&events(&[CREATED, TEXT, &text_item("Hel"), COMPLETED])), "Hel");
}

#[test]
fn accepts_reply_sent_only_in_the_final_event() {
    let completed = r#"{"type":"response.completed","response":{"model":"m","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"all"}]},{"type":"function_call","call_id":"c","name":"t","arguments":"{}"}]}}"#;
    let events = events(&[completed]);
    assert_eq!((said(&events), calls(&events).len()), ("all".into(), 1));
}

#[test]
fn keeps_reasoning_without_summary_with_its_signature() {
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e"}}"#;
    let later = TEXT.replace("\"output_index\":0", "\"output_index\":1");
    let events = events(&[CREATED, item, &later, COMPLETED]);
    assert!(matches!(&events[1], StreamEvent::ThinkingSignature { index: 1, .. }));
    assert_eq!(thought(&events), "");
}

#[test]
fn readable_reasoning_is_emitted_once() {
    let stream = [
        CREATED,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"summary"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"summary"}],"content":[{"type":"reasoning_text","text":"hm"}]}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"x"}"#,
        COMPLETED,
    ];
    assert_eq!(thought(&events(&stream)), "hm");
    let whole = [CREATED, stream[3], stream[4], COMPLETED];
    assert_eq!(thought(&events(&whole)), "summary");
}

#[test]
fn refusal_is_emitted_as_text_with_stop_reason_refusal() {
    let stream = [
        CREATED,
        r#"{"type":"response.refusal.delta","output_index":0,"delta":"No"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"No."}]}}"#,
        COMPLETED,
    ];
    let events = events(&stream);
    assert_eq!((said(&events), stop(&events)), ("No.".into(), StopReason::Refusal));
}

#[test]
fn incomplete_response_has_a_stop_reason_and_emits_no_tool_call() {
    let call = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"t","arguments":"{}","status":"incomplete"}}"#;
    for (reason, expected) in [
        ("max_output_tokens", StopReason::Length),
        ("content_filter", StopReason::Refusal),
        ("something new", StopReason::Length),
    ] {
        let end = json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": reason}}});
        let events = events(&[CREATED, TEXT, call, &end.to_string()]);
        assert_eq!((stop(&events), calls(&events).len()), (expected, 0), "{reason}");
    }
    let events = events(&[CREATED, TEXT, call, COMPLETED]);
    assert_eq!((stop(&events), calls(&events).len()), (StopReason::Length, 0), "a truncated tool call");
}

#[test]
fn classifies_failures_of_every_event_type() {
    type Kind = fn(&ProviderError) -> bool;
    let limited: Kind = |error| matches!(error, ProviderError::RateLimited(_));
    let broken: Kind = |error| matches!(error, ProviderError::Network(_));
    let rejected: Kind = |error| matches!(error, ProviderError::Api(_));
    let overflow: Kind = |error| matches!(error, ProviderError::ContextOverflow(_));
    for (event, kind) in [
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"}}}"#,
            broken,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}}"#,
            limited,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"m"}}}"#,
            rejected,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}"#,
            overflow,
        ),
        (r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#, broken),
        (r#"{"type":"response.failed"}"#, broken),
        (r#"{"type":"response.cancelled","response":{"status":"cancelled"}}"#, broken),
        (r#"{"type":"response.done","response":{"status":"failed"}}"#, broken),
        (
            r#"{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null,"sequence_number":3}"#,
            limited,
        ),
        (
            r#"{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"pay"}}"#,
            rejected,
        ),
        (r#"{"type":"error","code":null,"message":"An error occurred"}"#, broken),
        (r#"{"error":{"message":"proxy","code":502}}"#, broken),
    ] {
        let error = failure(&[CREATED, TEXT, event, COMPLETED]);
        assert!(kind(&error), "{event}: {error:?}");
    }
}

#[test]
fn end_without_a_closing_event_is_an_error() {
    for stream in [&[][..], &[CREATED], &[CREATED, TEXT], &[CREATED, TEXT, "[DONE]"]] {
        assert!(matches!(failure(stream), ProviderError::Network(_)), "{stream:?}");
    }
    assert!(matches!(failure(&[CREATED, COMPLETED]), ProviderError::EmptyReply(_)));
    assert!(matches!(failure(&[CREATED, "{oops", COMPLETED]), ProviderError::InvalidReply(_)));
}

#[test]
fn invalid_arguments_emit_no_tool_call() {
    let call = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"t","arguments":"{\"a\":"}}"#;
    assert!(matches!(failure(&[CREATED, call, COMPLETED]), ProviderError::InvalidReply(_)));
}

#[test]
fn separates_items_without_numbers_or_with_equal_numbers() {
    let call = |name: &str, number: &str, id: &str| {
        let item = |arguments: &str| {
            format!(
                r#"{{"id":"fc_{id}","type":"function_call","call_id":"{id}","name":"{name}","arguments":"{arguments}"}}"#
            )
        };
        [
            format!(r#"{{"type":"response.output_item.added"{number},"item":{}}}"#, item("")),
            format!(
                r#"{{"type":"response.function_call_arguments.delta"{number},"item_id":"fc_{id}","delta":"{{}}"}}"#
            ),
            format!(r#"{{"type":"response.output_item.done"{number},"item":{}}}"#, item("{}")),
        ]
    };
    for number in ["", r#","output_index":0"#, r#","output_index":null"#] {
        let (a, b) = (call("x", number, "a"), call("y", number, "b"));
        let stream: Vec<&str> =
            [CREATED].into_iter().chain(a.iter().chain(&b).map(String::as_str)).chain([COMPLETED]).collect();
        assert_eq!(
            calls(&events(&stream)),
            [(1, "a".into(), "{}".into()), (3, "b".into(), "{}".into())],
            "{number}"
        );
    }
}

#[test]
fn event_name_replaces_a_missing_type_and_nulls_are_tolerated() {
    let stream = format!(
        "event: response.output_text.delta\ndata: {{\"delta\":\"x\",\"item\":null,\"item_id\":null}}\n\ndata: {COMPLETED}\n\n"
    );
    let asked = request(model("openai", "gpt-5"), [Message::user("x")]);
    let (events, outcome) = decode(&Responses, &asked, &stream);
    outcome.unwrap();
    assert_eq!(said(&events), "x");
}

#[test]
fn items_of_other_types_are_kept_unchanged() {
    let item =
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": [1, null]}});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let text = TEXT.replace("\"output_index\":0", "\"output_index\":1");
    let events = events(&[CREATED, &done.to_string(), &text, COMPLETED]);
    assert_eq!(
        events[1],
        StreamEvent::Block { index: 1, content: Content::Unknown(item.as_object().unwrap().clone()) }
    );
}

#[test]
fn missing_usage_is_tolerated() {
    let events = events(&[CREATED, TEXT, r#"{"type":"response.completed","response":{"usage":null}}"#]);
    assert!(matches!(events.last(), Some(StreamEvent::Done { usage, .. }) if *usage == Counted::default()));
}

#[test]
fn items_without_id_sent_only_at_their_end_stay_separate() {
    let call = r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}}"#;
    let other = call.replace("\"a\"", "\"b\"");
    assert_eq!(calls(&events(&[CREATED, call, &other, COMPLETED])).len(), 2);
}

const CALL_ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":""}}"#;
const CALL_PIECE: &str = r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"n\":1}"}"#;

#[test]
fn tool_call_announced_twice_is_one_tool_call() {
    let calls = calls(&events(&[CREATED, CALL_ADDED, CALL_ADDED, CALL_PIECE, COMPLETED]));
    assert_eq!(calls, [(1, "c1".to_owned(), r#"{"n":1}"#.to_owned())]);
}

#[test]
fn tool_call_without_arguments_or_end_is_not_emitted() {
    let failed = failure(&[CREATED, CALL_ADDED, COMPLETED]);
    assert!(matches!(failed, ProviderError::InvalidReply(_)), "{failed}");
}

#[test]
fn event_that_is_a_list_is_invalid() {
    let list = r#"["response.output_text.delta", "made of a list"]"#;
    assert!(matches!(failure(&[CREATED, list, COMPLETED]), ProviderError::InvalidReply(_)));
}
