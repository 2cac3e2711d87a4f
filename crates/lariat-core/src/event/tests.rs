//! The journal format: names, envelope, defaults, and what survives being written and read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::kind::KNOWN_KINDS;
use super::*;
use crate::config::{ContextConfig, ExecutionLimits, QueueMode, RetryConfig, ToolExecutionStrategy};
use crate::content::Content;
use crate::id::{EventId, LoopId, MessageId, RequestId, ToolCallId};
use crate::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, LlmMessage, Message, SharedMessage, StopReason,
    ToolResultMessage, UserMessage,
};
use crate::model::{CacheConfig, CacheStrategy};
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
    shared(n, Message::User(UserMessage { content: vec![Content::text(text)], timestamp: AT }))
}

fn assistant(n: u128, content: Vec<Content>) -> SharedMessage {
    shared(
        n,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason: StopReason::Stop,
            model: "m".into(),
            provider: "p".into(),
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

/// One event of each kind, with every optional field set.
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
            outcome: RunOutcome::LimitReached { limit: LimitKind::Cost },
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
        AgentEvent::MessageEnd { message: Recorded::Full(assistant(2, vec!["hello".into()])) },
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
        AgentEvent::InputRejected { reason: "no".into() },
        AgentEvent::InputWarned { warning: "careful".into() },
        AgentEvent::ParallelLoopStart { session_id: "s".into(), loop_ids: vec!["s.a.0".into()] },
        AgentEvent::ParallelLoopEnd {
            session_id: "s".into(),
            selected_loop_id: "s.a.0".into(),
            selected_config_index: 0,
            evaluation_usage: cost,
        },
        AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(4, "later") },
        AgentEvent::MessagesImported { base: Some(message_id(1)), messages: vec![user(5, "old")] },
        AgentEvent::MessageRemoved { message_id: message_id(5) },
        AgentEvent::PermissionRequired { request: Arc::new(request.clone()) },
        AgentEvent::PermissionDecided {
            request_id: request.id,
            tool_call_id: call.clone(),
            decision: PermissionDecision::deny("not now"),
        },
        AgentEvent::PlanChangeQueued {
            tool_call_id: call.clone(),
            tool_name: tool_name(),
            summary: "write a".into(),
        },
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
        AgentEvent::CompactionRefused { cause: CompactionCause::Threshold, reason: "too small".into() },
        AgentEvent::Checkpoint { label: "before".into(), message_id: Some(message_id(2)) },
        AgentEvent::BudgetWarning { limit: LimitKind::Tokens, used_percent: 80 },
        AgentEvent::LimitReached { limit: LimitKind::Turns, note: "50 turns".into() },
        AgentEvent::RepetitionDetected { tool_name: tool_name(), count: 3 },
        AgentEvent::ModelRetry { attempt: 1, delay_ms: 900, error: "busy".into() },
        AgentEvent::SubAgentSpawned {
            tool_call_id: call.clone(),
            child_loop_id: "child.c.0".into(),
            child_session_id: "child".into(),
            task: "look".into(),
        },
        AgentEvent::SubAgentCompleted {
            tool_call_id: call.clone(),
            child_loop_id: "child.c.0".into(),
            outcome: RunOutcome::Failed { error: "gone".into() },
            usage: cost,
        },
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

/// Stops compiling when a kind is added, so that whoever adds one is led to `samples` and `KNOWN_KINDS`.
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
        | AgentEvent::InputRejected { .. }
        | AgentEvent::InputWarned { .. }
        | AgentEvent::ParallelLoopStart { .. }
        | AgentEvent::ParallelLoopEnd { .. }
        | AgentEvent::MessageQueued { .. }
        | AgentEvent::MessagesImported { .. }
        | AgentEvent::MessageRemoved { .. }
        | AgentEvent::PermissionRequired { .. }
        | AgentEvent::PermissionDecided { .. }
        | AgentEvent::PlanChangeQueued { .. }
        | AgentEvent::Compaction { .. }
        | AgentEvent::CompactionRefused { .. }
        | AgentEvent::Checkpoint { .. }
        | AgentEvent::BudgetWarning { .. }
        | AgentEvent::LimitReached { .. }
        | AgentEvent::RepetitionDetected { .. }
        | AgentEvent::ModelRetry { .. }
        | AgentEvent::SubAgentSpawned { .. }
        | AgentEvent::SubAgentCompleted { .. }
        | AgentEvent::LoopRecovered { .. }
        | AgentEvent::JournalUnavailable { .. }
        | AgentEvent::JournalRestored => {}
        AgentEvent::Unknown(_) => panic!("not a kind of its own"),
    }
}

#[test]
fn every_kind_survives_json() {
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
fn the_known_kinds_are_exactly_the_kinds_that_are_written() {
    let written: Vec<String> = samples()
        .into_iter()
        .map(|event| to_json(&record(event))["type"].as_str().unwrap().to_owned())
        .collect();
    let distinct: BTreeSet<&str> = written.iter().map(String::as_str).collect();
    assert_eq!(distinct.len(), written.len(), "one sample per kind");
    assert_eq!(distinct, KNOWN_KINDS.iter().copied().collect());
}

#[test]
fn every_known_kind_with_a_field_missing_is_an_error_and_never_unknown() {
    // Fields that may be missing, because the journal leaves them out when they say nothing.
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
    ];
    let envelope = ["v", "seq", "id", "timestamp", "loop_id", "type"];
    for event in samples() {
        let json = to_json(&record(event));
        for field in json.as_object().unwrap().keys() {
            // The loop's own id stands in the envelope's place; without it AgentStart is incomplete.
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
fn the_envelope_has_the_documented_names() {
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
fn the_start_of_a_loop_keeps_its_loop_id_beside_the_envelope() {
    let start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    let written = record(AgentEvent::AgentStart(Box::new(start)));
    let text = serde_json::to_string(&written).unwrap();
    assert_eq!(text.matches("\"loop_id\"").count(), 1, "a name that comes twice is not JSON: {text}");
    assert_eq!(EventRecord::from_json(text.as_bytes()).unwrap(), written);
}

#[test]
fn an_event_of_the_session_has_no_loop_id() {
    let mut written = record(AgentEvent::MessageRemoved { message_id: message_id(1) });
    written.loop_id = None;
    let json = to_json(&written);
    assert!(json.get("loop_id").is_none());
    assert_eq!(from_json(&json).unwrap(), written);
}

#[test]
fn an_unknown_kind_survives_unchanged() {
    let json = json!({
        "v": 9, "seq": 1, "id": EventId::new(uuid::Uuid::from_u128(1)), "timestamp": "2025-11-15T00:00:00.123Z",
        "loop_id": "s.c.1", "type": "Teleported", "to": {"x": 1.5, "y": [null, true, -3, 18446744073709551615u64]},
    });
    let read = from_json(&json).unwrap();
    assert!(matches!(&read.event, AgentEvent::Unknown(fields) if fields["type"] == "Teleported"));
    assert!(read.is_durable(), "what is not understood is not thrown away");
    assert_eq!(to_json(&read), json);
}

#[test]
fn an_unknown_block_survives_unchanged() {
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
fn text_that_is_no_event_is_an_error() {
    for text in ["", "{", "[]", "null", r#"{"type":"AbortRequested"}"#] {
        assert!(
            matches!(EventRecord::from_json(text.as_bytes()), Err(EventParseError::Malformed(_))),
            "{text}"
        );
    }
}

#[test]
fn events_that_name_messages_do_not_repeat_their_content() {
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
fn live_events_are_told_from_durable_ones() {
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
            "ModelRetry",
            "JournalUnavailable",
            "JournalRestored"
        ]
    );
}

#[test]
fn blocks_have_the_names_of_the_seed() {
    let blocks = [
        (Content::text("a"), json!({"type": "text", "text": "a"})),
        (
            Content::Image { data: "AA".into(), mime_type: "image/png".into() },
            json!({"type": "image", "data": "AA", "mime_type": "image/png"}),
        ),
        (
            Content::Thinking { thinking: "hm".into(), signature: Some("sig".into()) },
            json!({"type": "thinking", "thinking": "hm", "signature": "sig"}),
        ),
        (
            Content::tool_call("c", "read", json!({"a": 1})),
            json!({"type": "toolCall", "id": "c", "name": "read", "arguments": {"a": 1}}),
        ),
        (Content::RedactedThinking { data: "x".into() }, json!({"type": "redactedThinking", "data": "x"})),
    ];
    for (block, json) in blocks {
        assert_eq!(serde_json::to_value(&block).unwrap(), json);
        assert_eq!(serde_json::from_value::<Content>(json).unwrap(), block);
    }
}

#[test]
fn stop_reasons_have_the_names_of_the_seed() {
    let names = [
        (StopReason::Stop, "stop"),
        (StopReason::Length, "length"),
        (StopReason::ToolUse, "toolUse"),
        (StopReason::Error, "error"),
        (StopReason::Aborted, "aborted"),
    ];
    for (reason, name) in names {
        assert_eq!(serde_json::to_value(reason).unwrap(), json!(name));
    }
}

#[test]
fn messages_have_the_roles_and_fields_of_the_seed() {
    let extension: AgentMessage = ExtensionMessage::new("ui_update", json!({"a": 1})).into();
    let role = |message: &AgentMessage| serde_json::to_value(message).unwrap()["role"].clone();
    assert_eq!(role(&user(1, "hi")), "user");
    assert_eq!(role(&assistant(2, vec!["hi".into()])), "assistant");
    assert_eq!(role(&tool_result(3, "call", "out")), "toolResult");
    assert_eq!(role(&extension), "extension");

    let fields = |message: &AgentMessage| {
        let json = serde_json::to_value(message).unwrap();
        assert_eq!(&serde_json::from_value::<AgentMessage>(json.clone()).unwrap(), message);
        json.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(fields(&user(1, "hi")), "content id role timestamp");
    assert_eq!(
        fields(&assistant(2, vec!["hi".into()])),
        "content id model provider role stop_reason timestamp usage"
    );
    assert_eq!(
        fields(&tool_result(3, "call", "out")),
        "content id is_error role timestamp tool_call_id tool_name"
    );
    assert_eq!(fields(&extension), "data id kind role");
    let timestamp = serde_json::to_value(&*user(1, "hi")).unwrap()["timestamp"].clone();
    assert_eq!(timestamp, json!(AT.as_millis()), "messages count milliseconds");
}

#[test]
fn an_extension_is_told_from_other_messages_by_its_role_alone() {
    let not_an_extension = json!({"role": "user", "kind": "ui_update", "data": 1});
    assert!(serde_json::from_value::<AgentMessage>(not_an_extension).is_err());
}

#[test]
fn defaults_are_those_of_the_seed() {
    let context = ContextConfig::default();
    assert_eq!(
        [
            context.max_context_tokens,
            context.system_prompt_tokens,
            context.keep_recent,
            context.keep_first,
            context.tool_output_max_lines
        ],
        [100_000, 4_000, 10, 2, 50]
    );
    assert_eq!(context.budget(), 96_000);
    let limits = ExecutionLimits::default();
    assert_eq!((limits.max_turns, limits.max_total_tokens), (50, 1_000_000));
    assert_eq!(limits.max_duration, Duration::from_secs(600));
    let retry = RetryConfig::default();
    assert_eq!((retry.max_retries, retry.initial_delay_ms, retry.max_delay_ms), (3, 1_000, 30_000));
    assert_eq!(retry.backoff_multiplier, 2.0);
    assert_eq!(CacheConfig::default(), CacheConfig { enabled: true, strategy: CacheStrategy::Auto });
    assert_eq!(QueueMode::default(), QueueMode::OneAtATime);
    assert_eq!(ToolExecutionStrategy::default(), ToolExecutionStrategy::Parallel);
    assert_eq!(TurnTrigger::default(), TurnTrigger::User);
    assert_eq!(ContinuationKind::default(), ContinuationKind::Default);
}

#[test]
fn usage_adds_up_also_when_a_provider_gives_no_total() {
    let unreported = Usage { total_tokens: 0, cache_read: 10, ..Usage::new(5, 1) };
    let sum = unreported + Usage::new(2, 3);
    assert_eq!(sum.total(), 16 + 5);
    assert_eq!((sum + Usage::default()).total(), 21);
    assert_eq!(Usage { cache_read: 30, cache_write: 50, ..Usage::new(20, 9) }.cache_hit_rate(), 0.3);
    assert_eq!(Usage::default().cache_hit_rate(), 0.0);
}

/// A loop of one turn with a tool call, as events that went through JSON, in which a queued message was injected.
fn journal_from_json() -> Vec<Event> {
    let call = Content::tool_call("call", "read", json!({"path": "a"}));
    let events = vec![
        AgentEvent::AgentStart(Box::new(LoopStart::new("agent".into(), "s".into(), "s.c.1".into()))),
        AgentEvent::MessageQueued { queue: QueueKind::Steering, message: user(1, "hi") },
        AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User },
        AgentEvent::MessageEnd { message: Recorded::Earlier(MessageRef::unresolved(message_id(1))) },
        AgentEvent::MessageEnd { message: Recorded::Full(assistant(2, vec![call])) },
        AgentEvent::ToolExecutionStart {
            tool_call_id: "call".into(),
            tool_name: "read".into(),
            args: ArgsRef::Unresolved,
        },
        AgentEvent::ToolExecutionEnd {
            tool_call_id: "call".into(),
            tool_name: "read".into(),
            message: MessageRef::unresolved(message_id(3)),
            details: Value::Null,
            is_error: false,
            child_loop_id: None,
        },
        AgentEvent::MessageEnd { message: Recorded::Full(tool_result(3, "call", "out")) },
        AgentEvent::TurnEnd {
            message: MessageRef::unresolved(message_id(2)),
            usage: Usage::default(),
            tool_results: vec![MessageRef::unresolved(message_id(3))],
        },
        AgentEvent::AgentEnd {
            messages: [1, 2, 3].map(|n| MessageRef::unresolved(message_id(n))).to_vec(),
            usage: Usage::default(),
            outcome: RunOutcome::Completed,
            rejection: None,
        },
    ];
    let through_json = |event| Arc::new(from_json(&to_json(&record(event))).unwrap());
    events.into_iter().map(through_json).collect()
}

#[test]
fn a_resolver_attaches_messages_and_arguments_to_a_journal_that_was_read() {
    let mut resolver = Resolver::new();
    let resolved: Vec<Event> = journal_from_json().iter().map(|event| resolver.resolve(event)).collect();
    let text = |reference: &MessageRef| reference.get().and_then(|m| m.as_llm()).map(Message::text);
    let mut seen = 0;
    for event in &resolved {
        match &event.event {
            AgentEvent::MessageEnd { message: Recorded::Earlier(message) } => {
                assert_eq!(text(message).as_deref(), Some("hi"));
            }
            AgentEvent::ToolExecutionStart { args, .. } => {
                assert_eq!(args.get(), Some(&json!({"path": "a"})))
            }
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                assert!(message.get().unwrap().as_assistant().is_some());
                assert_eq!(text(&tool_results[0]).as_deref(), Some("out"));
            }
            AgentEvent::AgentEnd { messages, .. } => assert!(messages.iter().all(|m| m.get().is_some())),
            _ => continue,
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
    // Attaching changes what observers see, never what is written.
    for (read, resolved) in journal_from_json().iter().zip(&resolved) {
        assert_eq!(to_json(read), to_json(resolved));
    }
}

#[test]
fn a_resolver_keeps_a_queued_message_for_the_loop_that_takes_it_up() {
    let mut resolver = Resolver::new();
    let of = |loop_id: &str, event| {
        let mut record = record(event);
        record.loop_id = Some(LoopId::from(loop_id));
        Arc::new(record)
    };
    let end = AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: RunOutcome::Aborted,
        rejection: None,
    };
    resolver.resolve(&of(
        "s.c.0",
        AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(1, "later") },
    ));
    resolver.resolve(&of("s.c.0", end));
    let earlier = Recorded::Earlier(MessageRef::unresolved(message_id(1)));
    let taken_up = resolver.resolve(&of("s.c.1", AgentEvent::MessageEnd { message: earlier }));
    let AgentEvent::MessageEnd { message } = &taken_up.event else { panic!("another event") };
    assert_eq!(message.shared().map(|m| m.id()), Some(message_id(1)));
}

#[test]
fn the_rules_for_reading_hold_on_every_way_in() {
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
