//! Tools of a server as tools of an agent.

use std::sync::Arc;

use lariat_connect::mcp::McpToolAdapter;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::Content;
use lariat_core::tool::{AgentTool, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::support::{client, context, limits, server, tool};

async fn adapters(behaviour: &str) -> (Vec<McpToolAdapter>, Vec<String>) {
    let server = server(&[behaviour], limits());
    tool(&server, "echo").await;
    McpToolAdapter::from_server(&server)
}

async fn call(tools: &[McpToolAdapter], name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    let tool = tools.iter().find(|tool| tool.name() == format!("mcp__test__{name}")).unwrap();
    tool.execute(arguments, context(&CancellationToken::new())).await
}

#[tokio::test]
async fn tools_have_names_of_their_server_and_every_effect() {
    let (tools, problems) = adapters("plain").await;
    assert!(problems.is_empty());
    let echo = tools.iter().find(|tool| tool.name() == "mcp__test__echo").unwrap();
    assert_eq!(echo.effects(), ToolEffects::ALL);
    assert_eq!((echo.description(), echo.is_parallel_safe()), ("Repeats a text.", false));
}

#[tokio::test]
async fn text_images_and_structured_content_reach_the_model() {
    let (tools, _) = adapters("plain").await;
    let text = call(&tools, "echo", json!({ "text": "hi" })).await.unwrap();
    assert_eq!(text.content, [Content::text("hi")]);
    assert_eq!(text.details, json!({ "server": "test", "tool": "echo" }));
    let image = call(&tools, "image", Value::Null).await.unwrap();
    assert!(
        matches!(image.content.first(), Some(Content::Image { mime_type, .. }) if mime_type == "image/png")
    );
    let structured = call(&tools, "structured", json!({})).await.unwrap();
    assert_eq!(structured.content, [Content::text(r#"{"temperature":21}"#)]);
    assert_eq!(structured.details["structured"], json!({ "temperature": 21 }));
}

#[tokio::test]
async fn failures_are_errors_for_the_model() {
    let (tools, _) = adapters("plain").await;
    let failed = call(&tools, "fail", json!({})).await.unwrap_err();
    assert_eq!(failed, ToolError::Failed("the disk is full".to_owned()));
    let died = call(&tools, "die", json!({})).await.unwrap_err();
    assert!(matches!(&died, ToolError::Interrupted(why) if why.contains("MCP server `test`")), "{died}");
    let invalid = call(&tools, "echo", json!([1])).await.unwrap_err();
    assert!(matches!(invalid, ToolError::InvalidArgs(_)));
}

#[tokio::test]
async fn hostile_text_is_neutralised_and_tools_that_providers_refuse_are_left_out() {
    let (tools, problems) = adapters("hostile").await;
    let is_hidden = |letter: char| matches!(letter, '\u{1b}' | '\u{7}' | '\u{200b}' | '\u{202e}');
    for tool in &tools {
        assert!(!tool.description().contains(is_hidden), "{:?}", tool.description());
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        assert!(tool.name().chars().all(plain) && tool.name().len() <= 64, "{}", tool.name());
        assert_eq!(tool.parameters_schema()["type"], "object");
    }
    let result = call(&tools, "echo", json!({})).await.unwrap();
    let Some(Content::Text { text }) = result.content.first() else { unreachable!() };
    assert!(!text.contains(is_hidden) && text.contains("clean"), "{text:?}");
    assert!(tools.iter().any(|tool| tool.name().starts_with("mcp__test__strange_name_with_slash_")));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("`bad`") && problems[1].contains("`deep`"));
}

#[tokio::test]
async fn a_client_without_configuration_gives_tools() {
    let client = Arc::new(client("plain").await);
    let tools = McpToolAdapter::from_client(client).await.unwrap();
    let echo = tools.into_iter().find(|tool| tool.name() == "echo").unwrap().with_prefix("mine");
    assert_eq!(echo.name(), "mine__echo");
    let result = echo.execute(json!({ "text": "hi" }), context(&CancellationToken::new())).await.unwrap();
    assert_eq!(result.content, [Content::text("hi")]);
}
