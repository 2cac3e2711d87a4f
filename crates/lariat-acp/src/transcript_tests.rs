use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, ArgsRef, EventRecord, FORMAT_VERSION, LimitKind, MessageRef, QueueKind, RecordedMessage,
    RunOutcome, StreamDelta,
};
use lariat_core::id::{EventId, MessageId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, Origin, SharedMessage, StopReason,
    ToolResultMessage, UserMessage,
};
use lariat_core::session::Task;
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde_json::{Value, json};
use uuid::Uuid;

use super::EditorTranscript;
use crate::replay::{Replay, Survey};
use crate::wire::{ClientCapabilities, Protocol, Update};

fn id(number: u128) -> MessageId {
    MessageId::new(Uuid::from_u128(number))
}

fn record(event: AgentEvent) -> EventRecord {
    let id = EventId::new(Uuid::from_u128(1));
    EventRecord { v: FORMAT_VERSION, seq: 0, id, timestamp: Timestamp::default(), loop_id: None, event }
}

fn message(number: u128, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage { id: id(number), turn_id: None, message }))
}

fn user(number: u128, text: &str) -> SharedMessage {
    message(number, Message::User(UserMessage::new(vec![Content::text(text)])))
}

fn reply(number: u128, content: Vec<Content>) -> SharedMessage {
    let reply = AssistantMessage {
        content,
        stop_reason: StopReason::Stop,
        model: String::new(),
        requested_model: None,
        provider: String::new(),
        usage: Usage::default(),
        timestamp: Timestamp::default(),
        error_message: None,
    };
    message(number, Message::Assistant(reply))
}

fn result(number: u128, call: &str, text: &str, is_error: bool) -> SharedMessage {
    let result = ToolResultMessage {
        tool_call_id: call.into(),
        tool_name: "bash".to_owned(),
        content: vec![Content::text(text)],
        is_error,
        timestamp: Timestamp::default(),
    };
    message(number, Message::ToolResult(result))
}

fn end(message: SharedMessage) -> AgentEvent {
    AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }
}

fn delta(number: u128, delta: StreamDelta) -> AgentEvent {
    AgentEvent::MessageUpdate { message: MessageRef::unresolved(id(number)), delta }
}

fn text(number: u128, text: &str) -> AgentEvent {
    delta(number, StreamDelta::Text { delta: text.to_owned() })
}

fn start(number: u128) -> AgentEvent {
    AgentEvent::MessageStart { message: MessageRef::unresolved(id(number)) }
}

fn agent_end() -> AgentEvent {
    let (messages, usage) = (Vec::new(), Usage::default());
    AgentEvent::AgentEnd { messages, usage, outcome: RunOutcome::Aborted, rejection: None }
}

struct Editor(EditorTranscript);

impl Editor {
    fn new() -> Self {
        Self(EditorTranscript::new(
            PathBuf::from("/project"),
            ClientCapabilities::default(),
            Protocol::Stable,
        ))
    }

    fn durable(&mut self, event: AgentEvent) -> Vec<Value> {
        shown(self.0.durable(&record(event)))
    }

    fn live(&mut self, event: AgentEvent) -> Vec<Value> {
        shown(self.0.live(&record(event)))
    }
}

fn shown(updates: Vec<Update>) -> Vec<Value> {
    updates.iter().map(|update| serde_json::to_value(update).unwrap()).collect()
}

/// The kinds and texts of message updates.
fn said(updates: &[Value]) -> Vec<(String, String)> {
    let part = |update: &Value| {
        let kind = update["sessionUpdate"].as_str().unwrap().to_owned();
        (kind, update["content"]["text"].as_str().unwrap_or_default().to_owned())
    };
    updates.iter().map(part).collect()
}

fn chunk(kind: &str, text: &str) -> (String, String) {
    (format!("{kind}_chunk"), text.to_owned())
}

#[test]
fn a_reply_that_was_streamed_is_not_sent_again() {
    let mut editor = Editor::new();
    editor.live(start(1));
    let thinking = StreamDelta::Thinking { delta: "hm".to_owned() };
    assert_eq!(said(&editor.live(delta(1, thinking))), [chunk("agent_thought", "hm")]);
    assert_eq!(said(&editor.live(text(1, "Hel"))), [chunk("agent_message", "Hel")]);
    assert_eq!(said(&editor.live(text(1, "lo"))), [chunk("agent_message", "lo")]);
    let content = vec![
        Content::Thinking { thinking: "hm".to_owned(), signature: None },
        Content::text("Hel"),
        Content::text("lo, world"),
    ];
    assert_eq!(said(&editor.durable(end(reply(1, content)))), [chunk("agent_message", ", world")]);
}

#[test]
fn an_editor_that_missed_live_items_gets_the_rest_of_the_reply_once() {
    let mut editor = Editor::new();
    editor.live(start(1));
    editor.live(text(1, "one "));
    editor.0.miss_live_items();
    assert_eq!(editor.live(text(1, "three")), [] as [Value; 0]);
    let whole = end(reply(1, vec![Content::text("one two three")]));
    assert_eq!(said(&editor.durable(whole)), [chunk("agent_message", "two three")]);
    // The start of this reply was missed.
    assert_eq!(editor.live(text(2, "late")), [] as [Value; 0]);
    let whole = end(reply(2, vec![Content::text("too late")]));
    assert_eq!(said(&editor.durable(whole)), [chunk("agent_message", "too late")]);
}

#[test]
fn a_withdrawn_reply_is_marked_and_the_next_one_is_whole() {
    let mut editor = Editor::new();
    editor.live(start(1));
    editor.live(text(1, "Hel"));
    let withdrawn = editor.live(AgentEvent::MessageWithdrawn { message_id: id(1) });
    assert!(said(&withdrawn)[0].1.contains("broke off"), "{withdrawn:?}");
    editor.live(start(2));
    assert_eq!(said(&editor.live(text(2, "Hello"))), [chunk("agent_message", "Hello")]);
    assert_eq!(editor.durable(end(reply(2, vec![Content::text("Hello")]))), [] as [Value; 0]);
}

#[test]
fn the_editor_sees_messages_of_others_and_not_its_own() {
    let mut editor = Editor::new();
    editor.0.expect_own_message();
    assert_eq!(editor.durable(end(user(1, "mine"))), [] as [Value; 0]);
    assert_eq!(editor.0.own_message(), Some(id(1)));
    assert_eq!(said(&editor.durable(end(user(2, "theirs")))), [chunk("user_message", "theirs")]);
    let note = UserMessage {
        origin: Origin::Note { section: "git".to_owned() },
        ..UserMessage::new(vec![Content::text("note")])
    };
    assert_eq!(editor.durable(end(message(3, Message::User(note)))), [] as [Value; 0]);

    // A queued message is the editor's own from the queue on.
    editor.0.expect_own_message();
    editor.durable(AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(4, "later") });
    assert!(editor.0.is_queued(id(4)) && editor.0.own_message() == Some(id(4)));
    let delivered =
        AgentEvent::MessageEnd { message: RecordedMessage::Earlier(MessageRef::unresolved(id(4))) };
    assert_eq!(editor.durable(delivered), [] as [Value; 0]);
    assert!(!editor.0.is_queued(id(4)));
}

#[test]
fn a_tool_call_is_requested_runs_and_ends() {
    let mut editor = Editor::new();
    let call = Content::tool_call("c1", "bash", json!({"command": "ls"}));
    let requested = editor.durable(end(reply(1, vec![call])));
    assert_eq!(requested[0]["sessionUpdate"], "tool_call");
    assert_eq!((&requested[0]["status"], &requested[0]["title"]), (&json!("pending"), &json!("Run ls")));
    let (tool_call_id, tool_name, args) = ("c1".into(), "bash".to_owned(), ArgsRef::Unresolved);
    let running = editor.durable(AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args });
    assert_eq!(
        running,
        [json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"})]
    );
    editor.durable(AgentEvent::ToolExecutionEnd {
        tool_call_id: "c1".into(),
        tool_name: "bash".to_owned(),
        message: MessageRef::unresolved(id(2)),
        details: json!({"exit_code": 1}),
        is_error: true,
        child_loop_id: None,
    });
    let ended = editor.durable(end(result(2, "c1", "no such file", true)));
    assert_eq!((&ended[0]["status"], &ended[0]["rawOutput"]), (&json!("failed"), &json!({"exit_code": 1})));
    assert_eq!(editor.durable(agent_end()), [] as [Value; 0]);
}

#[test]
fn the_end_of_a_run_ends_its_open_tool_calls() {
    let mut editor = Editor::new();
    editor.durable(end(reply(1, vec![Content::tool_call("c1", "bash", json!({"command": "ls"}))])));
    let ended = editor.durable(agent_end());
    assert_eq!((&ended[0]["toolCallId"], &ended[0]["status"]), (&json!("c1"), &json!("failed")));
    assert_eq!(editor.durable(agent_end()), [] as [Value; 0]);
}

#[test]
fn the_task_list_is_a_plan() {
    let tasks = vec![Task::new("a", "completed"), Task::new("b", "in_progress"), Task::new("c", "pending")];
    let changed = AgentEvent::TasksChanged {
        tool_call_id: "c1".into(),
        tasks,
        started: Vec::new(),
        completed: Vec::new(),
    };
    let entry =
        |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
    let entries = [entry("a", "completed"), entry("b", "in_progress"), entry("c", "pending")];
    assert_eq!(Editor::new().durable(changed), [json!({"sessionUpdate": "plan", "entries": entries})]);
}

#[test]
fn what_ends_a_run_is_visible_in_every_editor() {
    let reached = || AgentEvent::LimitReached {
        limit: LimitKind::Cost,
        scope: Default::default(),
        note: "the cost limit is reached".to_owned(),
    };
    let plain = Editor::new().durable(reached());
    assert!(said(&plain)[0].1.contains("the cost limit is reached"), "{plain:?}");
    let mut editor =
        Editor(EditorTranscript::new(PathBuf::from("/project"), ClientCapabilities::all(), Protocol::Stable));
    let notice =
        json!({"sessionUpdate": "notice", "severity": "warning", "title": "the cost limit is reached"});
    assert_eq!(editor.durable(reached()), [notice]);
    // What is only good to know is left out where notices are not supported.
    let warned = || AgentEvent::InputWarned { warning: "careful".to_owned() };
    assert_eq!(editor.durable(warned()).len(), 1);
    assert_eq!(Editor::new().durable(warned()), [] as [Value; 0]);
}

/// What an editor shows that opens a session with these events.
fn replayed(events: Vec<AgentEvent>) -> Vec<Value> {
    let at = |(seq, event)| EventRecord { seq, ..record(event) };
    let records: Vec<EventRecord> = (0..).zip(events).map(at).collect();
    let mut survey = Survey::default();
    records.iter().for_each(|record| survey.apply(record));
    let (mut editor, mut replay) = (Editor::new(), Replay::new(survey.finish()));
    let mut updates = Vec::new();
    for record in &records {
        updates.extend(replay.updates(record, &mut editor.0));
    }
    updates.extend(replay.finish());
    shown(updates)
}

#[test]
fn a_replay_has_the_conversation_as_it_is_now() {
    let updates = replayed(vec![
        end(user(1, "one")),
        end(reply(2, vec![Content::text("two")])),
        end(user(3, "three")),
        end(reply(4, vec![Content::text("four")])),
        AgentEvent::Rewound { tip: Some(id(2)) },
        end(user(5, "five")),
        end(user(6, "six")),
        AgentEvent::MessageRemoved { message_id: id(5) },
    ]);
    let expected =
        [chunk("user_message", "one"), chunk("agent_message", "two"), chunk("user_message", "six")];
    assert_eq!(said(&updates), expected);
}

#[test]
fn a_replay_leaves_out_what_several_rewinds_left_behind() {
    let rewound = |tip: Option<u128>| AgentEvent::Rewound { tip: tip.map(id) };
    let events = || {
        vec![
            end(user(1, "one")),
            end(user(2, "two")),
            rewound(Some(1)),
            end(user(3, "three")),
            end(user(4, "four")),
            AgentEvent::MessageRemoved { message_id: id(4) },
            end(user(5, "five")),
            rewound(Some(3)),
            end(user(6, "six")),
        ]
    };
    let said_by = |events| said(&replayed(events));
    assert_eq!(said_by(events()), ["one", "three", "six"].map(|text| chunk("user_message", text)));
    let mut again = events();
    // To the last message: nothing is left behind. To one that is not there: neither.
    again.extend([rewound(Some(6)), rewound(Some(2)), end(user(7, "seven"))]);
    assert_eq!(said_by(again), ["one", "three", "six", "seven"].map(|text| chunk("user_message", text)));
    let mut cleared = events();
    cleared.extend([rewound(None), end(user(8, "eight"))]);
    assert_eq!(said_by(cleared), [chunk("user_message", "eight")]);
}
