//! Connections in both eras, and results of tool calls.

use std::collections::HashMap;

use lariat_connect::mcp::{McpClient, McpContent, McpError, ProtocolEra};
use lariat_host::process::Supervisor;
use serde_json::json;

use crate::support::{SERVER, client, launch, limits, object};

#[tokio::test]
async fn connects_to_a_server_with_initialize() {
    let client = client("plain").await;
    assert_eq!(
        (client.about().era, client.about().version.as_str()),
        (ProtocolEra::Initialize, "2025-11-25")
    );
    assert_eq!(client.about().server.as_deref(), Some("test 1"));
    let result = client.call_tool("echo", object(json!({ "text": "hello" }))).await.unwrap();
    assert_eq!(result.content, [McpContent::Text { text: "hello".to_owned() }]);
}

#[tokio::test]
async fn connects_to_a_stateless_server() {
    let client = client("stateless").await;
    assert_eq!((client.about().era, client.about().version.as_str()), (ProtocolEra::Stateless, "2026-07-28"));
    assert!(client.list_tools().await.unwrap().iter().any(|tool| tool.name == "echo"));
    let result = client.call_tool("echo", object(json!({ "text": "hello" }))).await.unwrap();
    assert_eq!(result.content, [McpContent::Text { text: "hello".to_owned() }]);
}

#[tokio::test]
async fn starts_a_server_again_that_ends_on_an_unknown_first_request() {
    let client = client("strict").await;
    assert_eq!(client.about().era, ProtocolEra::Initialize);
}

#[tokio::test]
async fn initializes_a_server_that_answers_unknown_methods_with_an_empty_result() {
    let client = client("empty").await;
    assert_eq!(client.about().era, ProtocolEra::Initialize);
    assert!(client.call_tool("echo", object(json!({ "text": "hello" }))).await.is_ok());
}

#[tokio::test]
async fn a_remembered_era_needs_no_question() {
    let supervisor = Supervisor::new();
    let era = Some(ProtocolEra::Initialize);
    let client = McpClient::start(&supervisor, launch(&["strict"]), era, limits()).await.unwrap();
    assert_eq!(client.about().era, ProtocolEra::Initialize);
    assert_eq!(supervisor.list().len(), 1, "the server started once");
}

#[tokio::test]
async fn a_server_gets_only_the_variables_that_were_named() {
    let environment = HashMap::from([("TOKEN".to_owned(), "secret".to_owned())]);
    let client = McpClient::connect_stdio("python3", &[SERVER], &environment).await.unwrap();
    let result = client.call_tool("environment", object(json!({}))).await.unwrap();
    let Some(McpContent::Text { text }) = result.content.first() else { unreachable!() };
    let mut names: Vec<String> = serde_json::from_str(text).unwrap();
    // Python sets this one itself.
    names.retain(|name| name != "LC_CTYPE");
    assert_eq!(names, ["PATH", "TOKEN"]);
}

#[tokio::test]
async fn closing_ends_the_program() {
    let supervisor = Supervisor::new();
    let client = McpClient::start(&supervisor, launch(&["plain"]), None, limits()).await.unwrap();
    client.close().await;
    assert!(supervisor.list().iter().all(|program| program.exit.is_some()));
}

#[tokio::test]
async fn a_program_that_fails_to_start_is_reported_with_its_error_output() {
    let supervisor = Supervisor::new();
    let error = McpClient::start(&supervisor, launch(&["broken"]), None, limits()).await.unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains("exited with code 3") && shown.contains("cannot find the module"), "{shown}");
    let missing = lariat_host::process::Launch::new("no-such-program", "/");
    let error = McpClient::start(&supervisor, missing, None, limits()).await.unwrap_err();
    assert!(matches!(&error, McpError::Transport(why) if why.contains("was not found")), "{error}");
}

#[tokio::test]
async fn an_error_of_the_server_has_its_code() {
    let error = client("plain").await.call_tool("missing", object(json!({}))).await.unwrap_err();
    assert!(
        matches!(&error, McpError::JsonRpc { code: -32602, message } if message == "unknown tool missing")
    );
}

#[tokio::test]
async fn reads_prompts_and_resources() {
    let client = client("plain").await;
    let prompts = client.list_prompts().await.unwrap();
    assert_eq!(prompts.len(), 2);
    let filled = prompts[0].fill(&["Ada".to_owned(), "very".to_owned(), "warmly".to_owned()]).unwrap();
    let messages = client.get_prompt("greet", filled).await.unwrap();
    let [("user", McpContent::Text { text })] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(text.starts_with("Say hello to Ada (very warmly)"), "{text}");
    let read = client.read_resource("notes://today").await.unwrap();
    assert!(matches!(read.as_slice(), [McpContent::Text { text }] if text.contains("Buy milk")), "{read:?}");
    let error = client.read_resource("notes://never").await.unwrap_err();
    assert!(matches!(error, McpError::JsonRpc { code: -32002, .. }), "{error}");
    let other = crate::support::client("stateless").await;
    assert_eq!(other.list_prompts().await.unwrap(), [], "a server without prompts is not asked");
}
