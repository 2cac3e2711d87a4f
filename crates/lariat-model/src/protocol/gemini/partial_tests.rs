//! Tests tool calls whose arguments arrive in parts.

use lariat_core::content::ToolCall;
use lariat_core::model::{ProviderError, StreamEvent};
use serde_json::{Value, json};

use crate::protocol::gemini::decoder;

fn calls(pieces: &[Value]) -> Result<Vec<ToolCall>, ProviderError> {
    let mut decoder = decoder();
    for piece in pieces {
        let frame = json!({"candidates": [{"content": {"parts": [{"functionCall": piece}]}}]});
        decoder.feed(format!("data: {frame}\n\n").as_bytes())?;
    }
    decoder.feed(b"data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\n\n")?;
    decoder.end()?;
    let ended = |event| match event {
        StreamEvent::ToolCallEnd { call, .. } => Some(call),
        _ => None,
    };
    Ok(std::iter::from_fn(|| decoder.next_event()).filter_map(ended).collect())
}

fn piece(path: &str, kind: &str, value: Value) -> Value {
    json!({"partialArgs": [{"jsonPath": path, kind: value}], "willContinue": true})
}

#[test]
fn parts_are_placed_at_their_paths() {
    let calls = calls(&[
        json!({"id": "1", "name": "write", "willContinue": true}),
        piece("$.path", "stringValue", json!("a.")),
        piece("$.path", "stringValue", json!("txt")),
        piece("$.lines[1].text", "stringValue", json!("two")),
        piece("$['odd name']", "numberValue", json!(3)),
        piece("$.sure", "boolValue", json!(true)),
        piece("$.nothing", "nullValue", json!("NULL_VALUE")),
        json!({}),
        json!({"name": "now", "args": {}}),
    ])
    .unwrap();
    assert_eq!(
        calls[0].arguments,
        json!({
            "path": "a.txt", "lines": [null, {"text": "two"}], "odd name": 3, "sure": true, "nothing": null,
        })
    );
    assert_eq!((calls[0].id.as_str(), calls[0].name.as_str(), calls[1].name.as_str()), ("1", "write", "now"));
}

#[test]
fn incomplete_tool_call_is_not_emitted() {
    let begun = json!({"name": "write", "willContinue": true});
    let error = calls(&[begun.clone(), piece("$.path", "stringValue", json!("/"))]).unwrap_err();
    assert!(error.to_string().contains("middle of a tool call"), "{error}");
    let error = calls(&[begun, json!({"name": "now", "args": {}})]).unwrap_err();
    assert!(error.to_string().contains("before the previous one was complete"), "{error}");
}

#[test]
fn parts_that_do_not_fit_are_invalid() {
    let begun = json!({"name": "write", "willContinue": true});
    let rows = [
        vec![piece("$.a", "stringValue", json!("x")), piece("$.a.b", "stringValue", json!("y"))],
        vec![piece("$.a", "numberValue", json!(1)), piece("$.a", "stringValue", json!("y"))],
        vec![piece("$.a[x]", "stringValue", json!("x"))],
        vec![piece("$.a[99999999]", "stringValue", json!("x"))],
        vec![piece("$..a", "stringValue", json!("x"))],
        vec![piece("$.a['b", "stringValue", json!("x"))],
        vec![piece(&".a".repeat(100), "stringValue", json!("x"))],
        vec![piece("$", "stringValue", json!("x"))],
    ];
    for pieces in rows {
        let all: Vec<Value> = [begun.clone()].into_iter().chain(pieces).chain([json!({})]).collect();
        assert!(matches!(calls(&all), Err(ProviderError::InvalidReply(_))), "{all:?}");
    }
}
