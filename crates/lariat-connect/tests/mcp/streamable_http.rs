//! Services that speak streamable HTTP, in both eras.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lariat_connect::mcp::{McpClient, McpContent, McpError, McpLimits, ProtocolEra, ReachableAddresses};
use lariat_http::{AddressCheck, ClientConfig, HttpClient};
use serde_json::json;

use crate::support::object;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/http_server.py");

struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(behaviour: &str) -> Self {
        let mut child =
            Command::new("python3").args([SERVER, behaviour]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, url: format!("http://127.0.0.1:{}/mcp", line.trim()) }
    }

    async fn connect(&self, limits: McpLimits) -> Result<McpClient, McpError> {
        let headers = BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]);
        let client = HttpClient::new(ClientConfig::default());
        McpClient::connect_service(client, &self.url, &headers, None, limits).await
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn limits() -> McpLimits {
    McpLimits::new(Duration::from_secs(20), Duration::from_secs(2))
}

#[tokio::test]
async fn calls_a_tool_in_both_eras_with_json_and_events() {
    for (behaviour, era) in [
        ("json", ProtocolEra::Initialize),
        ("events", ProtocolEra::Initialize),
        ("stateless", ProtocolEra::Stateless),
    ] {
        let service = Service::start(behaviour);
        let client = service.connect(limits()).await.unwrap();
        assert_eq!(client.about().era, era, "{behaviour}");
        assert_eq!(client.list_tools().await.unwrap().len(), 1, "{behaviour}");
        let result = client.call_tool("echo", object(json!({ "text": "hello" }))).await.unwrap();
        assert_eq!(result.content, [McpContent::Text { text: "hello secret".to_owned() }], "{behaviour}");
        client.close().await;
    }
}

#[tokio::test]
async fn calls_a_tool_over_the_older_transport() {
    let service = Service::start("sse");
    let client = HttpClient::new(ClientConfig::default());
    let client = McpClient::connect_sse(client, &service.url, &BTreeMap::new(), limits()).await.unwrap();
    let result = client.call_tool("echo", object(json!({ "text": "hello" }))).await.unwrap();
    assert_eq!(result.content, [McpContent::Text { text: "hello".to_owned() }]);
}

#[tokio::test]
async fn connect_http_needs_only_an_address() {
    let service = Service::start("json");
    let client = McpClient::connect_http(&service.url).await.unwrap();
    assert_eq!(client.about().server.as_deref(), Some("http 1"));
}

#[tokio::test]
async fn a_service_that_does_not_answer_ends_at_the_deadline() {
    let service = Service::start("silent");
    let client = service.connect(limits()).await.unwrap();
    let error = client.call_tool("echo", object(json!({}))).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut(_)), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused() {
    let service = Service::start("huge");
    let client = service.connect(limits()).await.unwrap();
    let error = client.call_tool("echo", object(json!({}))).await.unwrap_err();
    assert!(!matches!(error, McpError::TimedOut(_)), "{error}");
    assert!(error.to_string().contains("8 MiB"), "{error}");
}

#[tokio::test]
async fn failures_to_connect_are_reported() {
    for (behaviour, expected) in [("closed", "wants authorization"), ("redirect", "307")] {
        let service = Service::start(behaviour);
        let error = service.connect(limits()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{behaviour}: {error}");
    }
    let error = McpClient::connect_http("http://127.0.0.1:1/").await.unwrap_err();
    assert!(matches!(error, McpError::Transport(_)), "{error}");
}

#[tokio::test]
async fn the_service_of_a_project_has_a_public_address_or_names_this_machine() {
    let check = |host: &str, address: &str| {
        ReachableAddresses::PublicAndNamedLoopback.check(host, address.parse().unwrap()).is_ok()
    };
    assert!(check("example.com", "93.184.216.34"));
    assert!(check("localhost", "127.0.0.1") && check("127.0.0.1", "127.0.0.1"));
    assert!(!check("example.com", "127.0.0.1"), "a name that resolves to this machine");
    assert!(!check("metadata", "169.254.169.254") && !check("10.0.0.1", "10.0.0.1"));
    assert!(ReachableAddresses::All.check("10.0.0.1", "10.0.0.1".parse().unwrap()).is_ok());
    let service = Service::start("json");
    let client = HttpClient::new(ClientConfig::default())
        .with_address_check(Arc::new(ReachableAddresses::PublicAndNamedLoopback));
    let named = service.url.replace("127.0.0.1", "127.0.0.2");
    let connected = McpClient::connect_service(client, &named, &BTreeMap::new(), None, limits()).await;
    assert!(connected.unwrap_err().to_string().contains("internal network"));
}

#[tokio::test]
async fn an_address_with_a_user_name_is_refused() {
    let service = Service::start("json");
    let disguised = service.url.replace("127.0.0.1", "93.184.216.34@127.0.0.1");
    let client = || HttpClient::new(ClientConfig::default());
    let connected = McpClient::connect_service(client(), &disguised, &BTreeMap::new(), None, limits()).await;
    assert!(connected.unwrap_err().to_string().contains("user name"));
    let connected = McpClient::connect_sse(client(), &disguised, &BTreeMap::new(), limits()).await;
    assert!(connected.unwrap_err().to_string().contains("user name"));
}
