//! Tests that a transcript is always valid: through its constructors, repair and compaction edits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::event::CompactionEdit;
use crate::message::{ExtensionMessage, LlmMessage, ToolResultMessage, UserMessage};
use crate::time::Timestamp;
use crate::usage::Usage;

fn id(n: u128) -> MessageId {
    MessageId::new(uuid::Uuid::from_u128(n))
}

fn shared(n: u128, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage { id: id(n), turn_id: None, message }))
}

fn user(n: u128, content: Vec<Content>) -> SharedMessage {
    shared(n, Message::User(UserMessage::new(content)))
}

fn user_text(n: u128) -> SharedMessage {
    user(n, vec![format!("words {n}").into()])
}

fn reply_with(n: u128, stop_reason: StopReason, content: Vec<Content>) -> SharedMessage {
    shared(
        n,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            model: "m".into(),
            provider: "p".into(),
            requested_model: None,
            usage: Usage::default(),
            timestamp: Timestamp::default(),
            error_message: None,
        }),
    )
}

fn reply(n: u128, content: Vec<Content>) -> SharedMessage {
    reply_with(n, StopReason::Stop, content)
}

fn calls(n: u128, ids: &[&str]) -> SharedMessage {
    reply_with(n, StopReason::ToolUse, ids.iter().map(|id| call(id)).collect())
}

fn call(id: &str) -> Content {
    Content::tool_call(id, "read", json!({}))
}

fn result_with(n: u128, call: &str, content: Vec<Content>) -> SharedMessage {
    shared(
        n,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: "read".into(),
            content,
            is_error: false,
            timestamp: Timestamp::default(),
        }),
    )
}

fn result(n: u128, call: &str) -> SharedMessage {
    result_with(n, call, vec![format!("output {n}").into()])
}

fn extension() -> SharedMessage {
    Arc::new(ExtensionMessage::new("ui", json!(1)).into())
}

fn thinking(signature: Option<&str>) -> Content {
    Content::Thinking { thinking: "hm".into(), signature: signature.map(str::to_owned) }
}

fn messages(transcript: &Transcript) -> Vec<SharedMessage> {
    transcript.window().iter().cloned().collect()
}

fn repair_kinds(given: Vec<SharedMessage>) -> (Vec<SharedMessage>, Vec<RepairKind>) {
    let (transcript, repairs) = Transcript::repair(given);
    strictly_valid(&transcript.window()).unwrap();
    (messages(&transcript), repairs.into_iter().map(|repair| repair.kind).collect())
}

/// Checks the requirements of model APIs, independently of how transcripts are built.
pub(crate) fn strictly_valid(window: &Window) -> Result<(), String> {
    let sent: Vec<&Message> = window.llm_messages().collect();
    let mut ids = HashSet::new();
    let mut at = 0;
    if !matches!(sent.first(), None | Some(Message::User(_))) {
        return Err("the first message is not a user message".to_owned());
    }
    while at < sent.len() {
        let message = sent[at];
        at += 1;
        if message.content().is_empty() || message.content().iter().any(Content::is_empty) {
            return Err(format!("empty content in {message:?}"));
        }
        let made: Vec<_> = message.content().iter().filter_map(Content::as_tool_call).collect();
        match message {
            Message::ToolResult(result) => {
                return Err(format!("result without a call: {}", result.tool_call_id));
            }
            Message::User(_) if !made.is_empty() => return Err("the user calls tools".to_owned()),
            Message::User(_) => {}
            Message::Assistant(_) => {
                for call in made {
                    if call.id.as_str().is_empty() || !ids.insert(call.id.clone()) {
                        return Err(format!("call id `{}` is empty or used twice", call.id));
                    }
                    let Some(Message::ToolResult(result)) = sent.get(at) else {
                        return Err(format!("no result after call {}", call.id));
                    };
                    if result.tool_call_id != call.id {
                        return Err(format!("result of {} where {} belongs", result.tool_call_id, call.id));
                    }
                    if result.content.is_empty() || result.content.iter().any(Content::is_empty) {
                        return Err(format!("empty result of {}", call.id));
                    }
                    if result.content.iter().any(|block| block.as_tool_call().is_some()) {
                        return Err(format!("the result of {} calls tools", call.id));
                    }
                    at += 1;
                }
                let last = message.content().last();
                if matches!(last, Some(Content::Thinking { .. } | Content::RedactedThinking { .. })) {
                    return Err("a reply ends in thinking".to_owned());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn transcript_grows_by_whole_steps() {
    let mut transcript = Transcript::new();
    assert_eq!(transcript.request().unwrap_err(), NotSendable::Empty);
    transcript.push_user(user_text(1)).unwrap();
    transcript.push_exchange(calls(2, &["a", "b"]), vec![result(3, "a"), result(4, "b")]).unwrap();
    assert!(transcript.request().is_ok(), "results wait for a reply");
    transcript.push_extension(extension()).unwrap();
    assert!(transcript.request().is_ok());
    transcript.push_exchange(reply(5, vec!["done".into()]), vec![]).unwrap();
    assert_eq!(transcript.request().unwrap_err(), NotSendable::EndsInReply);
    transcript.push_extension(extension()).unwrap();
    assert_eq!(transcript.request().unwrap_err(), NotSendable::EndsInReply);
    transcript.push_user(user_text(6)).unwrap();
    assert_eq!(transcript.len(), 8);
    assert_eq!(transcript.request().unwrap().llm_messages().count(), 6);
    assert!(transcript.has_call(&"a".into()) && !transcript.has_call(&"c".into()));
    strictly_valid(&transcript.window()).unwrap();
}

#[test]
fn paused_reply_can_be_sent_back() {
    let mut transcript = Transcript::new();
    transcript.push_user(user_text(1)).unwrap();
    transcript.push_exchange(reply_with(2, StopReason::Pause, vec!["wait".into()]), vec![]).unwrap();
    assert!(transcript.request().is_ok());
}

#[test]
fn push_user_rejects_other_messages() {
    let mut transcript = Transcript::new();
    let refused = [
        (reply(1, vec!["hi".into()]), TranscriptError::WrongRole(id(1))),
        (result(1, "a"), TranscriptError::WrongRole(id(1))),
        (extension(), TranscriptError::WrongRole(MessageId::default())),
        (user(1, vec![]), TranscriptError::Empty(id(1))),
        (user(1, vec!["hi".into(), " \n".into()]), TranscriptError::Empty(id(1))),
        (user(1, vec![call("a")]), TranscriptError::WrongRole(id(1))),
    ];
    for (message, why) in refused {
        assert_eq!(transcript.push_user(message).unwrap_err(), why);
    }
    assert_eq!(
        transcript.push_extension(user_text(1)).unwrap_err(),
        TranscriptError::WrongRole(id(1)),
        "a user message cannot be hidden from the model"
    );
    assert!(transcript.is_empty());
}

#[test]
fn push_exchange_rejects_unpaired_results() {
    let mut transcript = Transcript::new();
    assert_eq!(
        transcript.push_exchange(reply(1, vec!["hi".into()]), vec![]).unwrap_err(),
        TranscriptError::StartsWithReply(id(1))
    );
    transcript.push_user(user_text(1)).unwrap();
    transcript.push_exchange(calls(2, &["old"]), vec![result(3, "old")]).unwrap();
    let unpaired = TranscriptError::Unpaired(id(9));
    let empty = TranscriptError::Empty(id(9));
    let refused = [
        (user_text(9), vec![], TranscriptError::WrongRole(id(9))),
        (reply(9, vec![]), vec![], empty.clone()),
        (reply(9, vec!["".into()]), vec![], empty.clone()),
        (calls(9, &["a"]), vec![], unpaired.clone()),
        (calls(9, &["a"]), vec![result(10, "b")], unpaired.clone()),
        (calls(9, &["a"]), vec![result(10, "a"), result(11, "a")], unpaired.clone()),
        (calls(9, &["a", "b"]), vec![result(10, "b"), result(11, "a")], unpaired.clone()),
        (reply(9, vec!["hi".into()]), vec![result(10, "a")], unpaired),
        (calls(9, &["a"]), vec![user_text(10)], TranscriptError::WrongRole(id(10))),
        (calls(9, &["a"]), vec![result_with(10, "a", vec![])], TranscriptError::Empty(id(10))),
        (calls(9, &["a"]), vec![result_with(10, "a", vec!["".into()])], TranscriptError::Empty(id(10))),
        (calls(9, &["a"]), vec![result_with(10, "a", vec![call("b")])], TranscriptError::WrongRole(id(10))),
        (calls(9, &["old"]), vec![result(10, "old")], TranscriptError::DuplicateCall("old".into())),
        (calls(9, &[""]), vec![result(10, "")], empty),
        (
            calls(9, &["a", "a"]),
            vec![result(10, "a"), result(11, "a")],
            TranscriptError::DuplicateCall("a".into()),
        ),
    ];
    for (reply, results, why) in refused {
        assert_eq!(transcript.push_exchange(reply, results).unwrap_err(), why);
        assert_eq!(transcript.len(), 3, "a rejected step changes nothing");
    }
    transcript.push_exchange(calls(9, &["a"]), vec![result(10, "a")]).unwrap();
}

#[test]
fn valid_conversation_needs_no_repair_and_no_copy() {
    let given = vec![
        user_text(1),
        calls(2, &["a", "b"]),
        result(3, "a"),
        result(4, "b"),
        extension(),
        reply(5, vec![thinking(None), "done".into()]),
    ];
    let (transcript, repairs) = Transcript::repair(given.clone());
    assert_eq!(repairs, []);
    let kept = messages(&transcript);
    assert!(kept.len() == given.len() && kept.iter().zip(&given).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn results_are_sorted_into_call_order() {
    let (kept, repairs) =
        repair_kinds(vec![user_text(1), calls(2, &["a", "b"]), result(3, "b"), result(4, "a")]);
    assert_eq!(repairs, []);
    assert_eq!(kept.iter().map(|message| message.id()).collect::<Vec<_>>(), [1, 2, 4, 3].map(id));
}

#[test]
fn missing_result_becomes_unknown_outcome() {
    let (kept, repairs) =
        repair_kinds(vec![user_text(1), calls(2, &["a", "b"]), result(3, "b"), user_text(4)]);
    assert_eq!(repairs, [RepairKind::MissingResult]);
    let made_up = kept[2].as_tool_result().unwrap();
    assert!(made_up.is_error && crate::content::joined_text(&made_up.content).contains("outcome is unknown"));
    assert_eq!(kept[3].id(), id(3));
}

#[test]
fn orphan_and_repeated_results_are_removed() {
    let given = vec![
        user_text(1),
        result(2, "x"),
        calls(3, &["a"]),
        result(4, "a"),
        result(5, "a"),
        user_text(6),
        result(7, "a"),
    ];
    let (kept, repairs) = repair_kinds(given);
    assert_eq!(repairs, [RepairKind::OrphanResult, RepairKind::RepeatedResult, RepairKind::OrphanResult]);
    assert_eq!(kept.iter().map(|message| message.id()).collect::<Vec<_>>(), [1, 3, 4, 6].map(id));
}

#[test]
fn calls_with_the_same_id_keep_their_results_in_order() {
    let given = vec![user_text(1), calls(2, &["a", "a"]), result(3, "a"), result(4, "a")];
    let (kept, repairs) = repair_kinds(given);
    assert_eq!(repairs, [RepairKind::RenamedCall]);
    assert_eq!(kept.iter().map(|message| message.id()).collect::<Vec<_>>(), [1, 2, 3, 4].map(id));
}

#[test]
fn reused_and_empty_ids_are_replaced_in_call_and_result() {
    let given = vec![
        user_text(1),
        calls(2, &["a"]),
        result(3, "a"),
        calls(4, &["a", ""]),
        result(5, ""),
        result(6, "a"),
    ];
    let (kept, repairs) = repair_kinds(given);
    assert_eq!(repairs, [RepairKind::RenamedCall]);
    assert_eq!(kept.iter().map(|message| message.id()).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 5].map(id));
}

#[test]
fn broken_reply_keeps_only_text_and_signed_thinking() {
    for stop_reason in [StopReason::Aborted, StopReason::Error] {
        let content = vec![thinking(None), thinking(Some("sig")), "so".into(), call("a")];
        let (kept, repairs) = repair_kinds(vec![user_text(1), reply_with(2, stop_reason, content)]);
        assert_eq!(repairs, [RepairKind::EmptyBlocks]);
        assert_eq!(kept[1].as_llm().unwrap().content(), [thinking(Some("sig")), "so".into()]);
    }
}

#[test]
fn thinking_alone_is_not_a_reply() {
    let redacted = || Content::RedactedThinking { data: "x".into() };
    for content in
        [vec![thinking(None)], vec![thinking(Some("sig"))], vec![thinking(Some("sig")), redacted()]]
    {
        let (kept, repairs) = repair_kinds(vec![user_text(1), reply_with(2, StopReason::Length, content)]);
        assert_eq!(repairs, [RepairKind::EmptyMessage]);
        assert_eq!(kept.len(), 1);
    }
    let (kept, _) = repair_kinds(vec![user_text(1), reply(2, vec!["so".into(), thinking(Some("sig"))])]);
    assert_eq!(kept[1].as_llm().unwrap().content(), ["so".into()]);
}

#[test]
fn unknown_block_alone_is_a_reply() {
    let server_tool =
        || Content::Unknown(serde_json::from_value(json!({"type": "server_tool_use"})).unwrap());
    let paused = reply_with(2, StopReason::Pause, vec![server_tool(), "".into()]);
    let (kept, _) = repair_kinds(vec![user_text(1), paused]);
    assert_eq!(kept[1].as_llm().unwrap().content(), [server_tool()]);
}

#[test]
fn conversation_that_starts_with_a_reply_gets_an_opening_note() {
    let (kept, repairs) = repair_kinds(vec![extension(), reply(1, vec!["hi".into()])]);
    assert_eq!(repairs, [RepairKind::StartsWithReply]);
    assert!(kept[1].as_user().is_some() && kept.len() == 3);
}

#[test]
fn empty_output_is_replaced_by_a_note() {
    let given = vec![user_text(1), calls(2, &["a"]), result_with(3, "a", vec!["".into(), call("b")])];
    let (kept, repairs) = repair_kinds(given);
    assert_eq!(repairs, [RepairKind::EmptyBlocks]);
    assert_eq!(kept[2].as_llm().unwrap().text(), NO_OUTPUT);
}

fn any_block() -> impl Strategy<Value = Content> {
    let ids = prop_oneof![Just(""), Just("a"), Just("b"), Just("a_2"), Just("c")];
    prop_oneof![
        4 => Just(Content::text("words")),
        1 => Just(Content::text(" ")),
        1 => Just(thinking(None)),
        1 => Just(thinking(Some("sig"))),
        1 => Just(Content::Thinking { thinking: String::new(), signature: None }),
        1 => Just(Content::Image { data: String::new(), mime_type: "image/png".into() }),
        1 => Just(Content::Image { data: "AA".into(), mime_type: "image/png".into() }),
        1 => Just(Content::RedactedThinking { data: "x".into() }),
        1 => Just(Content::Unknown(serde_json::from_value(json!({"type": "other"})).unwrap())),
        4 => ids.prop_map(call),
        1 => Just(Content::tool_call("n", "", json!({}))),
    ]
}

/// Generates messages as a crash, an import or a manual edit could leave them.
fn any_messages() -> impl Strategy<Value = Vec<SharedMessage>> {
    let stop = prop_oneof![
        4 => Just(StopReason::ToolUse),
        2 => Just(StopReason::Stop),
        1 => Just(StopReason::Aborted),
        1 => Just(StopReason::Error),
        1 => Just(StopReason::Pause),
    ];
    let ids = prop_oneof![Just(""), Just("a"), Just("b"), Just("a_2"), Just("c"), Just("n")];
    let blocks = || proptest::collection::vec(any_block(), 0..4);
    let plain = || prop_oneof![Just(vec![Content::text("words")]), blocks()];
    let message = prop_oneof![
        3 => plain().prop_map(|content| user(0, content)),
        4 => (stop, blocks()).prop_map(|(stop, content)| reply_with(0, stop, content)),
        5 => (ids, plain()).prop_map(|(id, content)| result_with(0, id, content)),
        1 => Just(extension()),
    ];
    proptest::collection::vec(message, 0..14).prop_map(|messages| {
        let numbered = messages.into_iter().zip(1..).map(|(message, n)| {
            let mut message = AgentMessage::clone(&message);
            match &mut message {
                AgentMessage::Llm(llm) => llm.id = id(n),
                AgentMessage::Extension(extension) => extension.id = id(n),
            }
            Arc::new(message)
        });
        numbered.collect()
    })
}

/// Counts how often each message occurs, in any order.
fn counted(messages: &[SharedMessage]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for message in messages {
        *counts.entry(serde_json::to_string(message).unwrap()).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn repaired_messages_are_valid_and_stay_unchanged(given in any_messages()) {
        let (transcript, repairs) = Transcript::repair(given.clone());
        let kept = messages(&transcript);
        prop_assert_eq!(strictly_valid(&transcript.window()), Ok(()));
        prop_assert_eq!(repairs.is_empty(), counted(&given) == counted(&kept), "{:?}", repairs);

        let (again, second) = Transcript::repair(kept.clone());
        prop_assert_eq!(&second, &[]);
        prop_assert_eq!(messages(&again), kept);
        prop_assert_eq!(again.request().is_ok(), transcript.request().is_ok());
    }

    #[test]
    fn accepted_edits_leave_a_valid_conversation(
        given in any_messages(),
        edits in proptest::collection::vec((0u8..3, 1u128..15, 1u128..15), 1..4),
    ) {
        let (transcript, _) = Transcript::repair(given);
        let edits: Vec<CompactionEdit> = edits
            .into_iter()
            .map(|(kind, first, last)| match kind {
                0 => CompactionEdit::ClearToolOutput { message: id(first) },
                1 => CompactionEdit::Drop { first: id(first), last: id(last) },
                _ => CompactionEdit::Summarise { first: id(first), last: id(last), summary: user_text(99) },
            })
            .collect();
        let before = messages(&transcript);
        if let Ok(overlaid) = transcript.with_edits(&edits) {
            prop_assert_eq!(strictly_valid(&overlaid.window()), Ok(()));
            prop_assert_eq!(overlaid.request().is_ok(), transcript.request().is_ok());
        }
        prop_assert_eq!(messages(&transcript), before, "edits do not change the original transcript");
    }
}

/// Messages: user 1, calls 2 (a, b), results 3 and 4, reply 5, user 6.
fn two_turns() -> Transcript {
    let given = vec![
        user_text(1),
        calls(2, &["a", "b"]),
        result(3, "a"),
        result(4, "b"),
        reply(5, vec!["done".into()]),
        user_text(6),
    ];
    Transcript::repair(given).0
}

#[test]
fn each_edit_has_its_documented_effect() {
    let transcript = two_turns();
    let ids = |edits: &[CompactionEdit]| -> Vec<MessageId> {
        let overlaid = transcript.with_edits(edits).unwrap();
        strictly_valid(&overlaid.window()).unwrap();
        overlaid.window().iter().map(|message| message.id()).collect()
    };
    let clear = CompactionEdit::ClearToolOutput { message: id(3) };
    assert_eq!(ids(std::slice::from_ref(&clear)), [1, 2, 3, 4, 5, 6].map(id));
    let cleared = transcript.with_edits(std::slice::from_ref(&clear)).unwrap();
    let text = cleared.window().iter().nth(2).unwrap().as_llm().unwrap().text();
    assert!(text.contains(&id(3).short()) && !text.contains("output 3"), "recallable by id: {text}");

    let drop = CompactionEdit::Drop { first: id(2), last: id(4) };
    assert_eq!(ids(std::slice::from_ref(&drop)), [1, 5, 6].map(id));
    let summarise = CompactionEdit::Summarise { first: id(1), last: id(5), summary: user_text(9) };
    assert_eq!(ids(std::slice::from_ref(&summarise)), [9, 6].map(id));
    let twice = [clear, CompactionEdit::Summarise { first: id(2), last: id(4), summary: user_text(9) }];
    assert_eq!(ids(&twice), [1, 9, 5, 6].map(id));
}

#[test]
fn removed_call_ids_stay_reserved() {
    let mut overlaid = two_turns().with_edits(&[CompactionEdit::Drop { first: id(2), last: id(4) }]).unwrap();
    assert!(overlaid.has_call(&"a".into()), "a running loop does not reuse it");
    // Messages that are read back may reuse it: their writer started from a snapshot and did not know the id.
    overlaid.push_exchange(calls(7, &["a"]), vec![result(8, "a")]).unwrap();
    let again = overlaid.push_exchange(calls(9, &["a"]), vec![result(10, "a")]);
    assert_eq!(again.unwrap_err(), TranscriptError::DuplicateCall("a".into()));
}

#[test]
fn short_call_ids_are_reserved_after_a_snapshot() {
    let mut transcript = two_turns();
    assert!(!transcript.has_call(&"unused".into()));
    transcript.forget_removed_calls();
    let overlaid = transcript.with_edits(&[CompactionEdit::Drop { first: id(2), last: id(4) }]).unwrap();
    for transcript in [transcript, overlaid] {
        assert!(transcript.has_call(&"unused".into()), "a removed call may have had it");
        assert!(!transcript.has_call(&"toolu_01ABCDEFGHIJ".into()), "the provider's ids are random");
    }
}

#[test]
fn edits_that_break_the_conversation_are_rejected() {
    let transcript = two_turns();
    let drop = |first, last| CompactionEdit::Drop { first: id(first), last: id(last) };
    let summarise =
        |first, last, summary| CompactionEdit::Summarise { first: id(first), last: id(last), summary };
    let invalid = [
        drop(2, 2),
        drop(2, 3),
        drop(3, 3),
        drop(4, 5),
        drop(1, 1),
        drop(1, 4),
        drop(6, 6),
        drop(1, 6),
        drop(5, 2),
        summarise(3, 4, user_text(9)),
        summarise(1, 2, user_text(9)),
        summarise(5, 1, user_text(9)),
        summarise(2, 4, reply(9, vec!["in short".into()])),
        summarise(2, 4, extension()),
        summarise(2, 4, user(9, vec![])),
        CompactionEdit::ClearToolOutput { message: id(1) },
        CompactionEdit::ClearToolOutput { message: id(2) },
        CompactionEdit::ClearToolOutput { message: id(5) },
    ];
    for edit in invalid {
        assert_eq!(
            transcript.with_edits(std::slice::from_ref(&edit)).unwrap_err(),
            EditError::Invalid,
            "{edit:?}"
        );
    }
    let unknown = EditError::UnknownMessage(id(7));
    assert_eq!(transcript.with_edits(&[drop(7, 7)]).unwrap_err(), unknown);
    assert_eq!(transcript.with_edits(&[drop(1, 7)]).unwrap_err(), unknown);
    assert_eq!(
        transcript.with_edits(&[drop(2, 5), drop(2, 5)]).unwrap_err(),
        EditError::UnknownMessage(id(2))
    );
}

#[test]
fn snapshot_shares_storage_with_the_transcript() {
    let mut transcript = Transcript::new();
    (1..=1_000).for_each(|n| transcript.push_user(user_text(n)).unwrap());
    let before = transcript.window();
    transcript.push_user(user_text(1_001)).unwrap();
    assert_eq!(before.len(), 1_000);
    assert_eq!(before.shared_prefix(&transcript.window()), 1000, "every message is shared");
}
