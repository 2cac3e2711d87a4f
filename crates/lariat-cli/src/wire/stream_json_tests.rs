use std::sync::Arc;
use std::time::Duration;

use lariat_core::budget::BudgetScope;
use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, ArgsRef, CompactionCause, EventRecord, FORMAT_VERSION, LimitKind, MessageRef,
    RecordedMessage, RunOutcome, StreamDelta, TurnTrigger,
};
use lariat_core::id::{EventId, MessageId, RequestId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::permission::PermissionDecision;
use lariat_core::time::Timestamp;
use lariat_core::usage::{Cost, Usage};
use lariat_service::permissions::Mode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{SessionFacts, StreamJson, StreamOptions};
use crate::wire::json::{Ending, SchemaCheck};

/// Events with increasing ids and times.
#[derive(Default)]
struct EventLog {
    events: Vec<EventRecord>,
}

impl EventLog {
    fn add(mut self, event: AgentEvent) -> Self {
        let seq = self.events.len() as u64;
        self.events.push(EventRecord {
            v: FORMAT_VERSION,
            seq,
            id: EventId::new(Uuid::from_u128(0xe000_0000 + u128::from(seq) * 0x100)),
            timestamp: Timestamp::from_millis(1_000 + seq * 10),
            loop_id: None,
            event,
        });
        self
    }

    fn turn(self) -> Self {
        self.add(AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User })
    }

    fn add_message(self, message: SharedMessage) -> Self {
        self.add(AgentEvent::MessageEnd { message: RecordedMessage::Full(message) })
    }

    fn lines(&self, stream: &mut StreamJson) -> String {
        let lines = self.events.iter().flat_map(|event| stream.event(event));
        lines.map(|line| shown(&line)).collect::<Vec<_>>().join("\n")
    }
}

fn shown(line: &Value) -> String {
    serde_json::to_string_pretty(line).unwrap()
}

fn message(id: u128, message: Message) -> SharedMessage {
    let mut message = AgentMessage::from(message);
    message.assign_id(|| MessageId::new(Uuid::from_u128(id)));
    Arc::new(message)
}

fn reply(id: u128, content: Vec<Content>, stop_reason: StopReason) -> SharedMessage {
    let usage = Usage { cache_read: 5, cost: Cost::from_nano_usd(2_000_000), ..Usage::new(100, 20) };
    message(
        id,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            model: "scripted".to_owned(),
            requested_model: None,
            provider: "test".to_owned(),
            usage,
            timestamp: Timestamp::default(),
            error_message: None,
        }),
    )
}

fn result(id: u128, call: &str, text: &str, is_error: bool) -> SharedMessage {
    message(
        id,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: "bash".to_owned(),
            content: vec![Content::text(text)],
            is_error,
            timestamp: Timestamp::default(),
        }),
    )
}

fn thinking(text: &str) -> Content {
    Content::Thinking { thinking: text.to_owned(), signature: None }
}

fn stream(stream_options: StreamOptions) -> StreamJson {
    let mut stream = StreamJson::new("5e550000-0000-4000-8000-000000000000", stream_options);
    stream.init(&facts(), Uuid::from_u128(1));
    stream
}

fn facts() -> SessionFacts {
    SessionFacts {
        cwd: "/work".to_owned(),
        model: "scripted".to_owned(),
        key_source: "user".to_owned(),
        window: 200_000,
        tools: vec!["bash".to_owned(), "read_file".to_owned()],
        mcp_servers: vec![json!({ "name": "files", "status": "pending" })],
        mode: Mode::AcceptEdits,
        slash_commands: vec!["review".to_owned(), "tidy".to_owned()],
        agents: Vec::new(),
        skills: vec!["tidy".to_owned()],
    }
}

fn ending(outcome: RunOutcome) -> Ending {
    Ending {
        outcome,
        text: "Done.".to_owned(),
        stop_reason: Some(StopReason::Stop),
        usage: Usage { cache_read: 10, cost: Cost::from_nano_usd(4_000_000), ..Usage::new(200, 40) },
        turns: 2,
        duration: Duration::from_millis(1_234),
        files: Vec::new(),
        schema_check: None,
    }
}

/// A turn with a tool call that runs and one that is denied.
fn event_log() -> EventLog {
    let call = |id: &str, command: &str| Content::tool_call(id, "bash", json!({ "command": command }));
    let details = json!({ "exit_code": 0 });
    let (ran, denied) = (result(12, "call_1", "hello", false), result(13, "call_2", "Denied: not now", true));
    let content =
        vec![thinking("Two calls."), Content::text("I try."), call("call_1", "ls"), call("call_2", "rm x")];
    EventLog::default()
        .turn()
        .add_message(reply(11, content, StopReason::ToolUse))
        .add(AgentEvent::ToolExecutionStart {
            tool_call_id: "call_1".into(),
            tool_name: "bash".to_owned(),
            args: ArgsRef::default(),
        })
        .add(AgentEvent::ToolExecutionEnd {
            tool_call_id: "call_1".into(),
            tool_name: "bash".to_owned(),
            message: MessageRef::resolved(Arc::clone(&ran)),
            details,
            is_error: false,
            child_loop_id: None,
        })
        .add_message(ran)
        .add(AgentEvent::PermissionDecided {
            request_id: RequestId::default(),
            tool_call_id: "call_2".into(),
            decision: PermissionDecision::deny("not now"),
        })
        .add_message(denied)
        .turn()
        .add_message(reply(14, vec![Content::text("Done.")], StopReason::Stop))
}

#[test]
fn init_line_describes_the_session() {
    let init = stream(StreamOptions::default()).init(&facts(), Uuid::from_u128(1));
    insta::assert_snapshot!(shown(&init));
}

#[test]
fn replies_and_results_have_the_shape_of_the_messages_api() {
    insta::assert_snapshot!(event_log().lines(&mut stream(StreamOptions::default())));
}

#[test]
fn result_sums_up_the_run() {
    let mut stream = stream(StreamOptions::default());
    event_log().lines(&mut stream);
    insta::assert_snapshot!(shown(&stream.result(&ending(RunOutcome::Completed), Uuid::from_u128(2))));
    let second = stream.result(&ending(RunOutcome::Completed), Uuid::from_u128(3));
    assert_eq!(second["permission_denials"], json!([]), "a denial is reported once");
    assert_eq!(second["duration_api_ms"], 0);
}

#[test]
fn every_end_has_its_subtype() {
    let limit = |limit| RunOutcome::LimitReached { limit, scope: BudgetScope::default() };
    let failed = RunOutcome::Failed { error: "overloaded".to_owned() };
    let mut misfit = ending(RunOutcome::Completed);
    misfit.schema_check = Some(SchemaCheck::Mismatch("it is not JSON".to_owned()));
    let mut fits = ending(RunOutcome::Completed);
    fits.schema_check = Some(SchemaCheck::Match(json!({ "sum": 4 })));
    let endings = [
        ending(RunOutcome::Completed),
        fits,
        misfit,
        ending(limit(LimitKind::Turns)),
        ending(limit(LimitKind::Cost)),
        ending(limit(LimitKind::Duration)),
        ending(RunOutcome::Aborted),
        ending(RunOutcome::StoppedByHook),
        ending(RunOutcome::Rejected),
        ending(RunOutcome::Repetition),
        ending(failed),
    ];
    let written = endings.iter().map(|ending| {
        let result = stream(StreamOptions::default()).result(ending, Uuid::nil());
        let field = |name: &str| result.get(name).map_or_else(|| "-".to_owned(), ToString::to_string);
        let fields = ["subtype", "is_error", "terminal_reason", "result", "errors", "structured_output"];
        fields.map(field).join("  ")
    });
    insta::assert_snapshot!(written.collect::<Vec<_>>().join("\n"));
}

#[test]
fn other_events_are_system_lines() {
    let event_log = EventLog::default()
        .add(AgentEvent::Compaction {
            cause: CompactionCause::Threshold,
            edits: Arc::default(),
            tokens_before: 180_000,
            tokens_after: 60_000,
            usage: Usage::default(),
        })
        .add(AgentEvent::ModelRetry { attempt: 1, delay_ms: 500, error: "overloaded".to_owned() })
        .add(AgentEvent::HookStopped { reason: "enough".to_owned() })
        .add(AgentEvent::StopBlocked { reason: "test first".to_owned(), message_id: MessageId::default() })
        .add(AgentEvent::InputWarned { warning: "a secret".to_owned() });
    let stream_options = StreamOptions { hooks: true, ..StreamOptions::default() };
    insta::assert_snapshot!(event_log.lines(&mut stream(stream_options)));
    let unasked = event_log.lines(&mut stream(StreamOptions::default()));
    assert!(!unasked.contains("hook_response"), "{unasked}");
}

#[test]
fn partial_replies_precede_the_reply_on_request() {
    let whole = reply(
        11,
        vec![
            thinking("Hm."),
            Content::text("I look."),
            Content::tool_call("call_1", "bash", json!({ "command": "ls" })),
        ],
        StopReason::ToolUse,
    );
    let begun = || MessageRef::unresolved(whole.id());
    let piece = |delta| AgentEvent::MessageUpdate { message: begun(), delta };
    let event_log = EventLog::default()
        .turn()
        .add(AgentEvent::MessageStart { message: MessageRef::resolved(message(10, Message::user("look"))) })
        .add(AgentEvent::MessageStart { message: begun() })
        .add(piece(StreamDelta::Thinking { delta: "Hm.".to_owned() }))
        .add(piece(StreamDelta::Text { delta: "I ".to_owned() }))
        .add(piece(StreamDelta::Text { delta: "look.".to_owned() }))
        .add(piece(StreamDelta::ToolCallDelta { delta: "{\"comm".to_owned() }))
        .add_message(Arc::clone(&whole));
    let mut stream_of_pieces = stream(StreamOptions { partial: true, ..StreamOptions::default() });
    let lines: Vec<Value> = event_log.events.iter().flat_map(|event| stream_of_pieces.event(event)).collect();
    let events =
        lines.iter().filter(|line| line["type"] == "stream_event").map(|line| line["event"].to_string());
    insta::assert_snapshot!(events.collect::<Vec<_>>().join("\n"));
    assert_eq!(lines.last().unwrap()["type"], "assistant");
    let mut ids: Vec<&str> = lines.iter().map(|line| line["uuid"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines.len());
    let unasked = event_log.lines(&mut stream(StreamOptions::default()));
    assert!(!unasked.contains("stream_event"), "{unasked}");
}

#[test]
fn text_that_was_not_streamed_is_added_at_the_end_of_the_reply() {
    let whole = reply(11, vec![Content::text("one two three")], StopReason::Stop);
    let begun = || MessageRef::unresolved(whole.id());
    let delta = StreamDelta::Text { delta: "one ".to_owned() };
    let event_log = EventLog::default()
        .turn()
        .add(AgentEvent::MessageStart { message: begun() })
        .add(AgentEvent::MessageUpdate { message: begun(), delta })
        .add_message(Arc::clone(&whole));
    let mut partial = stream(StreamOptions { partial: true, ..StreamOptions::default() });
    let lines: Vec<Value> = event_log.events.iter().flat_map(|event| partial.event(event)).collect();
    let texts = lines.iter().filter_map(|line| line["event"]["delta"]["text"].as_str());
    assert_eq!(texts.collect::<Vec<_>>(), ["one ", "two three"]);
}

#[test]
fn user_messages_are_written_only_on_request() {
    let event_log = EventLog::default()
        .add_message(message(11, Message::user("do it")))
        .add_message(Arc::new(AgentMessage::note("environment", "system: linux")));
    assert_eq!(event_log.lines(&mut stream(StreamOptions::default())), "");
    let written = event_log.lines(&mut stream(StreamOptions { replay: true, ..StreamOptions::default() }));
    assert!(
        written.contains("do it") && written.contains("isReplay") && !written.contains("linux"),
        "{written}"
    );
}
