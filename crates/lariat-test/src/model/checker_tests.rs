//! Tests of the incremental checker: the same results as a full validation, at the cost of what is new.

use lariat_core::content::Content;
use lariat_core::event::CompactionEdit;
use lariat_core::id::MessageId;
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, Message, StopReason, ToolResultMessage,
};
use lariat_core::model::ModelConfig;
use lariat_core::transcript::Transcript;
use serde_json::json;

use super::*;
use crate::model::strict::{ViolationKind, validate};
use crate::random::SeededRandom;

fn shared(message: Message) -> SharedMessage {
    Arc::new(message.into())
}

fn reply(content: Content, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content: vec![content],
        stop_reason,
        model: String::new(),
        provider: String::new(),
        requested_model: None,
        usage: Default::default(),
        timestamp: Default::default(),
        error_message: None,
    })
}

/// A reply without tool calls: a transcript may contain it, but a request must not end with it.
fn say(transcript: &mut Transcript) {
    transcript.push_exchange(shared(reply(Content::text("done"), StopReason::Stop)), Vec::new()).unwrap();
}

fn exchange(transcript: &mut Transcript, id: &str) {
    let reply = reply(Content::tool_call(id, "read", json!({})), StopReason::ToolUse);
    let result = Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content: vec![Content::text("ok")],
        is_error: false,
        timestamp: Default::default(),
    });
    transcript.push_exchange(shared(reply), vec![shared(result)]).unwrap();
}

fn started() -> Transcript {
    let mut transcript = Transcript::new();
    transcript.push_user(shared(Message::user("go"))).unwrap();
    transcript
}

#[test]
fn a_growing_conversation_is_validated_incrementally() {
    let (mut transcript, mut checker) = (started(), StrictChecker::new());
    for turn in 0..1_000 {
        exchange(&mut transcript, &format!("c{turn}"));
        assert_eq!(checker.check_window(&transcript.window()), []);
    }
    assert_eq!(checker.validated_count(), 2_001);
    checker.check_window(&transcript.window());
    assert_eq!(checker.validated_count(), 2_001, "the same request again costs nothing");
}

#[test]
fn a_rewritten_conversation_is_validated_from_its_start() {
    let (mut transcript, mut checker) = (started(), StrictChecker::new());
    (0..100).for_each(|turn| exchange(&mut transcript, &format!("c{turn}")));
    checker.check_window(&transcript.window());
    // All ids are nil here, so the edit covers everything from the first message to the last.
    let (first, summary) = (MessageId::default(), Arc::new(AgentMessage::user("what was said before")));
    let edit = CompactionEdit::Summarise { first, last: first, summary };
    let compacted = transcript.with_edits(&[edit]).unwrap();
    let judged = checker.validated_count();
    assert_eq!(checker.check_window(&compacted.window()), []);
    assert_eq!(checker.validated_count() - judged, compacted.window().len() as u64);
    assert!(!compacted.window().is_empty());
}

#[test]
fn a_shorter_or_different_conversation_is_not_a_continuation() {
    let (mut long, mut checker) = (started(), StrictChecker::new());
    let mut other = long.clone();
    exchange(&mut long, "c0");
    checker.check_window(&long.window());
    // Reuses the id in another conversation: valid there, a duplicate if treated as a continuation.
    exchange(&mut other, "c0");
    exchange(&mut other, "c1");
    assert_eq!(checker.check_window(&other.window()), []);
    assert_eq!(checker.check_window(&started().window()), []);
}

#[test]
fn a_conversation_that_ends_in_a_reply_is_rejected_until_the_user_continues() {
    let (mut transcript, mut checker) = (started(), StrictChecker::new());
    say(&mut transcript);
    let bad = Violation { at: 1, kind: ViolationKind::EndsInReply };
    assert_eq!(checker.check_window(&transcript.window()), std::slice::from_ref(&bad));
    assert_eq!(checker.check_window(&transcript.window()), [bad]);
    transcript.push_user(shared(Message::user("go on"))).unwrap();
    assert_eq!(checker.check_window(&transcript.window()), []);
}

#[test]
fn tools_are_validated_again_when_they_change() {
    let mut checker = StrictChecker::new();
    let tool =
        |name: &str| ToolDefinition { name: name.into(), description: String::new(), parameters: json!({}) };
    let mut request = StreamConfig::new(Arc::new(ModelConfig::default()), started().window());
    request.tools = Arc::from([tool("a")]);
    assert_eq!(checker.check(&request), []);
    request.tools = Arc::from([tool("a"), tool("a")]);
    let repeated = [Violation { at: 1, kind: ViolationKind::RepeatedTool("a".into()) }];
    assert_eq!(checker.check(&request), repeated);
    assert_eq!(checker.check(&request), repeated);
}

#[test]
fn results_equal_those_of_the_validator_for_any_history() {
    for seed in 0..200 {
        let mut random = SeededRandom::new(seed);
        let mut checker = StrictChecker::new();
        let mut branches = vec![started()];
        for turn in 0..60 {
            let at = random.index(branches.len());
            if random.chance(10) {
                branches.push(branches[at].clone());
            }
            let transcript = &mut branches[at];
            match random.below(10) {
                0 => transcript.push_user(shared(Message::user("more"))).unwrap(),
                1 => {
                    let note = AgentMessage::from(ExtensionMessage::new("note", json!({})));
                    transcript.push_extension(Arc::new(note)).unwrap();
                }
                2 => say(transcript),
                _ => exchange(transcript, &format!("c{turn}")),
            }
            let window = transcript.window();
            assert_eq!(checker.check_window(&window), validate(&window, &[]), "seed {seed}, turn {turn}");
        }
    }
}
