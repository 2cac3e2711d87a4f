//! A run from the prompt to its end.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use lariat_api::{Action, Answer, Ask, AskDigest, AskId, AskSubject, Delivery, PromptContent, SessionStatus};
use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, ArgsRef, LoopStart, MessageRef, RecordedMessage, RunOutcome, StreamDelta, Task, TurnTrigger,
};
use lariat_core::id::{AgentId, LoopId, MessageId, SessionId, ToolCallId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::usage::{Cost, Usage};
use lariat_tui::client::EndReason;
use serde_json::json;

use crate::fake::{Fake, START};
use crate::kit::Running;

pub(crate) fn message_id(number: u64) -> MessageId {
    serde_json::from_value(json!(format!("00000000-0000-7000-8000-{number:012}"))).unwrap()
}

pub(crate) fn message(number: u64, message: impl Into<AgentMessage>) -> SharedMessage {
    let mut message = message.into();
    message.assign_id(|| message_id(number));
    Arc::new(message)
}

fn reply(content: Vec<Content>, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        stop_reason,
        model: "model-1".to_owned(),
        requested_model: None,
        provider: "scripted".to_owned(),
        usage: Usage::new(1_200, 80),
        timestamp: START,
        error_message: None,
    })
}

pub(crate) fn starts(fake: &Fake, prompt: &str) {
    let start = LoopStart::new(
        AgentId::new("agent"),
        SessionId::new("session-1"),
        LoopId::new("session-1.default.1"),
    );
    fake.happens(AgentEvent::AgentStart(Box::new(start)), |view| view.status = SessionStatus::Running);
    let prompt = message(1, Message::user(prompt));
    fake.happens(AgentEvent::MessageEnd { message: RecordedMessage::Full(prompt) }, |_| {});
    fake.happens(AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User }, |_| {});
}

pub(crate) fn streams(fake: &Fake, number: u64, text: &str) {
    let delta = StreamDelta::Text { delta: text.to_owned() };
    fake.streams(AgentEvent::MessageUpdate { message: MessageRef::unresolved(message_id(number)), delta });
}

pub(crate) fn replies(fake: &Fake, number: u64, text: &str) {
    let reply = message(number, reply(vec![Content::text(text)], StopReason::Stop));
    fake.happens(AgentEvent::MessageEnd { message: RecordedMessage::Full(reply) }, |_| {});
}

pub(crate) fn ends(fake: &Fake) {
    let end = AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::new(2_400, 160),
        outcome: RunOutcome::Completed,
        rejection: None,
    };
    fake.happens(end, |view| {
        view.status = SessionStatus::Idle;
        view.usage = Usage { cost: Cost::from_usd(0.0321), ..Usage::new(2_400, 160) };
        view.context.used = 24_000;
    });
}

async fn tells_a_story(columns: usize, rows: usize) {
    let fake = Fake::new();
    let client = Running::start(&fake, columns, rows);
    client.settles().await;
    client.looks_like("1_empty");

    client.types("Remove the build folder");
    client.key(KeyCode::Enter);
    client.settles().await;
    let content = PromptContent::text("Remove the build folder");
    assert_eq!(fake.commands(), [Action::Prompt { content, delivery: Delivery::Steer }]);

    starts(&fake, "Remove the build folder");
    fake.streams(AgentEvent::MessageStart { message: MessageRef::unresolved(message_id(2)) });
    streams(&fake, 2, "I will look at the folder and ");
    client.passes(Duration::from_millis(1_500)).await;
    client.looks_like("2_streaming");

    let arguments = json!({ "command": "rm -rf target" });
    let call = Content::tool_call("call-1", "bash", arguments);
    let shared_call = Arc::clone(call.as_tool_call().unwrap());
    let text = Content::text("I will look at the folder and **remove** it.");
    let with_call = message(2, reply(vec![text, call], StopReason::ToolUse));
    fake.happens(AgentEvent::MessageEnd { message: RecordedMessage::Full(with_call) }, |_| {});
    let mut request = PermissionRequest::new(&shared_call, "rm -rf target");
    request.reason = Some("no rule allows `rm -rf target`".to_owned());
    request.remember = Some("bash(rm -rf target)".to_owned());
    let request = Arc::new(request);
    let subject = AskSubject::Approval { request: Arc::clone(&request) };
    let ask = Ask::new(AskId::new("ask-1"), subject, AskDigest::new("digest-1"), START);
    fake.happens(AgentEvent::PermissionRequired { request: Arc::clone(&request) }, |view| {
        view.status = SessionStatus::RequiresAction;
        view.asks = vec![ask];
    });
    // The user is in the middle of a word.
    client.types("yes and then y");
    client.settles().await;
    client.looks_like("3_asks");
    assert_eq!(fake.commands(), []);

    client.passes(Duration::from_millis(400)).await;
    client.press(KeyCode::Char('y'), KeyModifiers::CONTROL);
    client.settles().await;
    client.looks_like("4_focused");
    client.key(KeyCode::Char('y'));
    client.settles().await;
    let answer = Answer::Approval { decision: PermissionDecision::Allow };
    let (ask_id, digest) = (AskId::new("ask-1"), AskDigest::new("digest-1"));
    assert_eq!(fake.commands(), [Action::Answer { ask_id, digest, answer }]);

    let decided = AgentEvent::PermissionDecided {
        request_id: request.id,
        tool_call_id: ToolCallId::new("call-1"),
        decision: PermissionDecision::Allow,
    };
    fake.happens(decided, |view| {
        view.status = SessionStatus::Running;
        view.asks.clear();
    });
    let tool_start = AgentEvent::ToolExecutionStart {
        tool_call_id: ToolCallId::new("call-1"),
        tool_name: "bash".to_owned(),
        args: ArgsRef::Called(shared_call),
    };
    fake.happens(tool_start, |_| {});
    client.settles().await;
    client.looks_like("5_tool");

    let result = ToolResultMessage {
        tool_call_id: ToolCallId::new("call-1"),
        tool_name: "bash".to_owned(),
        content: vec![Content::text("removed 12 files")],
        is_error: false,
        timestamp: START,
    };
    let result = message(3, Message::ToolResult(result));
    let tool_end = AgentEvent::ToolExecutionEnd {
        tool_call_id: ToolCallId::new("call-1"),
        tool_name: "bash".to_owned(),
        message: MessageRef::resolved(Arc::clone(&result)),
        details: json!({ "exit_code": 0 }),
        is_error: false,
        child_loop_id: None,
    };
    fake.happens(tool_end, |_| {});
    fake.happens(AgentEvent::MessageEnd { message: RecordedMessage::Full(result) }, |_| {});
    replies(&fake, 4, "The folder is gone.");
    ends(&fake);
    client.settles().await;
    client.looks_like("6_done");

    // Nothing moves, so nothing is written.
    let before = client.bytes();
    client.passes(Duration::from_secs(60)).await;
    assert_eq!(client.bytes(), before);

    client.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    client.press(KeyCode::Char('d'), KeyModifiers::CONTROL);
    let end = client.ends().await.unwrap();
    assert_eq!(end.reason, EndReason::Quit);
    assert_eq!(end.session_id, Some(SessionId::new("session-1")));
}

#[tokio::test(start_paused = true)]
async fn renders_a_whole_session_in_the_smallest_terminal() {
    tells_a_story(40, 10).await;
}

#[tokio::test(start_paused = true)]
async fn renders_a_whole_session_in_a_usual_terminal() {
    tells_a_story(80, 24).await;
}

#[tokio::test(start_paused = true)]
async fn renders_a_whole_session_in_a_large_terminal() {
    tells_a_story(120, 40).await;
}

pub(crate) fn has_tasks(fake: &Fake, done: usize) {
    let names =
        ["read the code", "write the parser", "test it", "document it", "lint it", "measure it", "ship it"];
    let status = |at: usize| match at.cmp(&done) {
        std::cmp::Ordering::Less => "completed",
        std::cmp::Ordering::Equal => "in_progress",
        std::cmp::Ordering::Greater => "pending",
    };
    let tasks: Vec<Task> = (0..).zip(names).map(|(at, name)| Task::new(name, status(at))).collect();
    let changed = AgentEvent::TasksChanged {
        tool_call_id: ToolCallId::new("call-1"),
        tasks: tasks.clone(),
        started: Vec::new(),
        completed: Vec::new(),
    };
    // The host of this process lists open tasks only.
    fake.happens(changed, |view| {
        view.tasks = tasks.into_iter().filter(|task| !task.is_completed()).collect()
    });
}

async fn shows_tasks(columns: usize, rows: usize) {
    let fake = Fake::new();
    let client = Running::start(&fake, columns, rows);
    client.settles().await;
    starts(&fake, "Write a parser");
    has_tasks(&fake, 2);
    client.settles().await;
    client.looks_like("tasks");
    client.press(KeyCode::Char('t'), KeyModifiers::ALT);
    client.settles().await;
    let folded = client.screen();
    assert!(!folded.contains("test it") && (columns < 60 || folded.contains("2/7 tasks")), "{folded}");
    client.press(KeyCode::Char('t'), KeyModifiers::ALT);
    has_tasks(&fake, 5);
    client.settles().await;
    assert!(client.screen().contains("measure it"), "{}", client.screen());
    has_tasks(&fake, 7);
    client.settles().await;
    let done = client.screen();
    assert!(!done.contains("measure it") && !done.contains("tasks"), "{done}");
    ends(&fake);
}

#[tokio::test(start_paused = true)]
async fn tasks_are_above_the_draft_while_a_run_works() {
    for (columns, rows) in [(40, 10), (80, 24), (160, 45)] {
        shows_tasks(columns, rows).await;
    }
}

#[tokio::test(start_paused = true)]
async fn full_screen_shows_the_transcript_and_returns() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.key(KeyCode::F(11));
    starts(&fake, "Say something");
    replies(&fake, 2, "Something.");
    ends(&fake);
    client.settles().await;
    client.looks_like("full_screen");
    client.key(KeyCode::F(11));
    client.settles().await;
    let all = client.all();
    assert_eq!(all.iter().filter(|row| row.contains("Something.")).count(), 1, "{all:#?}");
}

#[tokio::test(start_paused = true)]
async fn help_and_context_open_above_everything() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.key(KeyCode::F(1));
    client.settles().await;
    assert!(client.screen().contains("Answer the question that waits"), "{}", client.screen());
    client.key(KeyCode::Esc);
    client.types("/context");
    client.key(KeyCode::Enter);
    client.settles().await;
    client.looks_like("context");
    client.key(KeyCode::Esc);
    client.settles().await;
    assert!(client.screen().contains("idle"), "{}", client.screen());
}
