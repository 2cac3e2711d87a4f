//! Logins at services, against a service whose authorization server checks what OAuth 2.1 requires of a client.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::Request;
use lariat_connect::mcp::{
    LoginAddresses, LoginOptions, LoginStore, LoginSummary, McpClient, McpContent, McpError, McpHttpClient,
    McpLimits, McpLogin, ReachableAddresses, ServerLogin,
};
use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;
use lariat_http::{ClientConfig, HttpClient, HttpResponse, Transport as _};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::browser::{MemoryLogins, browse};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/oauth_server.py");

/// The port of `oidc-provider`, which must know its own address before it starts.
const OIDC_PORT: u16 = 38_473;

/// A clock that the test moves, in seconds.
#[derive(Default)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed) * 1_000)
    }

    fn sleep_until(&self, _: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A service with a login, and what a client of it needs.
struct Service {
    child: Child,
    url: String,
    store: Arc<MemoryLogins>,
    clock: Arc<TestClock>,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn http() -> HttpClient {
    HttpClient::new(ClientConfig::default())
}

async fn get(url: &str) -> HttpResponse {
    http().send(Request::get(url).body(Bytes::new()).unwrap()).await.unwrap()
}

impl Service {
    /// The service whose authorization server is `oidc-provider`.
    fn start_oidc() -> Self {
        let directory = std::env::var("MCP_NODE")
            .unwrap_or_else(|_| panic!("MCP_NODE is not set; hint: run `cargo xtask connect`"));
        let script = format!("{directory}/oidc_server.mjs");
        let mut node = Command::new("node");
        node.args([script, OIDC_PORT.to_string()]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = node.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = format!("http://127.0.0.1:{OIDC_PORT}/mcp");
        Self { child, url, store: Arc::default(), clock: Arc::default() }
    }

    fn start(behaviour: &str) -> Self {
        let mut child =
            Command::new("python3").args([SERVER, behaviour]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", line.trim());
        Self { child, url, store: Arc::default(), clock: Arc::default() }
    }

    /// A process of its own that uses the stored login.
    fn login(&self) -> Arc<ServerLogin> {
        let addresses = LoginAddresses::new(ReachableAddresses::All, [self.url.as_str()]);
        let http = http().with_address_check(Arc::new(addresses));
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        Arc::new(ServerLogin::new(&self.url, http, store, clock))
    }

    async fn log_in(&self, options: &LoginOptions) -> Result<LoginSummary, McpError> {
        let login = McpLogin::begin(self.login(), options).await?;
        let (_sender, pasted) = mpsc::channel(1);
        let address = login.address().to_owned();
        let (summary, ()) = tokio::join!(login.complete(pasted), browse(&address));
        summary
    }

    async fn connect(&self, login: Arc<ServerLogin>) -> Result<McpClient, McpError> {
        let limits = McpLimits::new(Duration::from_secs(20), Duration::from_secs(5));
        let client = McpHttpClient::from(http()).with_login(login);
        McpClient::connect_service(client, &self.url, &BTreeMap::new(), None, limits).await
    }

    async fn log(&self) -> Value {
        let mut response = get(&self.url.replace("/mcp", "/log")).await;
        let mut body = Vec::new();
        while let Some(chunk) = response.body.next().await {
            body.extend_from_slice(&chunk.unwrap());
        }
        serde_json::from_slice(&body).unwrap()
    }
}

async fn call(client: &McpClient) -> Result<String, McpError> {
    let result = client.call_tool("echo", Map::new()).await?;
    match result.content.first() {
        Some(McpContent::Text { text }) => Ok(text.clone()),
        other => panic!("{other:?}"),
    }
}

fn options() -> LoginOptions {
    LoginOptions::default()
}

#[tokio::test]
async fn login_reaches_the_tools_and_logout_ends_it() {
    let service = Service::start("plain");
    let refused = service.connect(service.login()).await.unwrap_err();
    assert!(matches!(refused, McpError::LoginRequired { scope: None }), "{refused}");
    let summary = service.log_in(&options()).await.unwrap();
    assert_eq!((summary.scope.as_deref(), summary.expires_at), (Some("read"), Some(3600)));
    assert!(summary.is_renewable);
    let login = service.login();
    let client = service.connect(Arc::clone(&login)).await.unwrap();
    let text = call(&client).await.unwrap();
    let token = text.strip_prefix("called with ").unwrap().to_owned();
    assert!(service.store.hidden.lock().unwrap().contains(&token), "the redactor knows the token");
    assert!(!format!("{login:?}{client:?}{summary:?}").contains(&token));
    let log = service.log().await;
    assert_eq!((&log["registrations"], &log["codes"], &log["refreshes"]), (&1.into(), &1.into(), &0.into()));
    assert!(login.remove().await.unwrap() && !login.remove().await.unwrap());
    assert_eq!(service.log().await["revocations"], 1);
    let refused = service.connect(service.login()).await.unwrap_err();
    assert!(matches!(refused, McpError::LoginRequired { .. }), "{refused}");
}

#[tokio::test]
async fn a_pasted_redirect_completes_a_login() {
    let service = Service::start("plain");
    let login = McpLogin::begin(service.login(), &options()).await.unwrap();
    let response = get(login.address()).await;
    let redirect = response.headers["location"].to_str().unwrap().to_owned();
    let (sender, pasted) = mpsc::channel(4);
    // A line that is not the redirect, and one with another state, are ignored.
    for line in ["hello".to_owned(), redirect.replace("state=", "state=x"), format!(" {redirect}\n")] {
        sender.send(line).await.unwrap();
    }
    login.complete(pasted).await.unwrap();
    assert!(service.connect(service.login()).await.is_ok());
}

#[tokio::test]
async fn a_redirect_of_another_program_does_not_end_the_login() {
    let service = Service::start("plain");
    let login = McpLogin::begin(service.login(), &options()).await.unwrap();
    let address = login.address().to_owned();
    let query = address.split_once("redirect_uri=").unwrap().1.split('&').next().unwrap();
    let callback = query.replace("%3A", ":").replace("%2F", "/");
    let (_sender, pasted) = mpsc::channel(1);
    let (summary, ()) = tokio::join!(login.complete(pasted), async {
        for attack in [format!("{callback}?code=stolen&state=guess"), format!("{callback}?error=x"), callback]
        {
            assert_eq!(get(&attack).await.status, 404);
        }
        browse(&address).await;
    });
    summary.unwrap();
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let service = Service::start("plain");
    service.log_in(&options()).await.unwrap();
    let client = service.connect(service.login()).await.unwrap();
    let first = call(&client).await.unwrap();
    assert_eq!(call(&client).await.unwrap(), first);
    service.clock.0.store(3_550, Ordering::Relaxed);
    let second = call(&client).await.unwrap();
    assert_ne!(second, first);
    assert_eq!(service.log().await["refreshes"], 1);
    // Another process finds the renewed login.
    let other = service.connect(service.login()).await.unwrap();
    assert_eq!(call(&other).await.unwrap(), second);
    assert_eq!(service.log().await["refreshes"], 1);
}

#[tokio::test]
async fn a_process_uses_the_login_that_another_one_renewed() {
    let service = Service::start("plain");
    service.log_in(&options()).await.unwrap();
    let (one, other) =
        (service.connect(service.login()).await.unwrap(), service.connect(service.login()).await);
    let other = other.unwrap();
    service.clock.0.store(3_550, Ordering::Relaxed);
    assert_eq!(call(&one).await.unwrap(), call(&other).await.unwrap());
    assert_eq!(service.log().await["refreshes"], 1);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let service = Service::start("revoked");
    service.log_in(&options()).await.unwrap();
    let client = service.connect(service.login()).await.unwrap();
    let first = call(&client).await.unwrap();
    assert_ne!(call(&client).await.unwrap(), first);
    assert_eq!(service.log().await["refreshes"], 1);

    let service = Service::start("stale");
    service.log_in(&options()).await.unwrap();
    let client = service.connect(service.login()).await.unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error}");
    assert_eq!(service.log().await["refreshes"], 1, "no loop");
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_is_removed() {
    let service = Service::start("dead");
    service.log_in(&options()).await.unwrap();
    let client = service.connect(service.login()).await.unwrap();
    let error = call(&client).await.unwrap_err();
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error}");
    assert_eq!(service.store.load(), None);
}

#[tokio::test]
async fn a_call_that_needs_more_rights_names_the_scope() {
    let service = Service::start("scope");
    service.log_in(&options()).await.unwrap();
    let client = service.connect(service.login()).await.unwrap();
    let error = call(&client).await.unwrap_err();
    let McpError::LoginRequired { scope: Some(scope) } = error else { panic!("{error}") };
    assert_eq!(scope, "read write");
    let mut wanted = options();
    wanted.scopes = Some("write".to_owned());
    service.log_in(&wanted).await.unwrap();
    assert!(call(&service.connect(service.login()).await.unwrap()).await.is_ok());
    let asked = service.log().await["scopes"].clone();
    assert_eq!(asked[1], "write read", "a new login keeps what was granted before");
}

#[tokio::test]
async fn a_secret_goes_only_to_an_authorization_server_that_the_entry_names() {
    let service = Service::start("plain");
    let mut wanted = options();
    wanted.client_id = Some("mine".to_owned());
    wanted.client_secret = Some("hidden".to_owned());
    let error = service.log_in(&wanted).await.unwrap_err().to_string();
    assert!(error.contains("`oauth.authServerMetadataUrl`"), "{error}");
    assert!(!format!("{wanted:?}").contains("hidden"));
}

#[tokio::test]
async fn finds_openid_providers_documents_and_services_without_metadata() {
    for behaviour in ["openid", "document", "bare"] {
        let service = Service::start(behaviour);
        let mut wanted = options();
        if behaviour == "document" {
            wanted.client_id = Some("https://example.com/client.json".to_owned());
        }
        service.log_in(&wanted).await.unwrap_or_else(|error| panic!("{behaviour}: {error}"));
        let client = service.connect(service.login()).await.unwrap();
        call(&client).await.unwrap();
        service.clock.0.store(3_600, Ordering::Relaxed);
        call(&client).await.unwrap_or_else(|error| panic!("{behaviour}: {error}"));
        let log = service.log().await;
        assert_eq!(log["problems"], serde_json::json!([]), "{behaviour}");
        assert_eq!(log["registrations"], u8::from(behaviour != "document"), "{behaviour}");
    }
}

#[tokio::test]
async fn refuses_authorization_servers_that_are_not_safe() {
    let cases = [
        ("no-pkce", "PKCE"),
        ("other-issuer", "another issuer"),
        ("other-resource", "another address"),
        ("wrong-iss", "another issuer"),
        ("elsewhere", "not `https`"),
        ("plain-http", "not `https`"),
        ("denied", "access_denied"),
        ("document", "oauth.clientId"),
    ];
    for (behaviour, expected) in cases {
        let service = Service::start(behaviour);
        let error = service.log_in(&options()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{behaviour}: {error}");
        assert_eq!(service.store.load(), None, "{behaviour}");
    }
}

#[tokio::test]
async fn a_server_cannot_send_the_login_to_another_internal_machine() {
    let service = Service::start("plain");
    let mut wanted = options();
    // Named in the entry of another server, so not by this one.
    wanted.metadata_url = Some(service.url.replace("127.0.0.1", "localhost"));
    let far = LoginAddresses::new(ReachableAddresses::All, ["https://mcp.example.com/"]);
    let http = http().with_address_check(Arc::new(far));
    let (store, clock) = (Arc::clone(&service.store), Arc::clone(&service.clock));
    let login = ServerLogin::new(&service.url, http, store, clock);
    let error = McpLogin::begin(Arc::new(login), &wanted).await.err().unwrap();
    assert!(error.to_string().contains("internal network"), "{error}");
}

#[tokio::test]
async fn a_token_goes_to_no_other_origin() {
    let (service, other) = (Service::start("plain"), Service::start("plain"));
    service.log_in(&options()).await.unwrap();
    // The same login, used for another address.
    let limits = McpLimits::new(Duration::from_secs(20), Duration::from_secs(5));
    let client = McpHttpClient::from(http()).with_login(service.login());
    let refused =
        McpClient::connect_service(client, &other.url, &BTreeMap::new(), None, limits).await.unwrap_err();
    assert!(matches!(refused, McpError::LoginRequired { .. }), "{refused}");
    assert_eq!(other.log().await["tokens"], serde_json::json!([]), "no token arrived");
    // A login that was stored for another address is not used.
    let text = service.store.load().unwrap().replace(&service.url, &other.url);
    other.store.save(Some(&text.replace(&other.url, "http://127.0.0.1:1/mcp"))).unwrap();
    assert!(other.connect(other.login()).await.is_err());
    assert_eq!(other.log().await["tokens"], serde_json::json!([]), "no token arrived");
}

#[tokio::test]
#[ignore = "needs installed servers: cargo xtask connect"]
async fn logs_in_at_a_certified_openid_provider() {
    let service = Service::start_oidc();
    let refused = service.connect(service.login()).await.unwrap_err();
    assert!(matches!(refused, McpError::LoginRequired { .. }), "{refused}");
    let summary = service.log_in(&options()).await.unwrap();
    assert!(summary.is_renewable, "{summary:?}");
    let client = service.connect(service.login()).await.unwrap();
    let who = |text: String| text.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let first = client.call_tool("who", Map::new()).await.unwrap();
    let end = summary.expires_at.unwrap();
    service.clock.0.store(end, Ordering::Relaxed);
    let second = client.call_tool("who", Map::new()).await.unwrap();
    assert_ne!(first.content, second.content, "the token was renewed");
    for result in [first, second] {
        let [McpContent::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        assert_eq!(who(text.clone()), "user read");
    }
    let login = service.login();
    assert!(login.remove().await.unwrap());
    assert!(service.connect(service.login()).await.is_err());
}
