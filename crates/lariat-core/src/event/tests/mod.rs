//! Tests of the journal format: the envelope, the kinds, and writing and reading them.

mod dotted_names;
mod insight;
mod names;
mod resolver;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kind::KNOWN_KINDS;
use super::*;
use crate::budget::{BudgetLimits, BudgetRequest, BudgetScope, BudgetStatus};
use crate::content::Content;
use crate::id::{EventId, MessageId, RequestId, ToolCallId};
use crate::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, SharedMessage, StopReason, ToolResultMessage,
    UserMessage,
};
use crate::model::{PromptSection, SectionStability};
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::time::Timestamp;
use crate::tool::ToolResult;
use crate::transcript::{Repair, RepairKind};
use crate::usage::{Cost, Usage};

const AT: Timestamp = Timestamp::from_millis(1_763_164_800_123);

fn message_id(n: u128) -> MessageId {
    MessageId::new(uuid::Uuid::from_u128(n))
}

fn shared(n: u128, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage { id: message_id(n), turn_id: None, message }))
}

fn user(n: u128, text: &str) -> SharedMessage {
    shared(n, Message::User(UserMessage::new(vec![Content::text(text)]).at(AT)))
}

fn assistant(n: u128, content: Vec<Content>) -> SharedMessage {
    shared(
        n,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason: StopReason::Stop,
            model: "m".into(),
            provider: "p".into(),
            requested_model: None,
            usage: Usage::new(3, 4),
            timestamp: AT,
            error_message: None,
        }),
    )
}

fn tool_result(n: u128, call: &str, text: &str) -> SharedMessage {
    shared(
        n,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: "read".into(),
            content: vec![Content::text(text)],
            is_error: false,
            timestamp: AT,
        }),
    )
}

fn record(event: AgentEvent) -> EventRecord {
    EventRecord {
        v: FORMAT_VERSION,
        seq: 7,
        id: EventId::new(uuid::Uuid::from_u128(99)),
        timestamp: AT,
        loop_id: Some("s.c.1".into()),
        event,
    }
}

fn to_json(record: &EventRecord) -> Value {
    serde_json::to_value(record).unwrap()
}

fn from_json(value: &Value) -> Result<EventRecord, EventParseError> {
    EventRecord::from_json(value.to_string().as_bytes())
}

/// Returns one event of each kind, with every optional field set.
fn samples() -> Vec<AgentEvent> {
    let mut start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    start.parent_loop_id = Some("s.c.0".into());
    start.continuation_kind = Some(ContinuationKind::Branch { tag: "2025-11-15T00:00:00Z".into() });
    start.base = Some(message_id(1));
    start.spawned_by = Some(SpawnRef {
        parent_session_id: "parent".into(),
        parent_loop_id: "parent.c.0".into(),
        tool_call_id: "call".into(),
        tool_name: "task".into(),
    });
    start.config = Some(Arc::new(LoopConfigSnapshot {
        model: "m".into(),
        temperature: Some(0.5),
        max_tokens: Some(100),
        ..LoopConfigSnapshot::default()
    }));
    start.metadata = Some(json!({"any": ["thing", 1]}));
    let call: ToolCallId = "call".into();
    let tool_name = || "read".to_owned();
    let request = PermissionRequest { id: RequestId::new(uuid::Uuid::from_u128(5)), ..request() };
    let summary =
        CompactionEdit::Summarise { first: message_id(1), last: message_id(2), summary: user(3, "in short") };
    let cost = Usage { cost: Cost::from_nano_usd(12), reasoning: 1, ..Usage::new(1, 2) };
    vec![
        AgentEvent::AgentStart(Box::new(start)),
        AgentEvent::AgentEnd {
            messages: vec![MessageRef::resolved(user(1, "hi"))],
            usage: cost,
            outcome: RunOutcome::LimitReached { limit: LimitKind::Cost, scope: BudgetScope::Run },
            rejection: Some("no".into()),
        },
        AgentEvent::TurnStart { turn_index: 3, triggered_by: TurnTrigger::SubAgent },
        AgentEvent::TurnEnd {
            message: MessageRef::unresolved(message_id(2)),
            usage: cost,
            tool_results: vec![MessageRef::unresolved(message_id(3))],
        },
        AgentEvent::MessageStart { message: MessageRef::unresolved(message_id(2)) },
        AgentEvent::MessageUpdate {
            message: MessageRef::unresolved(message_id(2)),
            delta: StreamDelta::Thinking { delta: "hm".into() },
        },
        AgentEvent::MessageEnd { message: RecordedMessage::Full(assistant(2, vec!["hello".into()])) },
        AgentEvent::ToolExecutionStart {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            args: ArgsRef::Rewritten(Arc::new(json!({"path": "b"}))),
        },
        AgentEvent::ToolExecutionUpdate {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            partial_result: Arc::new(ToolResult::text("half").with_details(json!({"lines": 1}))),
        },
        AgentEvent::ToolExecutionEnd {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            message: MessageRef::unresolved(message_id(3)),
            details: json!({"exit_code": 1}),
            is_error: true,
            child_loop_id: Some("child.c.0".into()),
        },
        AgentEvent::ProgressMessage {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            text: "busy".into(),
        },
        AgentEvent::AbortRequested,
        AgentEvent::HookStopped { reason: "enough".into() },
        AgentEvent::HookMessage { message: "formatted 2 files".into() },
        AgentEvent::StopBlocked { reason: "tests fail".into(), message_id: MessageId::default() },
        AgentEvent::InputRejected { reason: "no".into() },
        AgentEvent::InputWarned { warning: "careful".into() },
        AgentEvent::ParallelLoopStart {
            session_id: "s".into(),
            loop_ids: vec!["s.a.0".into()],
            prompts: vec![Arc::new(AgentMessage::user("go"))],
        },
        AgentEvent::ParallelLoopEnd {
            session_id: "s".into(),
            selected_loop_id: "s.a.0".into(),
            selected_config_index: 0,
            evaluation_usage: cost,
        },
        AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(4, "later") },
        AgentEvent::MessagesImported { base: Some(message_id(1)), messages: vec![user(5, "old")] },
        AgentEvent::SessionImported(Box::new(Import::new("abc", "claude", "there".into()))),
        AgentEvent::SessionTakenOver { import_id: "abc".into() },
        AgentEvent::MessageRemoved { message_id: message_id(5) },
        AgentEvent::PermissionRequired { request: Arc::new(request.clone()) },
        AgentEvent::PermissionDecided {
            request_id: request.id,
            tool_call_id: call.clone(),
            decision: PermissionDecision::deny("not now"),
        },
        AgentEvent::ToolBlocked {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            by: BlockedBy::PermissionCheck,
            reason: Some("a rule".into()),
        },
        AgentEvent::TasksChanged {
            tool_call_id: call.clone(),
            tasks: vec![Task::new("read", "completed"), Task::new("write", "in_progress")],
            started: vec!["write".into()],
            completed: vec!["read".into()],
        },
        AgentEvent::PlanChangeQueued {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            summary: "write a".into(),
        },
        AgentEvent::PlanDecided { approved: vec![call.clone()], rejected: vec!["other".into()] },
        AgentEvent::Compaction {
            cause: CompactionCause::Overflow,
            edits: Arc::new(vec![
                CompactionEdit::ClearToolOutput { message: message_id(3) },
                summary,
                CompactionEdit::Drop { first: message_id(1), last: message_id(2) },
            ]),
            tokens_before: 100,
            tokens_after: 10,
            usage: cost,
        },
        AgentEvent::CompactionWarning { tokens: 80, window: 100 },
        AgentEvent::ContextCounted { tokens: 81 },
        AgentEvent::CompactionUndone { compaction: EventId::new(uuid::Uuid::from_u128(9)) },
        AgentEvent::MessagePinned { message_id: message_id(1), pinned: true },
        AgentEvent::ContextFull(Box::new(ContextFull::new(
            120,
            Some(100),
            "nothing left".into(),
            vec![LargeMessage::new(message_id(3), Some(tool_name()), 110)],
        ))),
        AgentEvent::CompactionRefused {
            cause: CompactionCause::Threshold,
            reason: "too small".into(),
            usage: Usage::new(7, 3),
        },
        AgentEvent::Checkpoint { label: "before".into(), message_id: Some(message_id(2)) },
        AgentEvent::SessionDescribed(Box::new(Description {
            title: Some("fix the tests".into()),
            cwd: Some("/w".into()),
            git_branch: Some("main".into()),
            tags: Some(vec!["tests".into()]),
        })),
        AgentEvent::Rewound { tip: Some(message_id(2)) },
        AgentEvent::FileRestoreStarted(Box::new(FileRestore {
            calls: vec!["c1".into()],
            conversation: Some(RewindTarget { tip: Some(message_id(2)) }),
        })),
        AgentEvent::FileRestoreEnded(Box::new(FileRestoreResult {
            restored: vec!["a.rs".into()],
            kept: vec![("b.rs".into(), "changed_by_user".into())],
            not_restorable: vec!["c.bin".into()],
            undo: vec!["rewind-1".into()],
            problem: Some("the undo store is in use".into()),
        })),
        AgentEvent::UserCommandStarted { command_id: "k1".into(), command: "cargo test".into() },
        AgentEvent::UserCommandEnded(Box::new(UserCommandResult {
            command_id: "k1".into(),
            exit_code: Some(1),
            problem: Some("interrupted".into()),
        })),
        AgentEvent::Learned(Box::new(Learning {
            learning_id: "l1".into(),
            text: "run the generator first".into(),
            evidence: Some("the build failed".into()),
            tags: vec!["build".into()],
        })),
        AgentEvent::SessionFormed {
            formation: SessionFormation::InactivityTimeout { idle_secs: 61 },
            previous: Some("before".into()),
        },
        AgentEvent::Unlearned { learning_id: "l1".into() },
        AgentEvent::PromptAssembled {
            sections: vec![PromptSection::new("base", SectionStability::Static, "Be brief.")].into(),
        },
        AgentEvent::GoalChanged(Box::new(Goal {
            goal_id: "g1".into(),
            text: "all tests pass".into(),
            status: GoalStatus::Done,
        })),
        AgentEvent::CommandAccepted(Box::new(CommandRecord {
            command_id: "c1".into(),
            client: "terminal".into(),
            by: "user:ada".into(),
            action: "prompt".into(),
            digest: "sha256:00".into(),
            is_in_process: false,
        })),
        AgentEvent::ModeChanged { mode: "plan".into() },
        AgentEvent::ModelChanged { model: "a/b".into(), effort: Some("high".into()) },
        AgentEvent::MessageUnqueued { message_id: message_id(2) },
        AgentEvent::EventLost { note: "null bytes".into() },
        AgentEvent::BudgetWarning {
            limit: LimitKind::Tokens,
            used_percent: 80,
            scope: BudgetScope::Session,
            level: 70,
            used: 80,
            cap: 100,
        },
        AgentEvent::BudgetExtensionRequested {
            request: Arc::new(BudgetRequest::new(
                RequestId::default(),
                BudgetStatus::new(BudgetScope::Pool, LimitKind::Cost, 5, 4),
            )),
        },
        AgentEvent::BudgetExtended {
            scope: BudgetScope::Day,
            limits: BudgetLimits::none().with_turns(3),
            by: "user".into(),
        },
        AgentEvent::LimitReached {
            limit: LimitKind::Turns,
            scope: BudgetScope::Run,
            note: "50 turns".into(),
        },
        AgentEvent::RepetitionDetected { tool_name: tool_name(), count: 3, pattern: LoopPattern::Cycle },
        AgentEvent::MessageWithdrawn { message_id: message_id(2) },
        AgentEvent::ModelRetry { attempt: 1, delay_ms: 900, error: "busy".into() },
        AgentEvent::ModelFallback { from: "a".into(), to: "b".into(), error: "busy".into() },
        AgentEvent::SubAgentSpawned {
            tool_call_id: call.clone(),
            child_loop_id: "child.c.0".into(),
            child_session_id: "child".into(),
            task: "look".into(),
            report: Some(message_id(2)),
        },
        AgentEvent::SubAgentCompleted {
            tool_call_id: call.clone(),
            child_loop_id: "child.c.0".into(),
            outcome: RunOutcome::Failed { error: "gone".into() },
            usage: cost,
        },
        AgentEvent::FindingShared(Box::new(
            Finding::new("f1", "child".into(), "The parser drops a trailing comma.")
                .by(["explore"])
                .about(["src/parse.rs"]),
        )),
        AgentEvent::LoopRecovered {
            interrupted: vec![call],
            repairs: vec![Repair { message_id: message_id(2), kind: RepairKind::MissingResult }],
        },
        AgentEvent::JournalUnavailable { error: "disk full".into(), unsaved: 3 },
        AgentEvent::JournalRestored,
    ]
}

fn request() -> PermissionRequest {
    let Content::ToolCall(call) = Content::tool_call("call", "read", json!({"path": "a"})) else {
        unreachable!()
    };
    PermissionRequest::new(&call, "read a").with_reason("ask mode").with_remember("read(*)")
}

/// Does not compile after a kind is added, to remind the author to update `samples` and `KNOWN_KINDS`.
fn has_a_sample(event: &AgentEvent) {
    match event {
        AgentEvent::AgentStart(_)
        | AgentEvent::AgentEnd { .. }
        | AgentEvent::TurnStart { .. }
        | AgentEvent::TurnEnd { .. }
        | AgentEvent::MessageStart { .. }
        | AgentEvent::MessageUpdate { .. }
        | AgentEvent::MessageEnd { .. }
        | AgentEvent::ToolExecutionStart { .. }
        | AgentEvent::ToolExecutionUpdate { .. }
        | AgentEvent::ToolExecutionEnd { .. }
        | AgentEvent::ProgressMessage { .. }
        | AgentEvent::AbortRequested
        | AgentEvent::HookStopped { .. }
        | AgentEvent::HookMessage { .. }
        | AgentEvent::StopBlocked { .. }
        | AgentEvent::InputRejected { .. }
        | AgentEvent::InputWarned { .. }
        | AgentEvent::ParallelLoopStart { .. }
        | AgentEvent::ParallelLoopEnd { .. }
        | AgentEvent::MessageQueued { .. }
        | AgentEvent::MessagesImported { .. }
        | AgentEvent::SessionImported(_)
        | AgentEvent::SessionTakenOver { .. }
        | AgentEvent::MessageRemoved { .. }
        | AgentEvent::PromptAssembled { .. }
        | AgentEvent::PermissionRequired { .. }
        | AgentEvent::PermissionDecided { .. }
        | AgentEvent::ToolBlocked { .. }
        | AgentEvent::TasksChanged { .. }
        | AgentEvent::PlanChangeQueued { .. }
        | AgentEvent::PlanDecided { .. }
        | AgentEvent::Compaction { .. }
        | AgentEvent::CompactionRefused { .. }
        | AgentEvent::CompactionWarning { .. }
        | AgentEvent::ContextCounted { .. }
        | AgentEvent::CompactionUndone { .. }
        | AgentEvent::MessagePinned { .. }
        | AgentEvent::ContextFull(_)
        | AgentEvent::Checkpoint { .. }
        | AgentEvent::SessionFormed { .. }
        | AgentEvent::SessionDescribed(_)
        | AgentEvent::Rewound { .. }
        | AgentEvent::FileRestoreStarted(_)
        | AgentEvent::FileRestoreEnded(_)
        | AgentEvent::UserCommandStarted { .. }
        | AgentEvent::UserCommandEnded(_)
        | AgentEvent::Learned(_)
        | AgentEvent::Unlearned { .. }
        | AgentEvent::GoalChanged(_)
        | AgentEvent::CommandAccepted(_)
        | AgentEvent::ModeChanged { .. }
        | AgentEvent::ModelChanged { .. }
        | AgentEvent::MessageUnqueued { .. }
        | AgentEvent::EventLost { .. }
        | AgentEvent::BudgetWarning { .. }
        | AgentEvent::BudgetExtensionRequested { .. }
        | AgentEvent::BudgetExtended { .. }
        | AgentEvent::LimitReached { .. }
        | AgentEvent::RepetitionDetected { .. }
        | AgentEvent::MessageWithdrawn { .. }
        | AgentEvent::ModelRetry { .. }
        | AgentEvent::ModelFallback { .. }
        | AgentEvent::SubAgentSpawned { .. }
        | AgentEvent::SubAgentCompleted { .. }
        | AgentEvent::FindingShared(_)
        | AgentEvent::LoopRecovered { .. }
        | AgentEvent::JournalUnavailable { .. }
        | AgentEvent::JournalRestored => {}
        AgentEvent::Unknown(_) => panic!("not a kind of its own"),
    }
}

#[test]
fn every_kind_round_trips_through_json() {
    for event in samples() {
        has_a_sample(&event);
        let written = record(event);
        let json = to_json(&written);
        let read = from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(read, written);
        assert_eq!(to_json(&read), json);
    }
}

#[test]
fn known_kinds_are_exactly_the_serialised_kinds() {
    let written: Vec<String> = samples()
        .into_iter()
        .map(|event| to_json(&record(event))["type"].as_str().unwrap().to_owned())
        .collect();
    let distinct: BTreeSet<&str> = written.iter().map(String::as_str).collect();
    assert_eq!(distinct.len(), written.len(), "one sample per kind");
    assert_eq!(distinct, KNOWN_KINDS.iter().copied().collect());
}

#[test]
fn known_kind_with_a_missing_field_is_an_error() {
    // Fields that may be missing, because the journal omits them when they are empty.
    let optional = [
        "parent_loop_id",
        "continuation_kind",
        "base",
        "spawned_by",
        "config",
        "metadata",
        "rejection",
        "args",
        "details",
        "child_loop_id",
        "reason",
        "message_id",
        "usage",
        "repairs",
        "title",
        "cwd",
        "git_branch",
        "tags",
        "tip",
        "evidence",
        "effort",
        "started",
        "previous",
        "completed",
        "conversation",
        "kept",
        "not_restorable",
        "undo",
        "problem",
        "exit_code",
        "prompts",
        "report",
        "agents",
        "files",
        // Journals of earlier versions know one kind of limit and one kind of repetition.
        "scope",
        "level",
        "used",
        "cap",
        "pattern",
        "window",
    ];
    let envelope = ["v", "seq", "id", "timestamp", "loop_id", "type"];
    for event in samples() {
        let json = to_json(&record(event));
        for field in json.as_object().unwrap().keys() {
            // The loop id is in the envelope; without it, AgentStart is incomplete.
            if envelope.contains(&field.as_str()) || optional.contains(&field.as_str()) {
                continue;
            }
            let mut broken = json.clone();
            broken.as_object_mut().unwrap().remove(field);
            let read = from_json(&broken);
            assert!(
                matches!(&read, Err(EventParseError::WrongFields(kind)) if json["type"] == **kind),
                "{broken} without `{field}` gave {read:?}"
            );
        }
    }
}

#[test]
fn envelope_has_the_documented_names() {
    let json = to_json(&record(AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User }));
    assert_eq!(
        json,
        json!({
            "v": 1,
            "seq": 7,
            "id": "00000000-0000-0000-0000-000000000063",
            "timestamp": "2025-11-15T00:00:00.123Z",
            "loop_id": "s.c.1",
            "type": "TurnStart",
            "turn_index": 0,
            "triggered_by": "User",
        })
    );
}

#[test]
fn loop_start_has_its_loop_id_only_in_the_envelope() {
    let start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    let written = record(AgentEvent::AgentStart(Box::new(start)));
    let text = serde_json::to_string(&written).unwrap();
    assert_eq!(text.matches("\"loop_id\"").count(), 1, "a duplicate name is not valid JSON: {text}");
    assert_eq!(EventRecord::from_json(text.as_bytes()).unwrap(), written);
}

#[test]
fn session_event_has_no_loop_id() {
    let mut written = record(AgentEvent::MessageRemoved { message_id: message_id(1) });
    written.loop_id = None;
    let json = to_json(&written);
    assert!(json.get("loop_id").is_none());
    assert_eq!(from_json(&json).unwrap(), written);
}

#[test]
fn unknown_kind_round_trips_unchanged() {
    let json = json!({
        "v": 1, "seq": 1, "id": EventId::new(uuid::Uuid::from_u128(1)), "timestamp": "2025-11-15T00:00:00.123Z",
        "loop_id": "s.c.1", "type": "Teleported", "to": {"x": 1.5, "y": [null, true, -3, 18446744073709551615u64]},
    });
    let read = from_json(&json).unwrap();
    assert!(matches!(&read.event, AgentEvent::Unknown(fields) if fields["type"] == "Teleported"));
    assert!(read.is_durable(), "unknown events are kept");
    assert_eq!(to_json(&read), json);
}

#[test]
fn event_of_a_newer_format_is_refused_by_its_number() {
    let mut json = to_json(&record(AgentEvent::AbortRequested));
    json["v"] = json!(FORMAT_VERSION + 1);
    assert!(matches!(from_json(&json), Err(EventParseError::Newer(found)) if found == FORMAT_VERSION + 1));
    let refused = serde_json::from_value::<EventRecord>(json).unwrap_err();
    assert!(refused.to_string().contains("this version reads up to 1"), "{refused}");
    // Another envelope, and another form of a known kind.
    for other in [json!({"v": 7, "position": 1}), json!({"v": 7, "seq": 1, "type": "TurnStart", "turn": 0})] {
        assert!(matches!(from_json(&other), Err(EventParseError::Newer(7))), "{other}");
    }
}

#[test]
fn unknown_block_round_trips_unchanged() {
    let json = json!({
        "role": "assistant", "id": message_id(1), "stop_reason": "stop", "model": "m", "provider": "p",
        "usage": Usage::new(1, 2), "timestamp": 5,
        "content": [{"type": "hologram", "beams": [1, 2.5, {"deep": null}]}, {"type": "text", "text": "hi"}],
    });
    let read: AgentMessage = serde_json::from_value(json.clone()).unwrap();
    assert!(matches!(read.as_llm().unwrap().content()[0], Content::Unknown(_)));
    assert_eq!(serde_json::to_value(&read).unwrap(), json);
}

#[test]
fn invalid_text_is_an_error() {
    for text in ["", "{", "[]", "null", r#"{"type":"AbortRequested"}"#] {
        assert!(
            matches!(EventRecord::from_json(text.as_bytes()), Err(EventParseError::Malformed(_))),
            "{text}"
        );
    }
}

#[test]
fn events_reference_messages_without_their_content() {
    let marker = "the marker text";
    let reply = assistant(2, vec![marker.into()]);
    let result = tool_result(3, "call", marker);
    let events = [
        AgentEvent::TurnEnd {
            message: MessageRef::resolved(Arc::clone(&reply)),
            usage: Usage::default(),
            tool_results: vec![MessageRef::resolved(Arc::clone(&result))],
        },
        AgentEvent::AgentEnd {
            messages: vec![MessageRef::resolved(reply)],
            usage: Usage::default(),
            outcome: RunOutcome::Completed,
            rejection: None,
        },
        AgentEvent::ToolExecutionEnd {
            tool_call_id: "call".into(),
            tool_name: "read".into(),
            message: MessageRef::resolved(result),
            details: Value::Null,
            is_error: false,
            child_loop_id: None,
        },
    ];
    let [turn_end, agent_end, tool_end] = events.map(|event| to_json(&record(event)));
    assert_eq!(turn_end["message"], json!(message_id(2)));
    assert_eq!(turn_end["tool_results"], json!([message_id(3)]));
    assert_eq!(agent_end["messages"], json!([message_id(2)]));
    assert_eq!(tool_end["message"], json!(message_id(3)));
    for json in [turn_end, agent_end, tool_end] {
        assert!(!json.to_string().contains(marker), "{json}");
    }
}

#[test]
fn only_these_kinds_are_live() {
    let live: Vec<String> = samples()
        .into_iter()
        .filter(|event| !event.is_durable())
        .map(|event| to_json(&record(event))["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        live,
        [
            "MessageStart",
            "MessageUpdate",
            "ToolExecutionUpdate",
            "ProgressMessage",
            "MessageWithdrawn",
            "ModelRetry",
            "ModelFallback",
            "JournalUnavailable",
            "JournalRestored"
        ]
    );
}

#[test]
fn validation_applies_to_every_deserialisation() {
    let start =
        record(AgentEvent::AgentStart(Box::new(LoopStart::new("agent".into(), "s".into(), "s.c.1".into()))));
    let read: Event = serde_json::from_value(to_json(&start)).unwrap();
    assert_eq!(*read, start);
    let mut homeless = to_json(&start);
    homeless.as_object_mut().unwrap().remove("loop_id");
    assert!(matches!(from_json(&homeless), Err(EventParseError::WrongFields(kind)) if kind == "AgentStart"));
    let mut broken = to_json(&record(AgentEvent::InputRejected { reason: "no".into() }));
    broken.as_object_mut().unwrap().remove("reason");
    assert!(serde_json::from_value::<EventRecord>(broken).is_err());
}
