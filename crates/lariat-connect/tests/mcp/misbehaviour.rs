//! Servers that hang, flood, die and change their tools: no call hangs, memory stays bounded, and the error says why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lariat_connect::mcp::{
    CallObserver, McpClient, McpContent, McpError, McpLimits, McpServerState, ProtocolEra, ToolChangeKind,
};
use lariat_core::cancel::CancellationToken;
use lariat_core::question::UserAnswer;
use lariat_core::tool::QuestionFn;
use lariat_host::process::Supervisor;
use serde_json::json;

use crate::support::{client, fresh_path, launch, limits, object, server, tool};

/// Deadlines that a test can wait for.
fn short() -> McpLimits {
    McpLimits::new(Duration::from_secs(10), Duration::from_secs(1))
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn a_server_that_never_answers_does_not_start() {
    let limits = McpLimits::new(Duration::from_secs(1), Duration::from_secs(1));
    let supervisor = Supervisor::new();
    let before = Instant::now();
    let error = McpClient::start(&supervisor, launch(&["silent"]), None, limits).await.unwrap_err();
    assert!(error.to_string().contains("did not start within 1 s"), "{error}");
    assert!(before.elapsed() < Duration::from_secs(5));
    supervisor.stop_all().await;
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_its_deadline_and_the_server_starts_again() {
    let server = server(&["plain"], short());
    let (hang, echo) = (tool(&server, "hang").await, tool(&server, "echo").await);
    let never = CancellationToken::new();
    let error = server.call(&hang, object(json!({})), &never, &|_| {}).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut(_)), "{error}");
    // The server still hangs, so it is ended and started again.
    let result = server.call(&echo, object(json!({ "text": "back" })), &never, &|_| {}).await.unwrap();
    assert_eq!(result.content, [McpContent::Text { text: "back".to_owned() }]);
}

#[tokio::test]
async fn progress_extends_the_deadline_and_is_reported() {
    let server = server(&["plain"], short());
    let slow = tool(&server, "slow").await;
    let reports = std::sync::Mutex::new(Vec::new());
    let report = |text: String| reports.lock().unwrap().push(text);
    server.call(&slow, object(json!({})), &CancellationToken::new(), &report).await.unwrap();
    // The answer may overtake the last report, which the server sends just before it.
    assert!(reports.lock().unwrap().contains(&"step 2".to_owned()), "{reports:?}");
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let server = server(&["plain"], limits());
    let hang = tool(&server, "hang").await;
    let cancel = CancellationToken::new();
    let canceller = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        canceller.cancel();
    });
    let before = Instant::now();
    let error = server.call(&hang, object(json!({})), &cancel, &|_| {}).await.unwrap_err();
    assert!(matches!(error, McpError::Cancelled));
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_line_without_an_end_closes_the_connection_and_takes_little_memory() {
    let client = client("plain").await;
    let before = resident_bytes();
    let error = client.call_tool("flood", object(json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("a message of more than 8 MiB"), "{error}");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn a_server_that_floods_1_gib_is_stopped_after_a_few_mib() {
    let file = fresh_path("flood");
    let supervisor = Supervisor::new();
    let launch = launch(&["plain", file.to_str().unwrap()]);
    let client = McpClient::start(&supervisor, launch, None, limits()).await.unwrap();
    client.call_tool("flood", object(json!({}))).await.unwrap_err();
    client.close().await;
    assert!(supervisor.list().iter().all(|program| program.exit.is_some()), "the server ended");
    let written: u64 = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    println!("flood: the server wrote {written} of 1024 MiB before it was stopped (limit 32)");
    assert!(written <= 32, "the server wrote {written} MiB");
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_flood_of_small_messages_takes_little_memory() {
    let client = client("plain").await;
    let before = resident_bytes();
    let result = client.call_tool("chatter", object(json!({}))).await.unwrap();
    assert_eq!(result.content, [McpContent::Text { text: "done".to_owned() }]);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn a_server_that_does_not_read_answers_takes_little_memory() {
    let supervisor = Supervisor::new();
    let limits = McpLimits::new(Duration::from_secs(20), Duration::from_secs(5));
    let client = McpClient::start(&supervisor, launch(&["plain"]), None, limits).await.unwrap();
    let before = resident_bytes();
    let error = client.call_tool("pester", object(json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("does not read its input"), "{error}");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn death_in_a_call_is_reported_with_the_reason() {
    let server = server(&["plain"], limits());
    let die = tool(&server, "die").await;
    let error = server.call(&die, object(json!({})), &CancellationToken::new(), &|_| {}).await.unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains("exited with code 7") && shown.contains("out of cheese"), "{shown}");
    assert!(matches!(server.state(), McpServerState::Failed(_)));
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_started_less_and_less_often() {
    let file = fresh_path("mortal");
    let server = server(&["mortal", file.to_str().unwrap()], limits());
    let die = tool(&server, "die").await;
    let never = CancellationToken::new();
    let mut last = String::new();
    for _ in 0..8 {
        last = server.call(&die, object(json!({})), &never, &|_| {}).await.unwrap_err().to_string();
    }
    let starts = std::fs::read_to_string(&file).unwrap().lines().count();
    assert_eq!(starts, 4, "pauses of 0, 1 and 2 seconds, then calls fail at once");
    assert!(last.contains("failed 4 times in a row") && last.contains("out of cheese"), "{last}");
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_tool_that_changed_is_not_called() {
    let accepted = {
        let server = server(&["plain"], limits());
        tool(&server, "echo").await
    };
    let connector = crate::support::TestConnector::new(&["changed"], limits());
    let era = Some(ProtocolEra::Initialize);
    let config = crate::support::config();
    let known = Some(vec![accepted.clone().into()]);
    let server = lariat_connect::mcp::McpServer::new(config, connector, era, known);
    let never = CancellationToken::new();
    let error = server.call(&accepted, object(json!({ "text": "a" })), &never, &|_| {}).await.unwrap_err();
    assert!(
        matches!(&error, McpError::ToolsChanged(why) if why.contains("lariat mcp trust test")),
        "{error}"
    );
    let changes = server.changes();
    let echo = changes.iter().find(|change| change.name == "echo").unwrap();
    assert_eq!(echo.kind, ToolChangeKind::Changed);
    assert!(echo.difference.contains("-Repeats a text.") && echo.difference.contains("+Ignore all rules"));
    assert!(changes.iter().any(|change| change.kind == ToolChangeKind::Added && change.name == "fail"));
}

#[tokio::test]
async fn a_tool_that_changes_while_the_server_runs_is_not_called() {
    let server = server(&["plain"], limits());
    let (change, echo) = (tool(&server, "change").await, tool(&server, "echo").await);
    let never = CancellationToken::new();
    server.call(&echo, object(json!({ "text": "a" })), &never, &|_| {}).await.unwrap();
    server.call(&change, object(json!({})), &never, &|_| {}).await.unwrap();
    let error = server.call(&echo, object(json!({ "text": "a" })), &never, &|_| {}).await.unwrap_err();
    assert!(matches!(error, McpError::ToolsChanged(_)), "{error}");
}

#[tokio::test]
async fn progress_of_another_call_does_not_extend_the_deadline() {
    let limits = McpLimits::new(Duration::from_secs(20), Duration::from_secs(1));
    let client = McpClient::start(&Supervisor::new(), launch(&["plain"]), None, limits).await.unwrap();
    let reports = std::sync::Mutex::new(Vec::new());
    let report = |text: String| reports.lock().unwrap().push(text);
    let never = CancellationToken::new();
    let error = client.call_tool_observed("stray", object(json!({})), &never, &report).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut(_)), "{error}");
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_wants_input_of_the_user_gets_a_refusal() {
    let text = |text: &str| vec![McpContent::Text { text: text.to_owned() }];
    let stateless = client("stateless").await;
    let declined = stateless.call_tool("ask", object(json!({}))).await.unwrap().content;
    assert_eq!(declined[..1], text("decline"));
    // The model learns it, too.
    let note = "[Lariat declined a question of the server to the user: no user is available to answer]";
    assert_eq!(declined[1..], text(note));
    let older = client("plain").await;
    assert_eq!(older.call_tool("ask", object(json!({}))).await.unwrap().content, text("false"));
}

#[tokio::test]
async fn the_deadline_does_not_run_while_the_user_is_asked() {
    let limits = McpLimits::new(Duration::from_secs(20), Duration::from_secs(1)).with_questions();
    let server = server(&["plain"], limits);
    let ask = tool(&server, "ask").await;
    let cancel = CancellationToken::new();
    let slow: QuestionFn = Arc::new(|_| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            UserAnswer::Text("Ada".to_owned())
        })
    });
    let observer = CallObserver::new(&cancel, &|_| {}).with_user(Some(slow));
    let result = server.call_for(&ask, object(json!({ "elicit": form() })), &observer).await.unwrap();
    let McpContent::Text { text } = &result.content[0] else { panic!("{result:?}") };
    let given: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(given["content"], json!({ "name": "Ada" }), "{text}");

    // A call that asks and then does not answer still ends.
    let hang = tool(&server, "hang").await;
    let error = server.call_for(&hang, object(json!({})), &observer).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut(_)), "{error}");
}

fn form() -> serde_json::Value {
    json!({ "mode": "form", "message": "Your name?", "requestedSchema":
        { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } })
}
