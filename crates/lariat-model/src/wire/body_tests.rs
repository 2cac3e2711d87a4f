//! Tests that a body built by appending equals one built from scratch, and that only new messages cost time.

use lariat_core::message::{AgentMessage, ExtensionMessage, SharedMessage, StopReason};
use lariat_core::model::RequestMemo;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A protocol for these tests: user messages and replies become blocks, results become items; some words are
/// rejected.
#[derive(Debug, Default)]
struct SampleTranslator {
    pushed: usize,
}

impl Conversation for SampleTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        self.pushed += 1;
        let text = message.text();
        if text.contains("refused") {
            return Err(ProviderError::Api("refused".into()));
        }
        match message {
            Message::User(_) => items.block("user", "content", &json!({"text": text})),
            Message::Assistant(_) => items.block("assistant", "content", &json!({"text": text})),
            Message::ToolResult(_) => items.item(&json!({"role": "tool", "text": text})),
        }
        Ok(())
    }
}

fn user(text: &str) -> SharedMessage {
    Arc::new(AgentMessage::user(text))
}

fn reply(text: &str, calls: usize) -> SharedMessage {
    let mut content = vec![text.into()];
    content.extend(
        (0..calls)
            .map(|n| lariat_core::content::Content::tool_call(format!("{text}-{n}"), "read", json!({}))),
    );
    Arc::new(AgentMessage::from(Message::Assistant(AssistantMessage {
        content,
        stop_reason: StopReason::Stop,
        model: "m".into(),
        requested_model: None,
        provider: "p".into(),
        usage: Usage::default(),
        timestamp: Default::default(),
        error_message: None,
    })))
}

fn window(messages: &[SharedMessage]) -> Window {
    Transcript::repair(messages.iter().cloned()).0.window()
}

fn request_with(messages: &[SharedMessage], memo: &RequestMemo) -> StreamConfig {
    let mut request = StreamConfig::new(Arc::new(ModelConfig::new("test", "m")), window(messages));
    request.memo = memo.clone();
    request
}

/// Builds the body with marks at the last positions of user items. Also returns how many messages have been
/// translated so far.
fn build(request: &StreamConfig, key: &str) -> (String, usize) {
    let mut body = Body::of(request, key.to_owned(), SampleTranslator::default).unwrap();
    body.tools(&request.tools, |tools| json!(tools.len()));
    let places: Vec<usize> = body.places("user").take(2).collect();
    let pushed = body.conversation.pushed;
    let head = Map::from_iter([("model".to_owned(), json!("m"))]);
    let bytes = body.finish(request, &head, Some("tools"), "messages", (",\"mark\":1", &places));
    (String::from_utf8(bytes.to_vec()).unwrap(), pushed)
}

fn build_at_once(messages: &[SharedMessage]) -> String {
    build(&request_with(messages, &RequestMemo::default()), "k").0
}

#[test]
fn adjacent_blocks_share_an_item_and_the_last_two_user_items_are_marked() {
    let messages = [user("a"), user("b"), reply("c", 0), user("d"), user("e"), reply("f", 0), user("g")];
    assert_eq!(
        build_at_once(&messages),
        concat!(
            r#"{"model":"m","messages":["#,
            r#"{"role":"user","content":[{"text":"a"},{"text":"b"}]},"#,
            r#"{"role":"assistant","content":[{"text":"c"}]},"#,
            r#"{"role":"user","content":[{"text":"d"},{"text":"e","mark":1}]},"#,
            r#"{"role":"assistant","content":[{"text":"f"}]},"#,
            r#"{"role":"user","content":[{"text":"g","mark":1}]}]}"#
        )
    );
}

#[test]
fn marks_go_only_into_the_last_block_of_an_item() {
    let messages = [user("a"), reply("b", 0), user("c"), user("d")];
    let body: Value = serde_json::from_str(&build_at_once(&messages)).unwrap();
    assert_eq!(body["messages"][0]["content"], json!([{"text": "a", "mark": 1}]));
    assert_eq!(body["messages"][2]["content"], json!([{"text": "c"}, {"text": "d", "mark": 1}]));
}

#[test]
fn complete_items_close_the_open_item_and_take_no_marks() {
    let messages = [user("a"), reply("b", 1), user("c")];
    let body: Value = serde_json::from_str(&build_at_once(&messages)).unwrap();
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|item| item["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    assert_eq!(body["messages"][2].get("mark"), None);
    assert_eq!(body["messages"][3]["content"][0]["mark"], 1);
}

#[test]
fn body_without_head_tools_or_messages_is_valid_json() {
    let request = request_with(&[], &RequestMemo::default());
    let body = Body::of(&request, "k".into(), SampleTranslator::default).unwrap();
    let bytes = body.finish(&request, &Map::new(), None, "messages", ("", &[]));
    assert_eq!(bytes, r#"{"messages":[]}"#);
}

#[test]
fn appending_translates_only_new_messages_and_gives_the_same_bytes() {
    let memo = RequestMemo::default();
    let messages = [user("a"), reply("b", 2), user("c"), reply("d", 0), user("e")];
    let mut before = 0;
    for end in 1..=messages.len() {
        let request = request_with(&messages[..end], &memo);
        let (body, pushed) = build(&request, "k");
        assert_eq!(body, build_at_once(&messages[..end]));
        assert_eq!(pushed, request.messages.len(), "each message has been translated once");
        assert!(pushed > before);
        before = pushed;
    }
}

#[test]
fn repeated_request_translates_nothing() {
    let memo = RequestMemo::default();
    let messages = [user("a"), reply("b", 0), user("c")];
    let first = build(&request_with(&messages, &memo), "k");
    assert_eq!(build(&request_with(&messages, &memo), "k"), first);
}

#[test]
fn fork_compaction_and_model_change_rebuild_the_body() {
    let memo = RequestMemo::default();
    let messages = [user("a"), reply("b", 0), user("c"), reply("d", 0), user("e")];
    build(&request_with(&messages, &memo), "k");
    // Back to an earlier message and on from there.
    let forked = [messages[0].clone(), messages[1].clone(), user("other")];
    assert_eq!(build(&request_with(&forked, &memo), "k"), (build_at_once(&forked), 3));
    // A summary replaced the beginning.
    let compacted = [user("summary"), messages[1].clone(), messages[4].clone()];
    assert_eq!(build(&request_with(&compacted, &memo), "k"), (build_at_once(&compacted), 3));
    // Another message with the same text is not the same message.
    let copied = [user("summary"), messages[1].clone(), messages[4].clone()];
    assert_eq!(build(&request_with(&copied, &memo), "k").1, 3);
    // A model with another key reuses nothing, not even the translator.
    let request = request_with(&copied, &memo);
    let count = |key: &str| {
        let mut body = Body::of(&request, key.to_owned(), SampleTranslator::default).unwrap();
        body.conversation.pushed += 100;
        let pushed = body.conversation.pushed;
        request.memo.put(body);
        pushed
    };
    assert_eq!((count("k"), count("k"), count("other"), count("k")), (103, 203, 103, 103));
}

#[test]
fn memo_of_another_protocol_is_dropped() {
    let memo = RequestMemo::default();
    memo.put(Box::new(7_u8));
    let messages = [user("a")];
    assert_eq!(build(&request_with(&messages, &memo), "k"), (build_at_once(&messages), 1));
}

#[test]
fn rejected_message_leaves_nothing_in_the_memo() {
    let memo = RequestMemo::default();
    build(&request_with(&[user("a")], &memo), "k");
    let refused = request_with(&[user("a"), user("refused")], &memo);
    assert!(Body::of(&refused, "k".into(), SampleTranslator::default).is_err());
    assert_eq!(build(&request_with(&[user("b")], &memo), "k"), (build_at_once(&[user("b")]), 1));
}

#[test]
fn application_messages_are_not_sent() {
    let note: SharedMessage = Arc::new(ExtensionMessage::new("note", json!(1)).into());
    let messages = [user("a"), note, user("b")];
    let (body, pushed) = build(&request_with(&messages, &RequestMemo::default()), "k");
    assert_eq!((body, pushed), (build_at_once(&[user("a"), user("b")]), 2));
}

#[test]
fn unchanged_tools_are_serialized_once() {
    let memo = RequestMemo::default();
    let tool = ToolDefinition { name: "t".into(), description: String::new(), parameters: json!({}) };
    let tools: Arc<[ToolDefinition]> = Arc::from([tool]);
    let mut made = 0;
    let messages = [user("a")];
    for _ in 0..3 {
        let mut request = request_with(&messages, &memo);
        request.tools = Arc::clone(&tools);
        let mut body = Body::of(&request, "k".into(), SampleTranslator::default).unwrap();
        body.tools(&request.tools, |_| {
            made += 1;
            json!(["t"])
        });
        let bytes = body.finish(&request, &Map::new(), Some("tools"), "messages", ("", &[]));
        assert_eq!(bytes, r#"{"tools":["t"],"messages":[{"role":"user","content":[{"text":"a"}]}]}"#);
    }
    assert_eq!(made, 1);
}

#[test]
fn own_reply_requires_same_provider_and_model() {
    let message = reply("a", 0);
    let reply = message.as_assistant().unwrap();
    let mut model = ModelConfig::new("test", "m");
    model.provider = "p".into();
    assert!(is_own_reply(reply, &model));
    let mut other = reply.clone();
    other.requested_model = Some("alias".into());
    assert!(!is_own_reply(&other, &model));
    model.id = "alias".into();
    assert!(is_own_reply(&other, &model));
    model.provider = "q".into();
    assert!(!is_own_reply(&other, &model));
}

proptest! {
    #[test]
    fn any_history_appended_in_any_steps_equals_one_built_from_scratch(
        kinds in proptest::collection::vec(0_usize..4, 1..20),
        stops in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let message = |(at, kind): (usize, &usize)| match kind {
            0 | 1 => user(&format!("u{at}")),
            kind => reply(&format!("r{at}"), kind - 2),
        };
        let messages: Vec<SharedMessage> = window(&kinds.iter().enumerate().map(message).collect::<Vec<_>>()).iter().cloned().collect();
        let memo = RequestMemo::default();
        let mut ends: Vec<usize> = stops.iter().map(|stop| stop.index(messages.len()) + 1).collect();
        ends.sort_unstable();
        ends.push(messages.len());
        for end in ends {
            prop_assert_eq!(build(&request_with(&messages[..end], &memo), "k").0, build_at_once(&messages[..end]));
        }
    }
}
