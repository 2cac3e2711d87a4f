//! The screen reader mode: every change is a line.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use lariat_api::{Action, Ask, AskDigest, AskId, AskSubject, SessionStatus};
use lariat_core::content::Content;
use lariat_core::event::AgentEvent;
use lariat_core::permission::PermissionRequest;
use serde_json::json;

use crate::fake::{Fake, START};
use crate::kit::Running;
use crate::story::{ends, has_tasks, replies, starts, streams};

fn reader(fake: &Arc<Fake>, columns: usize, rows: usize) -> Running {
    Running::start_with(fake, columns, rows, |options| {
        options.setup.is_linear = true;
        options.setup.theme.unicode = false;
    })
}

fn asks(fake: &Fake) {
    let call = Content::tool_call("call-1", "bash", json!({ "command": "rm -rf target" }));
    let request = Arc::new(PermissionRequest::new(call.as_tool_call().unwrap(), "rm -rf target"));
    let subject = AskSubject::Approval { request: Arc::clone(&request) };
    let ask = Ask::new(AskId::new("ask-1"), subject, AskDigest::new("digest-1"), START);
    fake.happens(AgentEvent::PermissionRequired { request }, |view| {
        view.status = SessionStatus::RequiresAction;
        view.asks = vec![ask];
    });
}

#[tokio::test(start_paused = true)]
async fn every_change_is_a_line_and_the_cursor_never_moves() {
    let fake = Fake::new();
    let client = reader(&fake, 80, 24);
    client.settles().await;
    client.types("Clean upp");
    client.settles().await;
    client.key(KeyCode::Backspace);
    client.settles().await;
    client.key(KeyCode::Enter);
    client.settles().await;
    assert!(matches!(fake.commands().as_slice(), [Action::Prompt { .. }]));
    starts(&fake, "Clean up");
    streams(&fake, 2, "I will look.\n\nThen");
    has_tasks(&fake, 1);
    client.passes(Duration::from_secs(5)).await;
    asks(&fake);
    client.settles().await;
    client.press(KeyCode::Char('y'), KeyModifiers::CONTROL);
    client.passes(Duration::from_millis(400)).await;
    client.key(KeyCode::Char('n'));
    client.settles().await;
    assert!(matches!(fake.commands().as_slice(), [Action::Answer { .. }]));
    fake.happens(AgentEvent::AbortRequested, |view| {
        view.status = SessionStatus::Running;
        view.asks.clear();
    });
    replies(&fake, 2, "I will look.\n\nThen I stop.");
    ends(&fake);
    client.settles().await;
    let written = client.written();
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("linear", written.replace('\u{8}', "<BS>").replace("\r\n", "\n"));
    });
    assert!(!written.contains('\u{1b}'), "{written:?}");
    let before = client.bytes();
    client.passes(Duration::from_secs(60)).await;
    assert_eq!(client.bytes(), before);
}

#[tokio::test(start_paused = true)]
async fn lists_and_pages_are_lines() {
    let fake = Fake::new();
    let client = reader(&fake, 60, 10);
    client.settles().await;
    client.types("/mode");
    client.key(KeyCode::Enter);
    client.settles().await;
    client.key(KeyCode::Down);
    client.settles().await;
    client.key(KeyCode::Down);
    client.settles().await;
    client.key(KeyCode::Up);
    client.settles().await;
    client.key(KeyCode::Enter);
    client.settles().await;
    assert_eq!(fake.commands(), [Action::SetMode { mode: "accept-edits".to_owned() }]);
    client.types("/context");
    client.key(KeyCode::Enter);
    client.settles().await;
    client.key(KeyCode::F(11));
    client.settles().await;
    let written = client.written();
    let lines: Vec<&str> = written.split("\r\n").collect();
    let count = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(
        (count("> default (1 of 4)"), count("> accept-edits (2 of 4)"), count("> plan (3 of 4)")),
        (1, 2, 1)
    );
    assert!(count("56.0k of 200.0k tokens") == 1 && count("no full screen") == 1, "{written}");
    assert!(!written.contains('\u{1b}'), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_moves_while_a_run_waits_without_motion() {
    let fake = Fake::new();
    let client = Running::start_with(&fake, 80, 24, |options| options.setup.theme.motion = false);
    client.settles().await;
    starts(&fake, "Work");
    streams(&fake, 2, "Some words");
    client.settles().await;
    let before = client.bytes();
    client.passes(Duration::from_secs(30)).await;
    assert_eq!(client.bytes(), before, "{}", client.screen());
    let moving = Running::start(&fake, 80, 24);
    moving.settles().await;
    let before = moving.bytes();
    moving.passes(Duration::from_secs(30)).await;
    assert!(moving.bytes() > before, "the clock of a run moves by default");
}
