//! A client for the conformance suite of MCP: connects to the server at the address that is the last argument, logs in if the
//! server wants that, and uses everything that the server offers. `cargo xtask connect` runs it.
//!
//! The suite judges what the client sends. The client uses the same types as the program; only the browser and the user are
//! replaced.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of the tests"
)]

#[path = "../tests/mcp/browser.rs"]
mod browser;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use browser::{MemoryLogins, browse};
use lariat_connect::mcp::{
    CallObserver, LoginAddresses, LoginOptions, McpClient, McpError, McpHttpClient, McpLimits, McpLogin,
    McpToolInfo, ReachableAddresses, ServerLogin,
};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::question::{UserAnswer, UserQuestion};
use lariat_core::time::Timestamp;
use lariat_http::{ClientConfig, HttpClient};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

/// The metadata document of a client that the suite knows.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// A server that wants another login after each one must not make a user log in for ever.
const MAX_LOGINS: usize = 3;
/// The start of the answer that takes the default of a field.
const DEFAULT: &str = "(default: ";

#[tokio::main]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = serde_json::from_str(&context).unwrap_or(Value::Null);
    match Session::new(url, context).run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The current time.
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap())
    }

    fn sleep_until(&self, _: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The use of one server.
struct Session {
    url: String,
    /// What the suite says about the scenario.
    context: Value,
    login: Arc<ServerLogin>,
    logins: usize,
}

impl Session {
    fn new(url: String, context: Value) -> Self {
        let named = [url.as_str()].into_iter().chain(context["issuer"].as_str());
        let addresses = LoginAddresses::new(ReachableAddresses::All, named);
        let http = HttpClient::new(ClientConfig::default()).with_address_check(Arc::new(addresses));
        let store = Arc::new(MemoryLogins::default());
        let login = Arc::new(ServerLogin::new(&url, http, store, Arc::new(WallClock)));
        Self { url, context, login, logins: 0 }
    }

    async fn run(&mut self) -> Result<(), McpError> {
        let mut client = self.connect().await?;
        let tools = loop {
            match client.list_tools().await {
                Err(McpError::LoginRequired { scope }) => {
                    self.log_in(scope).await?;
                    client = self.connect().await?;
                }
                tools => break tools?,
            }
        };
        // Servers of the first era ask on a stream that the client opens after the start; one that asks before has no answer.
        tokio::time::sleep(Duration::from_millis(300)).await;
        for (tool, arguments) in self.calls(&tools) {
            loop {
                match self.call(&client, &tool, arguments.clone()).await {
                    Err(McpError::LoginRequired { scope }) => {
                        self.log_in(scope).await?;
                        client = self.connect().await?;
                    }
                    // The failure of one tool does not keep the others from being used.
                    Err(error) => break eprintln!("{tool}: {error}"),
                    Ok(()) => break,
                }
            }
        }
        for prompt in client.list_prompts().await.unwrap_or_default() {
            let _ = client.get_prompt(&prompt.name, Map::new()).await;
        }
        for resource in client.list_resources().await.unwrap_or_default() {
            let _ = client.read_resource(&resource.uri).await;
        }
        client.close().await;
        Ok(())
    }

    /// Connects, after a login if the server wants one.
    async fn connect(&mut self) -> Result<McpClient, McpError> {
        loop {
            let http = HttpClient::new(ClientConfig::default());
            let client = McpHttpClient::from(http).with_login(Arc::clone(&self.login));
            let limits = McpLimits::new(Duration::from_secs(10), Duration::from_secs(15)).with_questions();
            let none = BTreeMap::new();
            match McpClient::connect_service(client, &self.url, &none, None, limits).await {
                Err(McpError::LoginRequired { scope }) => self.log_in(scope).await?,
                connected => return connected,
            }
        }
    }

    /// Logs in, as a user does who opens the address and agrees.
    async fn log_in(&mut self, scope: Option<String>) -> Result<(), McpError> {
        self.logins += 1;
        if self.logins > MAX_LOGINS {
            return Err(McpError::LoginRequired { scope });
        }
        let text = |name: &str| self.context[name].as_str().map(str::to_owned);
        let mut options = LoginOptions::default();
        options.client_id = text("client_id").or_else(|| Some(CLIENT_DOCUMENT.to_owned()));
        options.client_secret = text("client_secret");
        let issuer = text("issuer").map(|issuer| issuer.trim_end_matches('/').to_owned());
        options.metadata_url =
            issuer.map(|issuer| format!("{issuer}/.well-known/oauth-authorization-server"));
        let login = McpLogin::begin(Arc::clone(&self.login), &options).await?;
        let (_sender, pasted) = mpsc::channel(1);
        let address = login.address().to_owned();
        let (done, ()) = tokio::join!(login.complete(pasted), browse(&address));
        done.map(drop)
    }

    /// The calls that the suite wants, or one of each tool.
    fn calls(&self, tools: &[McpToolInfo]) -> Vec<(String, Map<String, Value>)> {
        if let Some(calls) = self.context["toolCalls"].as_array() {
            let arguments = |call: &Value| call["arguments"].as_object().cloned().unwrap_or_default();
            return calls
                .iter()
                .map(|call| (call["name"].as_str().unwrap().to_owned(), arguments(call)))
                .collect();
        }
        tools.iter().map(|tool| (tool.name.clone(), arguments_of(&tool.input_schema))).collect()
    }

    async fn call(
        &self,
        client: &McpClient,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<(), McpError> {
        let (cancel, report) = (CancellationToken::new(), |_: String| {});
        let ask = |question: UserQuestion| -> BoxFuture<'static, UserAnswer> {
            let suggested = question.options.iter().find(|option| option.starts_with(DEFAULT));
            let answer = suggested.or_else(|| question.options.first()).cloned();
            Box::pin(std::future::ready(UserAnswer::Text(answer.unwrap_or_else(|| "1".to_owned()))))
        };
        let observer = CallObserver::new(&cancel, &report).with_user(Some(Arc::new(ask)));
        client.call_tool_for("suite", tool, arguments, &observer).await.map(drop)
    }
}

/// A value for each required argument.
fn arguments_of(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Map::new()),
        _ => "text".into(),
    };
    required.map(|name| (name.to_owned(), value(name))).collect()
}
