//! Tests model lists, and that a model's output goes back to it unchanged: parts → events → blocks → parts.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::Message;
use lariat_core::model::{ModelConfig, StreamEvent};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixtures::{MODERN, contents, reply, result};
use super::{Gemini, decoder};
use crate::protocol::Protocol;
use crate::wire::{Auth, ListedModel};

/// The blocks that events describe, in the order of their indexes.
fn blocks(events: Vec<StreamEvent>) -> Vec<Content> {
    let mut blocks: Vec<(usize, Content)> = Vec::new();
    for event in events {
        let (index, piece) = match event {
            StreamEvent::TextDelta { index, delta } => (index, Content::Text { text: delta }),
            StreamEvent::ThinkingDelta { index, delta } => {
                (index, Content::Thinking { thinking: delta, signature: None })
            }
            StreamEvent::ThinkingSignature { index, signature } => {
                (index, Content::Thinking { thinking: String::new(), signature: Some(signature) })
            }
            StreamEvent::ToolCallEnd { index, call } => (index, Content::ToolCall(Arc::new(call))),
            StreamEvent::Block { index, content } => (index, content),
            _ => continue,
        };
        let same = blocks.iter_mut().find(|(at, _)| *at == index).map(|(_, block)| block);
        match (same, piece) {
            (Some(Content::Text { text }), Content::Text { text: more }) => text.push_str(&more),
            (
                Some(Content::Thinking { thinking, signature }),
                Content::Thinking { thinking: more, signature: newer },
            ) => {
                thinking.push_str(&more);
                *signature = newer.or(signature.take());
            }
            (_, piece) => blocks.push((index, piece)),
        }
    }
    blocks.sort_by_key(|(index, _)| *index);
    blocks.into_iter().map(|(_, block)| block).collect()
}

/// Streams parts, one event each, and sends the resulting reply back.
fn round_trip(parts: &[Value]) -> Value {
    let mut decoder = decoder();
    for part in parts {
        let frame = json!({"candidates": [{"content": {"parts": [part]}}]});
        decoder.feed(format!("data: {frame}\n\n").as_bytes()).unwrap();
    }
    decoder.feed(b"data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\n\n").unwrap();
    decoder.end().unwrap();
    let content = blocks(std::iter::from_fn(|| decoder.next_event()).collect());
    let calls: Vec<_> = content.iter().filter_map(Content::as_tool_call).cloned().collect();
    let mut messages = vec![Message::user("Hi"), reply(MODERN, content)];
    messages.extend(calls.iter().map(|call| result(call.id.as_str(), &call.name, vec!["ok".into()])));
    messages.push(Message::user("Go on"));
    contents(MODERN, messages)[1]["parts"].clone()
}

/// Joins adjacent text parts that belong together.
fn joined(parts: &[Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for part in parts {
        let open = joined.last_mut().filter(|last| {
            last.get("text").is_some()
                && last.get("thoughtSignature").is_none()
                && part.get("text").is_some()
                && last.get("thought") == part.get("thought")
        });
        let Some(last) = open else {
            joined.push(part.clone());
            continue;
        };
        last["text"] = format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap()).into();
        if let Some(signature) = part.get("thoughtSignature") {
            last["thoughtSignature"] = signature.clone();
        }
    }
    joined
}

fn part() -> impl Strategy<Value = Value> {
    let signed = |part: Value, signature: Option<String>| {
        let mut part = part;
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        part
    };
    let signature = || proptest::option::of("[a-z]{1,3}");
    prop_oneof![
        ("[a-z]{1,3}", signature())
            .prop_map(move |(text, s)| signed(json!({"text": text, "thought": true}), s)),
        ("[a-zé]{1,3}", signature()).prop_map(move |(text, s)| signed(json!({"text": text}), s)),
        ("[a-z]{1,3}").prop_map(|code| json!({"executableCode": {"code": code}, "thoughtSignature": "c"})),
        signature()
            .prop_map(move |s| signed(json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}}), s)),
    ]
}

proptest! {
    #[test]
    fn every_part_goes_back_unchanged(mut parts in proptest::collection::vec(part(), 0..8), calls in 0_usize..3) {
        for n in 0..calls {
            // Gemini signs the first tool call of a step.
            let mut call = json!({"functionCall": {"id": format!("c{n}"), "name": "read", "args": {"n": n}}});
            if n == 0 {
                call["thoughtSignature"] = "s".into();
            }
            parts.push(call);
        }
        // A transcript does not keep thinking after the last text; it signs nothing.
        if calls == 0 {
            parts.push(json!({"text": "end", "thoughtSignature": "last"}));
        }
        prop_assert_eq!(round_trip(&parts), Value::Array(joined(&parts)));
    }
}

#[test]
fn signature_after_its_text_goes_back_on_the_text() {
    let parts = [json!({"text": "Hel"}), json!({"text": "lo"}), json!({"text": "", "thoughtSignature": "s"})];
    assert_eq!(round_trip(&parts), json!([{"text": "Hello", "thoughtSignature": "s"}]));
}

#[test]
fn lists_models_in_one_page_with_the_key_in_a_header() {
    let request = Gemini.list_request(&ModelConfig::new("google-gemini", "")).unwrap();
    assert_eq!(request.url, "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000");
    assert_eq!((request.method, request.auth), (http::Method::GET, Auth::Header("x-goog-api-key")));
}

#[test]
fn lists_models_that_can_chat_with_their_limits() {
    let body = json!({"models": [
        {
            "name": "models/gemini-3-pro-preview", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
    ]});
    let mut expected = ListedModel::new("gemini-3-pro-preview");
    expected.name = Some("Gemini 3 Pro".to_owned());
    expected.context_window = Some(1_048_576);
    expected.max_tokens = Some(65_536);
    assert_eq!(Gemini.parse_models(body.to_string().as_bytes()).unwrap(), [expected]);
    assert_eq!(Gemini.parse_models(b"{}").unwrap(), []);
    assert!(Gemini.parse_models(b"<html>").is_err());
}
