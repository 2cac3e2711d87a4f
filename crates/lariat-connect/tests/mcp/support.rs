//! The test server, started without a sandbox.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lariat_connect::mcp::{
    McpClient, McpConnector, McpError, McpLimits, McpServer, McpServerConfig, McpToolInfo, ProtocolEra,
};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::tool::ToolContext;
use lariat_host::process::{Environment, Launch, Supervisor};
use serde_json::{Map, Value, json};

pub(crate) const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");

pub(crate) fn launch(arguments: &[&str]) -> Launch {
    let environment = Environment::default().with("PATH", std::env::var_os("PATH").unwrap());
    Launch::new("python3", std::env::temp_dir())
        .with_arguments([SERVER])
        .with_arguments(arguments)
        .with_environment(environment)
}

pub(crate) fn limits() -> McpLimits {
    McpLimits::new(Duration::from_secs(20), Duration::from_secs(20))
}

pub(crate) async fn client(behaviour: &str) -> McpClient {
    McpClient::start(&Supervisor::new(), launch(&[behaviour]), None, limits()).await.unwrap()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(crate) fn config() -> McpServerConfig {
    McpServerConfig::parse("test", &json!({ "command": "python3" }), "tests", &|_| None).unwrap()
}

pub(crate) fn context(cancel: &CancellationToken) -> ToolContext {
    let session = SessionId::new("mcp");
    ToolContext::new(ToolCallId::new("call"), "tool", session, LoopId::new("mcp.0"), cancel.clone())
}

/// Starts the test server with these arguments, whatever the entry says.
pub(crate) struct TestConnector {
    pub(crate) arguments: Vec<String>,
    pub(crate) limits: McpLimits,
    pub(crate) supervisor: Supervisor,
}

impl TestConnector {
    pub(crate) fn new(arguments: &[&str], limits: McpLimits) -> Arc<Self> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Arc::new(Self { arguments, limits, supervisor: Supervisor::new() })
    }
}

impl McpConnector for TestConnector {
    fn connect<'a>(
        &'a self,
        _: &'a McpServerConfig,
        era: Option<ProtocolEra>,
    ) -> BoxFuture<'a, Result<McpClient, McpError>> {
        Box::pin(async move {
            let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
            McpClient::start(&self.supervisor, launch(&arguments), era, self.limits).await
        })
    }
}

pub(crate) fn server(arguments: &[&str], limits: McpLimits) -> Arc<McpServer> {
    let connector = TestConnector::new(arguments, limits);
    Arc::new(McpServer::new(config(), connector, Some(ProtocolEra::Initialize), None))
}

/// The tool as the server described it at the first contact.
pub(crate) async fn tool(server: &McpServer, name: &str) -> McpToolInfo {
    server.connect().await.unwrap();
    server.accepted_tools().into_iter().find(|tool| tool.name() == name).unwrap().info().clone()
}

/// A path in the directory for temporary files that no other test uses.
pub(crate) fn fresh_path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("lariat-mcp-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}
