//! Tests of the strict validator: it finds every kind of violation at its position, and nothing else.

use lariat_core::message::UserMessage;
use lariat_core::time::Timestamp;
use serde_json::{Value, json};

use super::ViolationKind as Kind;
use super::*;

fn user(text: &str) -> Message {
    Message::user(text)
}

fn user_of(content: Vec<Content>) -> Message {
    Message::User(UserMessage::new(content))
}

fn reply(content: Vec<Content>) -> Message {
    ended(content, StopReason::Stop)
}

fn ended(content: Vec<Content>, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        stop_reason,
        model: "m".into(),
        provider: "p".into(),
        requested_model: None,
        usage: Default::default(),
        timestamp: Timestamp::default(),
        error_message: None,
    })
}

fn call(id: &str) -> Content {
    Content::tool_call(id, "read", json!({}))
}

fn result(id: &str) -> Message {
    result_of(id, vec![Content::text("ok")])
}

fn result_of(id: &str, content: Vec<Content>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content,
        is_error: false,
        timestamp: Timestamp::default(),
    })
}

fn thinking(text: &str, signature: Option<&str>) -> Content {
    Content::Thinking { thinking: text.into(), signature: signature.map(str::to_owned) }
}

#[track_caller]
fn assert_violates(messages: &[Message], expected: &[(usize, Kind)]) {
    let found: Vec<_> =
        validate_messages(messages).into_iter().map(|violation| (violation.at, violation.kind)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_valid_conversation_has_no_violations() {
    let image = Content::Image { data: "aGk=".into(), mime_type: "image/png".into() };
    assert_violates(
        &[
            user("one"),
            user_of(vec![Content::text("two"), image]),
            reply(vec![thinking("hm", None), Content::text("let me look"), call("a"), call("b")]),
            result("a"),
            result("b"),
            reply(vec![call("c")]),
            result("c"),
            reply(vec![Content::text("done")]),
            user("thanks"),
        ],
        &[],
    );
}

#[test]
fn an_empty_conversation_is_rejected() {
    assert_violates(&[], &[(0, Kind::EmptyConversation)]);
}

#[test]
fn a_conversation_that_does_not_start_with_the_user_is_rejected() {
    assert_violates(&[reply(vec![Content::text("hello")]), user("hi")], &[(0, Kind::StartsWithoutUser)]);
    assert_violates(
        &[result("a"), user("hi")],
        &[(0, Kind::StartsWithoutUser), (0, Kind::ResultWithoutCall("a".into()))],
    );
}

#[test]
fn a_conversation_that_ends_in_a_reply_is_rejected_unless_the_reply_paused() {
    let hello = || vec![Content::text("hello")];
    assert_violates(&[user("hi"), reply(hello())], &[(1, Kind::EndsInReply)]);
    assert_violates(&[user("hi"), ended(hello(), StopReason::Pause)], &[]);
}

#[test]
fn a_message_without_content_is_rejected_in_every_role() {
    assert_violates(&[user_of(vec![])], &[(0, Kind::NoContent)]);
    assert_violates(&[user("hi"), reply(vec![]), user("?")], &[(1, Kind::NoContent)]);
    assert_violates(&[user("hi"), reply(vec![call("a")]), result_of("a", vec![])], &[(2, Kind::NoContent)]);
}

#[test]
fn empty_blocks_are_rejected() {
    for blank in ["", " ", "\n\t\u{a0}\u{3000}"] {
        assert_violates(&[user(blank)], &[(0, Kind::EmptyText)]);
    }
    for (data, mime_type) in [("", "image/png"), ("aGk=", "")] {
        let image = Content::Image { data: data.into(), mime_type: mime_type.into() };
        assert_violates(&[user_of(vec![image])], &[(0, Kind::EmptyImage)]);
    }
    let with = |block| [user("hi"), reply(vec![block, Content::text("x")]), user("?")];
    assert_violates(&with(thinking("", None)), &[(1, Kind::EmptyThinking)]);
    assert_violates(&with(thinking("", Some("signed"))), &[]);
    assert_violates(&with(Content::RedactedThinking { data: String::new() }), &[(1, Kind::EmptyThinking)]);
    assert_violates(&with(Content::Unknown(Default::default())), &[(1, Kind::EmptyBlock)]);
}

#[test]
fn blocks_of_a_reply_are_rejected_in_other_roles() {
    assert_violates(&[user_of(vec![Content::text("x"), call("a")])], &[(0, Kind::MisplacedBlock)]);
    assert_violates(&[user_of(vec![Content::text("x"), thinking("hm", None)])], &[(0, Kind::MisplacedBlock)]);
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), result_of("a", vec![call("b")])],
        &[(2, Kind::MisplacedBlock)],
    );
}

#[test]
fn a_reply_of_thinking_alone_is_rejected() {
    let redacted = Content::RedactedThinking { data: "x".into() };
    assert_violates(
        &[user("hi"), reply(vec![thinking("hm", Some("s")), redacted]), user("?")],
        &[(1, Kind::ThinkingOnly)],
    );
}

#[test]
fn a_reply_that_ends_in_thinking_is_rejected() {
    assert_violates(
        &[user("hi"), reply(vec![Content::text("so"), thinking("hm", Some("s"))]), user("?")],
        &[(1, Kind::EndsInThinking)],
    );
    assert_violates(
        &[user("hi"), reply(vec![call("a"), Content::RedactedThinking { data: "x".into() }]), result("a")],
        &[(1, Kind::EndsInThinking)],
    );
}

#[test]
fn a_call_without_its_result_right_after_it_is_rejected() {
    assert_violates(
        &[user("hi"), reply(vec![call("a"), call("b")]), result("a"), user("next")],
        &[(1, Kind::CallWithoutResult("b".into()))],
    );
    assert_violates(
        &[user("hi"), reply(vec![call("a")])],
        &[(1, Kind::CallWithoutResult("a".into())), (1, Kind::EndsInReply)],
    );
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), reply(vec![call("b")]), result("b")],
        &[(1, Kind::CallWithoutResult("a".into()))],
    );
}

#[test]
fn a_result_that_comes_too_late_is_rejected() {
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), user("wait"), result("a")],
        &[(1, Kind::CallWithoutResult("a".into())), (3, Kind::ResultNotAdjacent("a".into()))],
    );
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), result("a"), user("again"), result("a")],
        &[(4, Kind::ResultNotAdjacent("a".into()))],
    );
}

#[test]
fn a_result_without_a_call_is_rejected() {
    assert_violates(&[user("hi"), result("a")], &[(1, Kind::ResultWithoutCall("a".into()))]);
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), result("a"), result("b")],
        &[(3, Kind::ResultWithoutCall("b".into()))],
    );
}

#[test]
fn a_second_result_of_one_call_is_rejected() {
    assert_violates(
        &[user("hi"), reply(vec![call("a")]), result("a"), result("a")],
        &[(3, Kind::RepeatedResult("a".into()))],
    );
}

#[test]
fn results_in_another_order_than_the_calls_are_rejected() {
    assert_violates(
        &[user("hi"), reply(vec![call("a"), call("b"), call("c")]), result("b"), result("a"), result("c")],
        &[(2, Kind::ResultOutOfOrder("b".into()))],
    );
}

#[test]
fn a_call_id_that_was_used_before_is_rejected_anywhere() {
    assert_violates(
        &[user("hi"), reply(vec![call("a"), call("a")]), result("a"), result("a")],
        &[(1, Kind::DuplicateCallId("a".into()))],
    );
    let mut far = vec![user("hi"), reply(vec![call("a")]), result("a")];
    far.extend((0..50).flat_map(|_| [reply(vec![Content::text("x")]), user("y")]));
    far.extend([reply(vec![call("a")]), result("a")]);
    assert_violates(&far, &[(103, Kind::DuplicateCallId("a".into()))]);
}

#[test]
fn a_call_without_id_or_name_is_rejected() {
    assert_violates(&[user("hi"), reply(vec![call("")]), result("")], &[(1, Kind::EmptyCallId)]);
    assert_violates(
        &[user("hi"), reply(vec![Content::tool_call("a", "", json!({}))]), result("a")],
        &[(1, Kind::EmptyToolName)],
    );
    let mut nameless = result("a");
    if let Message::ToolResult(result) = &mut nameless {
        result.tool_name.clear();
    }
    assert_violates(&[user("hi"), reply(vec![call("a")]), nameless], &[(2, Kind::EmptyToolName)]);
}

#[test]
fn arguments_that_are_not_an_object_are_rejected() {
    for arguments in [Value::Null, json!("{}"), json!([]), json!(1)] {
        let call = Content::tool_call("a", "read", arguments);
        assert_violates(
            &[user("hi"), reply(vec![call]), result("a")],
            &[(1, Kind::ArgumentsNotObject("a".into()))],
        );
    }
}

#[test]
fn tools_without_name_with_one_name_or_without_a_schema_are_rejected() {
    let tool = |name: &str, parameters| ToolDefinition {
        name: name.into(),
        description: "does things".into(),
        parameters,
    };
    assert_eq!(validate_tools(&[tool("a", json!({})), tool("b", json!({}))]), []);
    let found = validate_tools(&[
        tool("a", json!({})),
        tool("a", json!({})),
        tool(" ", json!({})),
        tool("c", json!(1)),
    ]);
    assert_eq!(
        found,
        [
            Violation { at: 1, kind: Kind::RepeatedTool("a".into()) },
            Violation { at: 2, kind: Kind::UnnamedTool },
            Violation { at: 3, kind: Kind::SchemaNotObject("c".into()) },
        ]
    );
}

#[test]
fn a_violation_names_position_and_problem() {
    let violation = Violation { at: 3, kind: Kind::CallWithoutResult("toolu_1".into()) };
    assert_eq!(violation.to_string(), "messages.3: `toolu_1` has no result right after it");
}
