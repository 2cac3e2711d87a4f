//! An independent check of imports and exports.
//!
//! Shares nothing with the code under test but [`read_conversation`], which implements Claude Code's rule.

mod generator;

use std::collections::HashMap;
use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::MessageId;
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::session::SessionFold;
use lariat_core::transcript::Transcript;
use serde_json::{Map, Value, json};

pub(super) use generator::{LINE_KINDS, generate};

use super::read_conversation;
use crate::interchange::ImportedSession;

/// A conversation as roles and blocks of the Messages API.
pub(super) type Conversation = Vec<(&'static str, Value)>;

/// Panics with the first difference.
#[track_caller]
pub(super) fn assert_same(found: &Conversation, wanted: &Conversation, about: &str) {
    for at in 0..found.len().max(wanted.len()) {
        let (found, wanted) = (found.get(at), wanted.get(at));
        assert!(found == wanted, "{about}: block {at}\n found {found:?}\nwanted {wanted:?}");
    }
}

/// Returns what the model sees according to a fold.
pub(super) fn fold_conversation(events: &[Event]) -> (Conversation, Vec<MessageId>, usize) {
    let fold = SessionFold::of(events);
    let (transcript, repairs) = fold.conversation(fold.tip());
    let window = transcript.window();
    let ids =
        window.iter().filter(|message| message.as_llm().is_some()).map(|message| message.id()).collect();
    (conversation_of(window.llm_messages()), ids, repairs.len())
}

/// Returns the ids of all messages of an import.
pub(super) fn all_ids(imported: &ImportedSession) -> Vec<MessageId> {
    let messages = imported.events.iter().filter_map(|event| match &event.event {
        AgentEvent::MessagesImported { messages, .. } => Some(messages),
        _ => None,
    });
    messages.flatten().map(|message| message.id()).collect()
}

fn conversation_of<'a>(messages: impl Iterator<Item = &'a Message>) -> Conversation {
    let mut said = Vec::new();
    for message in messages {
        match message {
            Message::User(user) => said.extend(user.content.iter().map(|block| ("user", api(block)))),
            Message::Assistant(reply) => {
                said.extend(reply.content.iter().map(|block| ("assistant", api(block))));
            }
            Message::ToolResult(result) => {
                let content: Vec<Value> = result.content.iter().map(api).collect();
                let block = json!({"type": "tool_result", "tool_use_id": result.tool_call_id,
                    "content": content, "is_error": result.is_error});
                said.push(("user", block));
            }
        }
    }
    said
}

fn api(block: &Content) -> Value {
    match block {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
        }
        Content::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature.clone().unwrap_or_default()})
        }
        Content::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Content::ToolCall(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        }
        Content::Unknown(fields) => Value::Object(fields.clone()),
        other => panic!("{other:?}"),
    }
}

/// Returns what Claude Code would show of a file, unchanged.
pub(super) fn shown_conversation(file: &[u8]) -> Conversation {
    let mut said = Vec::new();
    for line in read_conversation(file) {
        let role = if line.role == "user" { "user" } else { "assistant" };
        let content = line.message.get("content").unwrap_or(&Value::Null);
        said.extend(normal_blocks(content).into_iter().map(|block| (role, block)));
    }
    said
}

fn normal_blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.iter().map(normal).collect(),
        _ => Vec::new(),
    }
}

fn normal(block: &Value) -> Value {
    let mut block = block.clone();
    if block["type"] == "tool_result" {
        let content = normal_blocks(&block["content"]);
        block = json!({"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": content,
            "is_error": block["is_error"] == true});
    }
    block
}

/// Returns what the model must see of a Claude Code file: what Claude Code shows, with the lines of a reply joined, results
/// from branches included, and everything repaired that an API would reject.
pub(super) fn expected(file: &[u8]) -> Conversation {
    let lines = read_conversation(file);
    let entries = entries(file);
    let mut steps: Vec<Reply> = Vec::new();
    for line in &lines {
        let content = line.message.get("content").unwrap_or(&Value::Null);
        let reply_id = line.message["id"].as_str().map(str::to_owned);
        let last = steps.last_mut();
        if line.role == "assistant" {
            let blocks = normal_blocks(content);
            match last {
                Some(reply) if reply_id.is_some() && reply.id == reply_id && reply.words.is_empty() => {
                    reply.blocks.extend(blocks);
                    reply.uuids.push(line.uuid.clone());
                }
                _ if content.is_array() || content.is_string() => steps.push(Reply {
                    id: reply_id,
                    uuids: vec![line.uuid.clone()],
                    blocks,
                    ..Reply::default()
                }),
                _ => {}
            }
            continue;
        }
        let (results, words): (Vec<Value>, Vec<Value>) =
            normal_blocks(content).into_iter().partition(|block| block["type"] == "tool_result");
        let reply = match last {
            Some(reply) if reply.words.is_empty() => reply,
            // Text before any reply, or after the text of another line.
            _ => {
                steps.push(Reply::default());
                steps.last_mut().unwrap()
            }
        };
        reply.results.extend(results);
        reply.words.extend(words);
    }
    let mut messages: Vec<SharedMessage> = Vec::new();
    for mut reply in steps {
        reply.take_in_results(&entries, &lines);
        let Reply { blocks, results, words, .. } = reply;
        if !blocks.is_empty() {
            messages.push(message(Message::Assistant(AssistantMessage {
                content: blocks.iter().map(content_of).collect(),
                stop_reason: StopReason::Stop,
                model: String::new(),
                requested_model: None,
                provider: String::new(),
                usage: Default::default(),
                timestamp: Default::default(),
                error_message: None,
            })));
        }
        for result in results {
            messages.push(message(Message::ToolResult(ToolResultMessage {
                tool_call_id: result["tool_use_id"].as_str().unwrap_or_default().into(),
                tool_name: String::new(),
                content: result["content"].as_array().unwrap().iter().map(content_of).collect(),
                is_error: result["is_error"] == true,
                timestamp: Default::default(),
            })));
        }
        if !words.is_empty() {
            let content = words.iter().map(content_of).collect();
            messages.push(message(Message::User(UserMessage::new(content))));
        }
    }
    let (transcript, _) = Transcript::repair(messages);
    conversation_of(transcript.window().llm_messages())
}

#[derive(Default)]
struct Reply {
    id: Option<String>,
    uuids: Vec<String>,
    blocks: Vec<Value>,
    results: Vec<Value>,
    words: Vec<Value>,
}

impl Reply {
    fn take_in_results(&mut self, entries: &[Map<String, Value>], lines: &[super::ReadLine]) {
        let calls: Vec<Value> =
            self.blocks.iter().filter(|b| b["type"] == "tool_use").map(|b| b["id"].clone()).collect();
        for call in calls {
            if self.results.iter().any(|result| result["tool_use_id"] == call) {
                continue;
            }
            let beside = entries.iter().find_map(|entry| {
                let uuid = entry["uuid"].as_str()?;
                let hidden = entry.get("isMeta") == Some(&json!(true))
                    || entry.get("isSidechain") == Some(&json!(true))
                    || entry.contains_key("teamName");
                let blocks = normal_blocks(&entry.get("message")?["content"]);
                if blocks.iter().any(|block| block["type"] != "tool_result") {
                    return None;
                }
                let result = blocks
                    .into_iter()
                    .find(|block| block["type"] == "tool_result" && block["tool_use_id"] == call)?;
                let free = !hidden && lines.iter().all(|line| line.uuid != uuid);
                (free && self.uuids.contains(&nearest_reply(entries, uuid)?)).then_some(result)
            });
            self.results.extend(beside);
        }
    }
}

fn nearest_reply(entries: &[Map<String, Value>], uuid: &str) -> Option<String> {
    let by_uuid: HashMap<&str, &Map<String, Value>> =
        entries.iter().filter_map(|entry| Some((entry["uuid"].as_str()?, entry))).collect();
    let mut at = by_uuid.get(uuid)?.get("parentUuid")?.as_str()?;
    for _ in 0..entries.len() {
        let entry = by_uuid.get(at)?;
        if entry["type"] == "assistant" && entry.get("isMeta").is_none() && entry.contains_key("message") {
            return Some(at.to_owned());
        }
        at = entry.get("parentUuid")?.as_str()?;
    }
    None
}

fn entries(file: &[u8]) -> Vec<Map<String, Value>> {
    let objects = file.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    objects
        .filter(|entry: &Map<String, Value>| entry.contains_key("uuid") && entry.contains_key("type"))
        .collect()
}

fn message(message: Message) -> SharedMessage {
    Arc::new(AgentMessage::from(message))
}

fn content_of(block: &Value) -> Content {
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => Content::text(text("text")),
        "thinking" => Content::Thinking {
            thinking: text("thinking"),
            signature: Some(text("signature")).filter(|signature| !signature.is_empty()),
        },
        "redacted_thinking" => Content::RedactedThinking { data: text("data") },
        "tool_use" => Content::ToolCall(Arc::new(ToolCall {
            id: text("id").into(),
            name: text("name"),
            arguments: block["input"].clone(),
            signature: None,
        })),
        "image" if block["source"]["type"] == "base64" => Content::Image {
            data: block["source"]["data"].as_str().unwrap().to_owned(),
            mime_type: block["source"]["media_type"].as_str().unwrap().to_owned(),
        },
        _ => Content::Unknown(block.as_object().unwrap().clone()),
    }
}
