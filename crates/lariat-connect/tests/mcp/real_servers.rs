//! The official reference servers, and a server written with the official Python SDK. `cargo xtask connect` installs them.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lariat_connect::mcp::{McpClient, McpContent, McpLimits, McpToolAdapter, McpToolCallResult, ProtocolEra};
use lariat_core::tool::AgentTool as _;
use lariat_host::process::{Environment, Launch, Supervisor};
use lariat_http::{ClientConfig, HttpClient};
use serde_json::{Value, json};

use crate::support::{limits, object};

const PORT: u16 = 38_471;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; hint: run `cargo xtask connect`"))
}

fn node(server: &str, arguments: &[&str]) -> Vec<String> {
    let script =
        format!("{}/node_modules/@modelcontextprotocol/server-{server}/dist/index.js", variable("MCP_NODE"));
    let words = ["node", &script].into_iter().chain(arguments.iter().copied());
    words.map(str::to_owned).collect()
}

fn python(arguments: &[&str]) -> Vec<String> {
    let python = variable("MCP_PYTHON");
    std::iter::once(python.as_str()).chain(arguments.iter().copied()).map(str::to_owned).collect()
}

async fn connect(words: &[String], era: Option<ProtocolEra>) -> Arc<McpClient> {
    let (program, arguments) = words.split_first().unwrap();
    let environment = Environment::default().with("PATH", std::env::var_os("PATH").unwrap());
    let launch =
        Launch::new(program, std::env::temp_dir()).with_arguments(arguments).with_environment(environment);
    Arc::new(McpClient::start(&Supervisor::new(), launch, era, limits()).await.unwrap())
}

fn text(result: &McpToolCallResult) -> String {
    let each = result.content.iter().map(|part| match part {
        McpContent::Text { text } => text.clone(),
        other => format!("{other:?}"),
    });
    each.collect()
}

async fn call(client: &McpClient, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, object(arguments)).await.unwrap();
    assert!(!result.is_error, "{result:?}");
    text(&result)
}

#[tokio::test]
#[ignore = "needs installed servers: cargo xtask connect"]
async fn everything() {
    let client = connect(&node("everything", &[]), None).await;
    assert_eq!(client.about().era, ProtocolEra::Initialize);
    assert!(call(&client, "echo", json!({ "message": "hello" })).await.contains("hello"));
    assert!(call(&client, "get-sum", json!({ "a": 2, "b": 3 })).await.contains('5'));
    let image = client.call_tool("get-tiny-image", object(json!({}))).await.unwrap();
    assert!(image.content.iter().any(|part| matches!(part, McpContent::Image { .. })), "{image:?}");
    let structured = client.call_tool("get-structured-content", object(json!({ "location": "New York" })));
    assert!(structured.await.unwrap().structured_content.is_some());
    let tools = McpToolAdapter::from_client(Arc::clone(&client)).await.unwrap();
    assert!(tools.len() >= 8, "{}", tools.len());
    for tool in &tools {
        assert_eq!(tool.parameters_schema()["type"], "object", "{}", tool.name());
    }
    client.close().await;
}

#[tokio::test]
#[ignore = "needs installed servers: cargo xtask connect"]
async fn filesystem_and_memory() {
    let directory = std::env::temp_dir().join(format!("lariat-mcp-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("a.txt"), "content").unwrap();
    let path = directory.to_str().unwrap();
    let client = connect(&node("filesystem", &[path]), None).await;
    assert!(call(&client, "list_directory", json!({ "path": path })).await.contains("a.txt"));
    let file = directory.join("a.txt");
    assert!(call(&client, "read_text_file", json!({ "path": file })).await.contains("content"));
    let outside = client.call_tool("read_text_file", object(json!({ "path": "/etc/passwd" }))).await.unwrap();
    assert!(outside.is_error, "{outside:?}");
    client.close().await;
    std::fs::remove_dir_all(directory).unwrap();
    let client = connect(&node("memory", &[]), None).await;
    assert!(call(&client, "read_graph", json!({})).await.contains("entities"));
}

#[tokio::test]
#[ignore = "needs installed servers: cargo xtask connect"]
async fn python_servers_in_both_eras() {
    let time = python(&["-m", "mcp_server_time"]);
    for era in [None, Some(ProtocolEra::Initialize), Some(ProtocolEra::Stateless)] {
        let client = connect(&time, era).await;
        let expected = era.unwrap_or(ProtocolEra::Stateless);
        assert_eq!(client.about().era, expected);
        let shown = call(&client, "get_current_time", json!({ "timezone": "Asia/Tokyo" })).await;
        assert!(shown.contains("Asia/Tokyo"), "{shown}");
        client.close().await;
    }
    let git = connect(&python(&["-m", "mcp_server_git"]), None).await;
    assert!(git.list_tools().await.unwrap().iter().any(|tool| tool.name == "git_status"));
    let script = variable("MCP_SCRIPT");
    let client = connect(&python(&[&script]), None).await;
    assert!(call(&client, "add", json!({ "left": 2, "right": 3 })).await.contains('5'));
}

#[tokio::test]
#[ignore = "needs installed servers: cargo xtask connect"]
async fn official_sdk_over_http_in_both_eras() {
    let words = python(&[&variable("MCP_SCRIPT"), "http", &PORT.to_string()]);
    let mut child = Command::new(&words[0]).args(&words[1..]).stderr(Stdio::null()).spawn().unwrap();
    let url = format!("http://127.0.0.1:{PORT}/mcp");
    let limits = McpLimits::new(Duration::from_secs(15), Duration::from_secs(15));
    for era in [None, Some(ProtocolEra::Initialize), Some(ProtocolEra::Stateless)] {
        let mut tries = 0;
        let client = loop {
            let http = HttpClient::new(ClientConfig::default());
            match McpClient::connect_service(http, &url, &BTreeMap::new(), era, limits).await {
                Ok(client) => break client,
                Err(error) if tries > 100 => panic!("{error}"),
                Err(_) => tries += 1,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert_eq!(client.about().era, era.unwrap_or(ProtocolEra::Stateless));
        assert!(call(&client, "add", json!({ "left": 2, "right": 3 })).await.contains('5'));
        client.close().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
