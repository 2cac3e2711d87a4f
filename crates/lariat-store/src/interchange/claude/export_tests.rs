use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, CompactionCause, CompactionEdit, Description, EventRecord, FORMAT_VERSION, LoopStart,
    QueueKind, RecordedMessage,
};
use lariat_core::id::{EventId, LoopId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, Message, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::usage::Usage;
use lariat_test::SeededRandom;

use super::super::testing::{assert_same, fold_conversation, shown_conversation};
use super::super::{import, read_conversation};
use super::*;

/// A journal written by hand.
#[derive(Default)]
struct Script {
    events: Vec<Event>,
    loops: u64,
    messages: u128,
}

impl Script {
    fn event(&mut self, event: AgentEvent) {
        let seq = self.events.len() as u64;
        self.events.push(Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq,
            id: EventId::new(Uuid::from_u128(u128::from(seq) + 1)),
            timestamp: Timestamp::from_millis(1_760_000_000_000 + seq),
            loop_id: Some(self.loop_id()),
            event,
        }));
    }

    fn loop_id(&self) -> LoopId {
        LoopId::compose(&"s".into(), "c", self.loops)
    }

    fn begin(&mut self, base: Option<MessageId>) {
        self.loops += 1;
        let mut start = LoopStart::new("agent".into(), "s".into(), self.loop_id());
        start.base = base;
        self.event(AgentEvent::AgentStart(Box::new(start)));
    }

    fn add(&mut self, message: Message) -> MessageId {
        let message = self.with_id(message.into());
        let id = message.id();
        self.event(AgentEvent::MessageEnd { message: RecordedMessage::Full(message) });
        id
    }

    fn with_id(&mut self, mut message: AgentMessage) -> SharedMessage {
        self.messages += 1;
        message.assign_id(|| MessageId::new(Uuid::from_u128((0x7 << 76) | (0b10 << 62) | self.messages)));
        Arc::new(message)
    }

    fn user(&mut self, text: &str) -> MessageId {
        self.add(Message::user(text))
    }

    fn reply(&mut self, content: Vec<Content>, stop_reason: StopReason) -> MessageId {
        self.add(Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            model: "m".into(),
            requested_model: None,
            provider: "p".into(),
            usage: Usage::new(3, 4),
            timestamp: Timestamp::from_millis(1_760_000_000_000),
            error_message: None,
        }))
    }

    fn say(&mut self, text: &str) -> MessageId {
        self.reply(vec![Content::text(text)], StopReason::Stop)
    }

    fn exchange(&mut self, call: &str, output: &str) -> (MessageId, MessageId) {
        let content = vec![Content::text("I look"), Content::tool_call(call, "read", json!({"path": call}))];
        let reply = self.reply(content, StopReason::ToolUse);
        (reply, self.result(call, vec![Content::text(output)]))
    }

    fn result(&mut self, call: &str, content: Vec<Content>) -> MessageId {
        self.add(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: "read".into(),
            content,
            is_error: false,
            timestamp: Timestamp::default(),
        }))
    }

    fn compact(&mut self, edits: Vec<CompactionEdit>) {
        self.event(AgentEvent::Compaction {
            cause: CompactionCause::Manual,
            edits: Arc::new(edits),
            tokens_before: 1000,
            tokens_after: 100,
            usage: Usage::default(),
        });
    }

    fn summarise(&mut self, first: MessageId, last: MessageId, text: &str) {
        let summary = self.with_id(AgentMessage::user(text));
        self.compact(vec![CompactionEdit::Summarise { first, last, summary }]);
    }

    /// Exports, and compares what Claude Code would show with the fold.
    #[track_caller]
    fn check_export(&self, about: &str) -> String {
        let file = export(&"s".into(), &self.events);
        let (said, _, _) = fold_conversation(&self.events);
        assert_same(
            &shown_conversation(&file),
            &said,
            &format!("{about}: Claude Code shows the folded conversation"),
        );
        if !read_conversation(&file).is_empty() {
            let again = import(&file).unwrap();
            assert!(again.notes.is_empty(), "{about}: {:?}", again.notes);
            assert_same(
                &fold_conversation(&again.records(0)).0,
                &said,
                &format!("{about}: the import reads the same conversation"),
            );
        }
        String::from_utf8(file).unwrap()
    }
}

fn lines(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn exports_a_session_with_every_kind_of_message() {
    let mut script = Script::default();
    let mut about = Description::default();
    about.title = Some("A title".into());
    about.cwd = Some("/srv/me".into());
    about.git_branch = Some("main".into());
    about.tags = Some(vec!["a".into(), "b".into()]);
    script.event(AgentEvent::SessionDescribed(Box::new(about)));
    script.begin(None);
    let image = Content::Image { data: "iVBORw0=".into(), mime_type: "image/png".into() };
    let words = UserMessage::new(vec![Content::text("look"), image.clone()]);
    let question = script.add(Message::User(words.at(Timestamp::from_millis(1_760_000_000_000))));
    let thinking = Content::Thinking { thinking: "hm".into(), signature: Some("sig".into()) };
    let reply = script.reply(
        vec![
            thinking,
            Content::RedactedThinking { data: "b3BhcXVl".into() },
            Content::tool_call("t1", "read", json!({"path": "a"})),
            Content::tool_call("t2", "read", json!({"path": "b"})),
        ],
        StopReason::ToolUse,
    );
    script.result("t1", vec![Content::text("one")]);
    script.result("t2", vec![Content::text("two"), image]);
    let extension = script.with_id(ExtensionMessage::new("ui/banner", json!({"text": "hello"})).into());
    script.event(AgentEvent::MessageEnd { message: RecordedMessage::Full(extension) });
    let said = json!({"type": "user", "message": {"role": "user", "content": "never said"}});
    let extension = script.with_id(ExtensionMessage::new("claude-code/user", said).into());
    script.event(AgentEvent::MessageEnd { message: RecordedMessage::Full(extension) });
    let queued = script.with_id(AgentMessage::user("and quickly"));
    script.event(AgentEvent::MessageQueued { queue: QueueKind::Steering, message: Arc::clone(&queued) });
    let earlier = lariat_core::event::MessageRef::unresolved(queued.id());
    script.event(AgentEvent::MessageEnd { message: RecordedMessage::Earlier(earlier) });
    let end = script.say("done");

    let file = script.check_export("everything");
    let lines = lines(&file);
    let by = |uuid: MessageId| lines.iter().find(|line| line["uuid"] == json!(uuid)).unwrap();
    let first = by(question);
    for (name, value) in [
        ("type", json!("user")),
        ("parentUuid", Value::Null),
        ("sessionId", json!(session_uuid(&"s".into()))),
        ("cwd", json!("/srv/me")),
        ("gitBranch", json!("main")),
        ("isSidechain", json!(false)),
        ("userType", json!("external")),
        ("timestamp", json!("2025-10-09T08:53:20.000Z")),
    ] {
        assert_eq!(first[name], value, "{name}");
    }
    let said = &by(reply)["message"];
    assert_eq!((said["type"].as_str(), said["role"].as_str()), (Some("message"), Some("assistant")));
    assert_eq!((said["stop_reason"].as_str(), &said["stop_sequence"]), (Some("tool_use"), &Value::Null));
    assert_eq!(said["usage"]["input_tokens"], 3);
    let result = lines.iter().find(|line| line["toolUseResult"] == "one").unwrap();
    assert_eq!(result["sourceToolAssistantUUID"], json!(reply));
    assert_eq!(result["message"]["content"][0]["content"], "one");
    assert!(file.contains(r#"{"type":"custom-title","customTitle":"A title""#));
    assert!(file.contains("\n{\"type\":\"tag\",\"tag\":\"b\""), "type comes first");
    let summary = lines.iter().find(|line| line["type"] == "summary").unwrap();
    assert_eq!((&summary["summary"], &summary["leafUuid"]), (&json!("A title"), &json!(end)));
    let again = import(file.as_bytes()).unwrap();
    let fold = SessionFold::of(&again.records(0));
    let banner = fold.conversation(fold.tip()).0.window().iter().find_map(|message| match &**message {
        AgentMessage::Extension(extension) => Some((extension.kind.clone(), extension.data.clone())),
        AgentMessage::Llm(_) => None,
    });
    assert_eq!(banner, Some(("ui/banner".to_owned(), json!({"text": "hello"}))));
}

#[test]
fn exports_compactions_as_boundaries_and_keeps_earlier_messages() {
    let mut script = Script::default();
    script.begin(None);
    let first = script.user("begin");
    let (_, output) = script.exchange("t1", "a long output");
    let last = script.say("half way");
    script.compact(vec![CompactionEdit::ClearToolOutput { message: output }]);
    script.user("go on");
    script.say("gone on");
    script.check_export("after clearing");
    script.summarise(first, last, "in short");
    let file = script.check_export("right after a summary");
    assert_eq!(file.matches(BOUNDARY).count(), 2, "the export includes a compaction at the end");
    script.user("what now");
    let end = script.say("the end");
    let file = script.check_export("after a summary");
    let lines = lines(&file);
    let boundaries: Vec<_> = lines.iter().filter(|line| line["subtype"] == BOUNDARY).collect();
    assert_eq!(boundaries.len(), 2);
    for boundary in &boundaries {
        assert_eq!(boundary["parentUuid"], Value::Null);
        let before = &boundary["logicalParentUuid"];
        assert!(lines.iter().any(|line| line["uuid"] == *before), "{before}");
        assert_eq!(boundary["compactMetadata"], json!({"trigger": "manual", "preTokens": 1000}));
    }
    let summary = lines.iter().find(|line| line["isCompactSummary"] == true).unwrap();
    assert_eq!(summary["parentUuid"], boundaries[1]["uuid"]);
    assert!(file.contains("a long output") && file.contains("half way"));
    let uuids: Vec<_> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
    assert_eq!(uuids.iter().collect::<HashSet<_>>().len(), uuids.len(), "no uuid twice");
    assert_eq!(read_conversation(file.as_bytes()).last().unwrap().uuid, end.to_string());
}

#[test]
fn export_ends_at_the_same_message_after_branching_and_rewinding() {
    let mut script = Script::default();
    script.begin(None);
    let question = script.user("which way");
    let answer = script.say("left or right");
    script.begin(Some(answer));
    script.user("left");
    let (called, output) = script.exchange("t1", "a wall");
    script.check_export("one way");
    script.begin(Some(answer));
    script.user("right");
    script.say("a door");
    script.check_export("another way");
    script.event(AgentEvent::Rewound { tip: Some(output) });
    script.check_export("back on the first");
    for (tip, about) in [
        (Some(answer), "back to the fork"),
        (Some(called), "back into an exchange"),
        (Some(question), "back to the question"),
        (None, "back to nothing"),
    ] {
        script.event(AgentEvent::Rewound { tip });
        let file = script.check_export(about);
        assert!(file.contains("a wall") && file.contains("a door"), "{about}: all branches are kept");
    }
    script.begin(None);
    script.user("from the start");
    script.check_export("a second beginning");
}

#[test]
fn broken_and_removed_messages_leave_a_valid_conversation() {
    let mut script = Script::default();
    script.begin(None);
    script.user("go");
    let calls = vec![Content::text("half a"), Content::tool_call("t1", "read", json!({}))];
    script.reply(calls.clone(), StopReason::Aborted);
    script.user("again");
    script.reply(calls.clone(), StopReason::ToolUse);
    script.check_export("a call without result");
    script.user("  ");
    let secret = script.user("a secret");
    script.say("seen");
    script.begin(Some(secret));
    script.event(AgentEvent::MessageRemoved { message_id: secret });
    script.user("after it");
    let file = script.check_export("removed");
    assert!(!file.contains("a secret"));
    let mut script = Script::default();
    script.begin(None);
    script.say("I speak first");
    script.check_export("begins with a reply");
}

#[test]
fn exports_an_empty_journal_as_an_empty_file() {
    assert_eq!(export(&"s".into(), &[]), b"");
}

/// Journals of any shape that a driver or a user could make.
#[test]
fn random_journals_export_to_the_conversation_of_their_fold() {
    for seed in (0..400).chain([2186]) {
        let mut dice = SeededRandom::new(seed);
        let mut script = Script::default();
        let mut ids: Vec<MessageId> = Vec::new();
        script.begin(None);
        for step in 0..3 + dice.below(25) {
            let any = |dice: &mut SeededRandom, ids: &[MessageId]| {
                (!ids.is_empty()).then(|| ids[dice.below(ids.len() as u64) as usize])
            };
            match dice.below(12) {
                0..=2 => ids.push(script.user(&format!("words {step}"))),
                3 | 4 => ids.push(script.say(&format!("reply {step}"))),
                5 | 6 => {
                    let (reply, result) = script.exchange(&format!("t{step}"), &format!("output {step}"));
                    ids.extend([reply, result]);
                }
                7 => {
                    let base = SessionFold::of(&script.events).tip();
                    script.begin(base);
                }
                8 => {
                    let base = any(&mut dice, &ids);
                    script.begin(base);
                }
                9 => {
                    let tip = any(&mut dice, &ids).filter(|_| dice.below(5) > 0);
                    script.event(AgentEvent::Rewound { tip });
                }
                10 => {
                    let fold = SessionFold::of(&script.events);
                    let seen = window_messages(&fold.conversation(fold.tip()).0);
                    if seen.len() > 2 {
                        let last = seen[dice.below(seen.len() as u64) as usize].id();
                        let first = seen[0].id();
                        match dice.below(3) {
                            0 => script.summarise(first, last, &format!("summary {step}")),
                            1 => script.compact(vec![CompactionEdit::Drop { first, last }]),
                            _ => script.compact(vec![CompactionEdit::ClearToolOutput { message: last }]),
                        }
                    }
                }
                _ => {
                    if let Some(message_id) = any(&mut dice, &ids).filter(|_| dice.below(3) == 0) {
                        script.event(AgentEvent::MessageRemoved { message_id });
                    }
                    let content = vec![Content::tool_call(format!("x{step}"), "read", json!({}))];
                    let reason = [StopReason::Aborted, StopReason::Error, StopReason::ToolUse];
                    ids.push(script.reply(content, reason[dice.below(3) as usize]));
                }
            }
        }
        script.check_export(&format!("seed {seed}"));
    }
}
