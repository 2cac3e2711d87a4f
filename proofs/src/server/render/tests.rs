//! Tests common to all protocols, which parse the rendered bytes with the simplest possible parser.

use serde_json::{Value, json};

use super::{error, models, overflow, parse_event_stream, stream, stream_error, whole};
use crate::server::{Stop, Turn, TurnUsage, Wire};

fn turn() -> Turn {
    Turn::new()
        .model("some-model")
        .thinking("Zuerst überlege ich: zwei Dateien 🦀.")
        .text("Ich lese beide Dateien, größer und kleiner.")
        .call("call_1", "read", &json!({"path": "größe klein.txt", "limit": 7}))
        .call("call_2", "list", &json!({}))
        .usage(TurnUsage { input: 100, output: 60, cache_read: 50, cache_write: 20, reasoning: 15 })
}

/// The data of every event, whatever its format; `[DONE]` is omitted.
fn events(wire: Wire, frames: &[Vec<u8>]) -> Vec<Value> {
    frames
        .iter()
        .filter_map(|frame| {
            if wire == Wire::BedrockConverse {
                let (headers, payload) = parse_event_stream(frame).unwrap();
                let name = headers.iter().find(|(name, _)| name == ":event-type").unwrap().1.clone();
                let payload: Value = serde_json::from_slice(&payload).unwrap();
                return Some(json!({name: payload}));
            }
            let text = std::str::from_utf8(frame).unwrap();
            assert!(text.ends_with("\n\n") || text.ends_with("\r\n\r\n"), "{text:?}");
            let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            (data != "[DONE]").then(|| serde_json::from_str(data).unwrap())
        })
        .collect()
}

/// All strings at any of the JSON pointers of a protocol's deltas, concatenated.
fn joined(events: &[Value], pointers: &[&str]) -> String {
    events
        .iter()
        .filter_map(|event| pointers.iter().find_map(|pointer| event.pointer(pointer)?.as_str()))
        .collect()
}

const TEXT: &[&str] = &["/delta/text", "/choices/0/delta/content", "/contentBlockDelta/delta/text"];

#[test]
fn text_deltas_join_to_the_text_in_every_protocol() {
    for wire in Wire::ALL {
        let events = events(wire, &stream(wire, &turn()));
        let text: String = match wire {
            Wire::OpenAiResponses | Wire::AzureResponses => {
                let deltas: Vec<Value> = events
                    .into_iter()
                    .filter(|event| event["type"] == "response.output_text.delta")
                    .collect();
                joined(&deltas, &["/delta"])
            }
            Wire::Gemini | Wire::Vertex => events
                .iter()
                .flat_map(|event| event["candidates"][0]["content"]["parts"].as_array().unwrap().clone())
                .filter(|part| part["thought"] != json!(true))
                .filter_map(|part| part["text"].as_str().map(str::to_owned))
                .collect(),
            _ => joined(&events, TEXT),
        };
        assert_eq!(text, "Ich lese beide Dateien, größer und kleiner.", "{wire}");
    }
}

#[test]
fn streamed_arguments_join_to_the_arguments() {
    let expected = json!({"path": "größe klein.txt", "limit": 7}).to_string() + "{}";
    for (wire, pointer) in [
        (Wire::AnthropicMessages, "/delta/partial_json"),
        (Wire::OpenAiChat, "/choices/0/delta/tool_calls/0/function/arguments"),
        (Wire::BedrockConverse, "/contentBlockDelta/delta/toolUse/input"),
    ] {
        let events = events(wire, &stream(wire, &turn().piece(1)));
        assert_eq!(joined(&events, &[pointer]), expected, "{wire}");
        assert!(events.iter().filter(|event| event.pointer(pointer).is_some()).count() > 4, "{wire}");
    }
    let events = events(Wire::OpenAiResponses, &stream(Wire::OpenAiResponses, &turn().piece(1)));
    let deltas: Vec<Value> = events
        .into_iter()
        .filter(|event| event["type"] == "response.function_call_arguments.delta")
        .collect();
    assert_eq!(joined(&deltas, &["/delta"]), expected);
}

#[test]
fn the_last_event_of_responses_carries_the_whole_reply() {
    let events = events(Wire::OpenAiResponses, &stream(Wire::OpenAiResponses, &turn()));
    let whole: Value = serde_json::from_slice(&whole(Wire::OpenAiResponses, &turn())).unwrap();
    assert_eq!(events.last().unwrap()["response"], whole);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number));
    }
}

#[test]
fn names_of_named_events_are_their_types() {
    for wire in [Wire::AnthropicMessages, Wire::OpenAiResponses] {
        let mut frames = stream(wire, &turn());
        frames.push(stream_error(wire, 529, "Overloaded"));
        for frame in frames {
            let text = String::from_utf8(frame).unwrap();
            let (name, data) = text.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap().trim()).unwrap();
            assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"].as_str().unwrap());
        }
    }
}

#[test]
fn cached_tokens_are_counted_as_each_api_counts_them() {
    let body = |wire| -> Value { serde_json::from_slice(&whole(wire, &turn())).unwrap() };
    assert_eq!(body(Wire::AnthropicMessages)["usage"]["input_tokens"], 100);
    assert_eq!(body(Wire::OpenAiChat)["usage"]["prompt_tokens"], 170);
    assert_eq!(body(Wire::AzureResponses)["usage"]["input_tokens_details"]["cached_tokens"], 50);
    assert_eq!(body(Wire::Vertex)["usageMetadata"]["candidatesTokenCount"], 45);
    assert_eq!(body(Wire::BedrockConverse)["usage"]["totalTokens"], 230);
}

#[test]
fn omitted_usage_appears_nowhere() {
    for wire in Wire::ALL {
        let bare = turn().without_usage();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for body in stream(wire, &bare).iter().chain([&whole(wire, &bare)]) {
            let body = text(body);
            for name in ["input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount"] {
                assert!(!body.contains(name), "{wire}: {body}");
            }
        }
    }
}

#[test]
fn every_stop_reason_renders_in_every_protocol_and_only_anthropic_distinguishes_all() {
    for wire in Wire::ALL {
        let bodies: std::collections::HashSet<Vec<u8>> =
            Stop::ALL.into_iter().map(|stop| whole(wire, &Turn::new().text("x").stop(stop))).collect();
        assert_eq!(bodies.len() == Stop::ALL.len(), wire == Wire::AnthropicMessages, "{wire}");
    }
}

#[test]
fn google_attaches_a_signature_to_the_first_part_after_the_thinking() {
    let calls = Turn::new().thinking("t").call("a", "x", &json!({})).call("b", "y", &json!({}));
    let body: Value = serde_json::from_slice(&whole(Wire::Gemini, &calls)).unwrap();
    let parts = &body["candidates"][0]["content"]["parts"];
    assert!(parts[0]["thoughtSignature"].is_null());
    assert!(parts[1]["thoughtSignature"].is_string());
    assert!(parts[2]["thoughtSignature"].is_null());
}

#[test]
fn errors_have_their_message_where_the_sdk_expects_it() {
    for wire in Wire::ALL {
        for status in [400, 401, 403, 404, 413, 429, 500, 503, 529] {
            let body: Value = serde_json::from_slice(&error(wire, status, "the reason")).unwrap();
            let message =
                if wire == Wire::BedrockConverse { &body["message"] } else { &body["error"]["message"] };
            assert_eq!(message, "the reason", "{wire} {status}");
            assert!(!stream_error(wire, status, "the reason").is_empty());
        }
        assert_eq!(overflow(wire).status, 400);
    }
    let frame = stream_error(Wire::BedrockConverse, 429, "slow down");
    let (headers, _) = parse_event_stream(&frame).unwrap();
    assert!(headers.contains(&(":exception-type".to_owned(), "throttlingException".to_owned())));
}

#[test]
fn pages_of_a_listing_join_to_the_whole() {
    let first: Value = serde_json::from_slice(&models(Wire::AnthropicMessages, "limit=2")).unwrap();
    assert_eq!(first["has_more"], true);
    let next = format!("limit=2&after_id={}", first["last_id"].as_str().unwrap());
    let second: Value = serde_json::from_slice(&models(Wire::AnthropicMessages, &next)).unwrap();
    assert_eq!((second["has_more"].clone(), second["data"].as_array().unwrap().len()), (json!(false), 1));
    let first: Value = serde_json::from_slice(&models(Wire::Gemini, "pageSize=2")).unwrap();
    assert_eq!(first["nextPageToken"], "2");
}
