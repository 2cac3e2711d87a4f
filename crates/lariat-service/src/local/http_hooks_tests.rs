//! HTTP hooks over real sockets on this machine.

use std::sync::Mutex;
use std::time::Duration;

use lariat_guard::hooks::{HookConfig, HookEvent, HookRunner};
use lariat_host::process::{Environment, Supervisor};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::super::HookPrograms;
use super::*;

/// A server that sends the same response to every request, or none, and records the requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !is_whole(&request) {
                    let mut buffer = [0; 4096];
                    let count = socket.read(&mut buffer).await.unwrap();
                    assert!(count > 0, "the request was cut off");
                    request.extend_from_slice(&buffer[..count]);
                }
                recorded.lock().unwrap().push(String::from_utf8(request).unwrap());
                match &answer {
                    Some(answer) => drop(socket.write_all(answer.as_bytes()).await),
                    None => std::future::pending().await,
                }
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn answer(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"))
}

fn handler(entry: Value) -> Handler {
    let mut hook_config = HookConfig::default();
    assert_eq!(hook_config.add("settings.json", &json!({"PreToolUse": [{"hooks": [entry]}]})), []);
    hook_config.matching(HookEvent::PreToolUse, &[])[0].1.clone()
}

fn programs() -> HookPrograms {
    let directory = std::env::temp_dir();
    HookPrograms::new(
        Supervisor::new(),
        directory,
        Environment::from_inherited(Vec::<(String, String)>::new()),
    )
    .with_header_variables([("TOKEN", "sesame"), ("OTHER", "secret")])
}

async fn send(url: &str, input: &str) -> HandlerResult {
    let handler = handler(json!({"type": "http", "url": url, "timeout": 20}));
    programs().run(&handler, input).await
}

fn failed(ended: HandlerResult) -> String {
    match ended {
        HandlerResult::Failed(why) => why,
        other => panic!("expected a failure: {other:?}"),
    }
}

#[tokio::test]
async fn posts_json_and_returns_response_body() {
    let server = Server::new(answer("200 OK", "", r#"{"decision": "block"}"#)).await;
    let ended = send(&server.url, r#"{"prompt": "go"}"#).await;
    let output = r#"{"decision": "block"}"#.to_owned();
    assert_eq!(ended, HandlerResult::Exited { code: 0, output, errors: String::new() });
    let requests = server.requests();
    assert!(requests[0].starts_with("POST /hook HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[0].contains("content-type: application/json\r\n"), "{requests:?}");
    assert!(requests[0].ends_with("\r\n\r\n{\"prompt\": \"go\"}"), "{requests:?}");
    let empty = Server::new(answer("204 No Content", "", "")).await;
    let nothing = HandlerResult::Exited { code: 0, output: String::new(), errors: String::new() };
    assert_eq!(send(&empty.url, "{}").await, nothing);
}

#[tokio::test]
async fn status_other_than_2xx_is_a_failure() {
    for status in ["400 Bad Request", "401 Unauthorized", "404 Not Found", "500 Oops", "304 Not Modified"] {
        let server = Server::new(answer(status, "", r#"{"continue": true}"#)).await;
        let why = failed(send(&server.url, "{}").await);
        assert!(why.contains(&status[..3]), "{why}");
    }
}

#[tokio::test]
async fn does_not_follow_redirects() {
    let target = Server::new(answer("200 OK", "", "{}")).await;
    let location = format!("location: {}\r\n", target.url);
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let server = Server::new(answer(status, &location, "")).await;
        failed(send(&server.url, "{}").await);
    }
    assert_eq!(target.requests().len(), 0);
}

#[tokio::test]
async fn connection_failure_does_not_reveal_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let why = failed(send(&format!("http://127.0.0.1:{port}/secret-path"), "{}").await);
    assert!(!why.contains("secret-path"), "{why}");
    failed(send("not an address", "{}").await);
    failed(send("file:///etc/passwd", "{}").await);
}

#[tokio::test]
async fn missing_response_times_out() {
    let server = Server::new(None).await;
    let handler = handler(json!({"type": "http", "url": server.url, "timeout": 0.3}));
    let before = Instant::now();
    assert_eq!(programs().run(&handler, "{}").await, HandlerResult::TimedOut);
    assert!(before.elapsed() >= Duration::from_millis(300) && before.elapsed() < Duration::from_secs(10));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn limits_response_to_a_megabyte() {
    let most = "x".repeat(1024 * 1024);
    let server = Server::new(answer("200 OK", "", &most)).await;
    assert!(
        matches!(send(&server.url, "{}").await, HandlerResult::Exited { output, .. } if output.len() == most.len())
    );
    let server = Server::new(answer("200 OK", "", &format!("{most}x"))).await;
    assert!(failed(send(&server.url, "{}").await).contains("larger"));
}

#[tokio::test]
async fn headers_use_listed_variables_only() {
    let server = Server::new(answer("200 OK", "", "")).await;
    let handler = handler(json!({
        "type": "http", "url": server.url, "allowedEnvVars": ["TOKEN", "PATH"],
        "headers": {"Authorization": "Bearer $TOKEN", "X-Other": "<$OTHER>", "X-Path": "<${PATH}>", "X-Twice": "${TOKEN}$TOKEN"}
    }));
    programs().run(&handler, "{}").await;
    let requests = server.requests().remove(0).to_lowercase();
    for line in
        ["authorization: bearer sesame\r\n", "x-other: <>\r\n", "x-path: <>\r\n", "x-twice: sesamesesame\r\n"]
    {
        assert!(requests.contains(line), "{line} in {requests}");
    }
    let shown = format!("{:?}", programs());
    assert!(shown.contains("TOKEN") && !shown.contains("sesame"), "{shown}");
}

#[tokio::test]
async fn variable_cannot_add_a_header() {
    let server = Server::new(answer("200 OK", "", "")).await;
    let entry =
        json!({"type": "http", "url": server.url, "allowedEnvVars": ["TOKEN"], "headers": {"X": "$TOKEN"}});
    let programs = programs().with_header_variables([("TOKEN", "a\r\nX-Evil: b")]);
    failed(programs.run(&handler(entry), "{}").await);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn expands_variables_like_a_shell() {
    let value = |name: &str| (name == "A" || name == "LONG_1").then_some("v");
    for (text, expected) in [
        ("plain", "plain"),
        ("$A", "v"),
        ("${A}", "v"),
        ("$A-${A}.", "v-v."),
        ("$LONG_1", "v"),
        ("$AB", ""),
        ("${A}B", "vB"),
        ("$", "$"),
        ("5$ each", "5$ each"),
        ("${}", "${}"),
        ("${A", "${A"),
        ("${A B}", "${A B}"),
        ("$$A", "$v"),
    ] {
        assert_eq!(expand_variables(text, value), expected, "{text}");
    }
}
