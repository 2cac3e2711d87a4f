//! Tests `lariat mcp serve` with our own client in both eras, and with raw messages where a client must misbehave.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lariat_core::event::AgentEvent;
use lariat_proofs::engine::http::{ClientConfig, HttpClient};
use lariat_proofs::engine::mcp::{McpClient, McpContent, McpLimits, McpToolCallResult, ProtocolEra};
use lariat_proofs::engine::process::{Environment, Launch, Supervisor};
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PATIENCE, last_result, wait_for};

const ERAS: [ProtocolEra; 2] = [ProtocolEra::Initialize, ProtocolEra::Stateless];

fn limits() -> McpLimits {
    McpLimits::new(PATIENCE, PATIENCE)
}

async fn fixture() -> Fixture {
    Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await
}

/// Starts the server with our client.
async fn connect(fixture: &Fixture, arguments: &[&str], era: ProtocolEra) -> McpClient {
    let command = fixture.command(&[&["mcp", "serve"], arguments].concat());
    let mut environment = Environment::default();
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        environment = environment.with(name.to_str().unwrap(), value);
    }
    let launch = Launch::new(command.get_program().to_str().unwrap(), fixture.workspace())
        .with_arguments(command.get_args().map(|argument| argument.to_str().unwrap()))
        .with_environment(environment);
    McpClient::start(&Supervisor::new(), launch, Some(era), limits()).await.unwrap()
}

fn text(result: &McpToolCallResult) -> String {
    let text = |content: &McpContent| match content {
        McpContent::Text { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    result.content.iter().map(text).collect()
}

async fn call(client: &McpClient, tool: &str, arguments: Value) -> (bool, String) {
    let result = client.call_tool(tool, arguments.as_object().unwrap().clone()).await.unwrap();
    (result.is_error, text(&result))
}

/// A client that writes and reads whole messages. Checks that standard output carries the protocol and nothing else.
struct RawClient {
    child: Child,
    /// The lines of its output.
    output: mpsc::Receiver<String>,
    era: ProtocolEra,
    next: u64,
}

impl RawClient {
    fn start(fixture: &Fixture, arguments: &[&str], era: ProtocolEra, capabilities: &Value) -> Self {
        let mut command = fixture.command(&[&["mcp", "serve"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = lines(child.stdout.take().unwrap());
        let mut client = Self { child, output, era, next: 0 };
        if era == ProtocolEra::Initialize {
            let own = json!({ "name": "raw", "version": "1" });
            let params =
                json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": own });
            client.request("initialize", params);
            assert_eq!(client.receive()["result"]["protocolVersion"], "2025-11-25");
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
    }

    /// Calls a tool, with the description of the client that a stateless request needs.
    fn call(&mut self, tool: &str, arguments: &Value, more: Value) {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if self.era == ProtocolEra::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
            });
        }
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.request("tools/call", params);
    }

    /// Waits for the next message, but not forever: a message that does not come fails the test.
    fn receive(&mut self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no message: {error}"));
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Closes the input, and waits for the end of the server. Returns how long that took.
    fn leave(mut self) -> Duration {
        let begun = Instant::now();
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        begun.elapsed()
    }
}

/// Reads lines in a thread of its own, which ends with the output.
fn lines(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl Drop for RawClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shown(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_calls_tools_in_both_eras() {
    for era in ERAS {
        let fixture = fixture().await;
        fixture.write("a.txt", "one\n");
        let client = connect(&fixture, &[], era).await;
        assert_eq!(client.about().era, era);
        let tools = client.list_tools().await.unwrap();
        let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        assert!(tool("read_file").read_only_hint && !tool("bash").read_only_hint);
        assert_eq!(tool("lariat_start").input_schema["required"], json!(["task"]));
        for name in ["agent", "ask_user", "todo", "learn"] {
            assert!(tools.iter().all(|tool| tool.name != name), "{name} needs a model or a user");
        }
        let read = call(&client, "read_file", json!({ "path": "a.txt" })).await;
        assert!(!read.0 && read.1.contains("one"), "{read:?}");
        assert_eq!(
            call(&client, "read_file", json!({ "path": "a.txt" })).await,
            read,
            "each read shows the file"
        );
        let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "two" });
        assert!(!call(&client, "edit_file", edit).await.0);
        let ran = call(&client, "bash", json!({ "command": "cat a.txt; exit 3" })).await;
        assert!(ran.1.contains("two") && ran.1.contains('3'), "{ran:?}");
        let missing = call(&client, "read_file", json!({ "path": "missing" })).await;
        assert!(missing.0, "{missing:?}");
        assert!(client.call_tool("unknown", serde_json::Map::new()).await.is_err());
        client.close().await;

        let journal = fixture.journal().await;
        let started = journal.iter().filter_map(|event| match &event.event {
            AgentEvent::ToolExecutionStart { tool_name, .. } => Some(tool_name.as_str()),
            _ => None,
        });
        assert_eq!(started.collect::<Vec<_>>(), ["read_file", "read_file", "edit_file", "bash", "read_file"]);
        fixture.run(&["undo", "--yes"]).expect(0);
        let text = std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap();
        assert_eq!(text, "one\n", "undo covers calls of a client");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_approval_is_denied_unless_a_rule_or_the_mode_allows_it() {
    let fixture = fixture().await;
    let cases = [
        (&["--mode", "default"][..], false),
        (&["--mode", "default", "--allow", "Bash(touch *)"], true),
        (&["--mode", "default", "--allow", "Bash(rm *)"], false),
        (&["--mode", "bypass"], true),
        (&["--mode", "bypass", "--deny", "Bash"], false),
    ];
    for (arguments, runs) in cases {
        let client = connect(&fixture, arguments, ProtocolEra::Initialize).await;
        let (is_error, shown) = call(&client, "bash", json!({ "command": "touch made" })).await;
        assert_eq!(
            (is_error, fixture.workspace().join("made").exists()),
            (!runs, runs),
            "{arguments:?}: {shown}"
        );
        if arguments == ["--mode", "default"] {
            assert!(shown.contains("cannot ask its user") && shown.contains("--allow"), "{shown}");
        }
        let _ = std::fs::remove_file(fixture.workspace().join("made"));
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_of_a_client_that_can_ask_decides_in_both_eras() {
    let fixture = fixture().await;
    let answers = [
        (json!({ "action": "accept", "content": { "allow": true } }), true),
        (json!({ "action": "accept", "content": { "allow": false } }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
    ];
    let arguments = json!({ "command": "touch made" });
    for (era, (answer, runs)) in ERAS.into_iter().flat_map(|era| answers.clone().map(|answer| (era, answer)))
    {
        let capabilities = json!({ "elicitation": {} });
        let mut client = RawClient::start(&fixture, &["--mode", "default"], era, &capabilities);
        client.call("bash", &arguments, json!({}));
        let asked = client.receive();
        let result = if era == ProtocolEra::Initialize {
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            assert!(asked["params"]["message"].as_str().unwrap().contains("touch made"), "{asked}");
            client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
            client.receive()
        } else {
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
            let state = asked["result"]["requestState"].clone();
            let text = &asked["result"]["inputRequests"]["approval"]["params"]["message"];
            assert!(text.as_str().unwrap().contains("touch made"), "{asked}");
            // Another call cannot use the approval of this one.
            let more = json!({ "requestState": state, "inputResponses": { "approval": { "action": "accept", "content": { "allow": true } } } });
            client.call("bash", &json!({ "command": "touch stolen" }), more);
            assert!(client.receive()["error"].is_object());
            client.call(
                "bash",
                &arguments,
                json!({ "requestState": state, "inputResponses": { "approval": answer } }),
            );
            client.receive()
        };
        assert_eq!(fixture.workspace().join("made").exists(), runs, "{era:?} {answer}: {result}");
        assert_eq!(result["result"]["isError"] == true, !runs, "{result}");
        assert!(!fixture.workspace().join("stolen").exists());
        let _ = std::fs::remove_file(fixture.workspace().join("made"));
        client.leave();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_cancels_or_goes_away_ends_its_command() {
    let fixture = fixture().await;
    let is_alive = |id: &str| std::path::Path::new("/proc").join(id).exists();
    for cancels in [true, false] {
        let mut client = RawClient::start(&fixture, &[], ProtocolEra::Initialize, &json!({}));
        let file = fixture.workspace().join("pid");
        let command =
            json!({ "command": "echo $$ > pid.new; mv pid.new pid; sleep 300", "timeout_seconds": 300 });
        client.call("bash", &command, json!({}));
        wait_for("the command", || file.exists());
        let id = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(is_alive(&id));
        if cancels {
            let params = json!({ "requestId": client.next, "reason": "test" });
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
            wait_for("the end of the command", || !is_alive(&id));
            // The server still works.
            client.call("bash", &json!({ "command": "echo again" }), json!({}));
            assert!(shown(&client.receive()).contains("again"));
        } else {
            assert!(client.leave() < Duration::from_secs(20));
            wait_for("the end of the command", || !is_alive(&id));
        }
        std::fs::remove_file(&file).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_calls_have_limits() {
    let fixture = fixture().await;
    let mut client = RawClient::start(&fixture, &[], ProtocolEra::Initialize, &json!({}));
    // The server drops the message and continues.
    let large = "x".repeat(9 << 20);
    client.call("bash", &json!({ "command": large }), json!({}));
    client.send(&json!("not a request"));
    client.call("bash", &json!({ "command": "echo next" }), json!({}));
    let next =
        std::iter::repeat_with(|| client.receive()).find(|message| message["result"].is_object()).unwrap();
    assert!(shown(&next).contains("next"), "{next}");

    client.call("bash", &json!({ "command": "while ! test -e go; do sleep 0.05; done" }), json!({}));
    for _ in 0..40 {
        client.call("read_file", &json!({ "path": "go" }), json!({}));
    }
    let refused = client.receive();
    assert!(refused["error"]["message"].as_str().unwrap().contains("32 calls"), "{refused}");
    fixture.write("go", "now");
    let mut answers: Vec<Value> = (0..40).map(|_| client.receive()).collect();
    answers.retain(|message| message["result"].is_object());
    assert_eq!(answers.len(), 32, "the calls within the limit ran");
    client.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_chooses_the_tools() {
    let fixture = fixture().await;
    for (chosen, expected) in [
        ("read_file,lariat", &["lariat_read", "lariat_send", "lariat_start", "lariat_wait", "read_file"][..]),
        ("search", &["search"]),
        ("lariat", &["lariat_read", "lariat_send", "lariat_start", "lariat_wait"]),
    ] {
        let client = connect(&fixture, &["--tools", chosen], ProtocolEra::Stateless).await;
        let tools = client.list_tools().await.unwrap();
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{chosen}");
        client.close().await;
    }
    assert!(fixture.run(&["mcp", "serve", "--tools", "Raed"]).expect(3).stderr.contains("did you mean"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_a_command_contains_no_key() {
    let fixture = fixture().await;
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    fixture.write("notes", format!("the key is {key}\n"));
    let client = connect(&fixture, &[], ProtocolEra::Initialize).await;
    let (_, shown) = call(&client, "bash", json!({ "command": "cat notes" })).await;
    assert!(shown.contains("the key is") && !shown.contains(key), "{shown}");
    client.close().await;
}

/// A server on HTTP.
struct HttpProcess {
    child: Child,
    address: SocketAddr,
    token: String,
}

impl HttpProcess {
    fn start(fixture: &Fixture) -> Self {
        let mut child = fixture.command(&["mcp", "serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let url = lines.find_map(|line| line.strip_prefix("serving http://").map(str::to_owned)).unwrap();
        let address = url.trim_end_matches("/mcp").parse().unwrap();
        let told = lines.next().unwrap();
        let token = told.rsplit(' ').next().unwrap().trim_matches('`').to_owned();
        Self { child, address, token }
    }

    /// The status of the response to a request with these headers.
    fn status(&self, start: &str, headers: &[(&str, &str)]) -> String {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut request =
            format!("{start} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(stream, "{request}content-type: application/json\r\naccept: application/json, text/event-stream\r\n\r\n{body}").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

impl Drop for HttpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_serves_clients_with_the_token_in_both_eras() {
    let fixture = fixture().await;
    let server = HttpProcess::start(&fixture);
    let url = format!("http://{}/mcp", server.address);
    let headers = BTreeMap::from([("authorization".to_owned(), format!("Bearer {}", server.token))]);
    for era in ERAS {
        let http = HttpClient::new(ClientConfig::default());
        let client = McpClient::connect_service(http, &url, &headers, Some(era), limits()).await.unwrap();
        assert_eq!(client.about().era, era);
        let (_, shown) = call(&client, "bash", json!({ "command": "echo over http" })).await;
        assert!(shown.contains("over http"), "{shown}");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_refuses_requests_without_token_or_from_elsewhere() {
    let fixture = fixture().await;
    let server = HttpProcess::start(&fixture);
    let (token, host) = (format!("Bearer {}", server.token), server.address.to_string());
    let wrong = format!("Bearer {}x", server.token);
    let (post, own) = ("POST /mcp", ("authorization", token.as_str()));
    let here = ("host", host.as_str());
    let evil = format!("evil.example:{}", server.address.port());
    let cases = [
        (post, &[here][..], "401"),
        (post, &[here, ("authorization", wrong.as_str())], "401"),
        (post, &[here, ("authorization", server.token.as_str())], "401"),
        (post, &[here, ("authorization", "Basic eDp5")], "401"),
        ("GET /mcp", &[here], "401"),
        ("DELETE /mcp", &[here], "401"),
        ("POST /elsewhere", &[here, own], "404"),
        (post, &[("host", evil.as_str()), own], "403"),
        (post, &[here, own, ("origin", "http://evil.example")], "403"),
        (post, &[here, own, ("origin", "null")], "403"),
        (post, &[here, own, ("origin", "http://localhost:3000")], "403"),
    ];
    for (start, headers, expected) in cases {
        assert_eq!(server.status(start, headers), expected, "{start} {headers:?}");
    }
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let refused = fixture.run(&["mcp", "serve", "--http", address]).expect(3);
        assert!(refused.stderr.contains("not a loopback"), "{}", refused.stderr);
    }
    fixture.write("short", "secret");
    fixture.run(&["mcp", "serve", "--http", "127.0.0.1:0", "--token-file", "short"]).expect(3);
}

/// Ends the background host that a test started.
struct HostGuard<'a>(&'a Fixture);

impl Drop for HostGuard<'_> {
    fn drop(&mut self) {
        self.0.run(&["host", "stop"]);
    }
}

async fn session(client: &McpClient, tool: &str, arguments: Value) -> Value {
    let result = client.call_tool(tool, arguments.as_object().unwrap().clone()).await.unwrap();
    assert!(!result.is_error, "{result:?}");
    result.structured_content.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_starts_a_session_waits_for_it_and_sends_more() {
    let fixture = Fixture::new(Script::answer(|request| {
        let count = request.body["messages"].as_array().unwrap().len();
        Turn::new().text(format!("reply {count}")).into()
    }))
    .await;
    let _host = HostGuard(&fixture);
    let client = connect(&fixture, &[], ProtocolEra::Stateless).await;
    let started = session(&client, "lariat_start", json!({ "task": "do it" })).await;
    let id = started["session_id"].clone();
    let waited = session(&client, "lariat_wait", json!({ "session_id": id })).await;
    assert_eq!((&waited["status"], &waited["reply"]), (&json!("idle"), &json!("reply 1")), "{waited}");
    session(&client, "lariat_send", json!({ "session_id": id, "message": "and more" })).await;
    let waited = session(&client, "lariat_wait", json!({ "session_id": id })).await;
    assert_eq!(waited["reply"], "reply 3", "{waited}");
    let read = session(&client, "lariat_read", json!({ "session_id": id })).await;
    let conversation = read["conversation"].as_str().unwrap();
    assert!(
        conversation.contains("user: do it") && conversation.contains("agent: reply 3"),
        "{conversation}"
    );
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).stdout;
    assert!(listed.contains(id.as_str().unwrap()), "{listed}");
    let elsewhere = call(&client, "lariat_read", json!({ "session_id": "another" })).await;
    assert!(elsewhere.0 && elsewhere.1.contains("has no session"), "{elsewhere:?}");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_asks_shows_the_question_and_ends_with_its_client() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &json!({ "command": "touch made" })).into(),
        Some(_) => Turn::new().text("Done.").into(),
    }))
    .await;
    let _host = HostGuard(&fixture);
    // Our own client would end everything that the server started, so also the background host.
    let mut client = RawClient::start(&fixture, &["--mode", "default"], ProtocolEra::Initialize, &json!({}));
    let mut call = |tool: &str, arguments: Value| {
        client.call(tool, &arguments, json!({}));
        client.receive()["result"]["structuredContent"].clone()
    };
    let started = call("lariat_start", json!({ "task": "do it" }));
    let id = started["session_id"].as_str().unwrap().to_owned();
    let waited = call("lariat_wait", json!({ "session_id": id }));
    assert_eq!(waited["status"], "requires_action", "{waited}");
    assert!(waited["waits_for_user"][0].as_str().unwrap().contains("touch made"), "{waited}");
    client.leave();
    wait_for("the end of the run", || {
        let listed = fixture.run(&["ps", "--all", "--json"]).expect(0).json();
        let own = listed.as_array().unwrap().iter().find(|one| one["session_id"] == id.as_str()).cloned();
        own.is_some_and(|own| {
            own["status"] == "idle" && own["asks"] == 0 && own["outcome"]["kind"] != "completed"
        })
    });
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official Python SDK: cargo xtask connect"]
async fn the_official_python_sdk_uses_the_server_in_both_eras() {
    let fixture = fixture().await;
    fixture.write("a.txt", "official\n");
    let variable =
        |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name}: run `cargo xtask connect`"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/servers/serve_client.py");
    let command = fixture.command(&[]);
    let mut python = std::process::Command::new(variable("MCP_PYTHON"));
    python.arg(script).arg(command.get_program()).arg(fixture.workspace()).env_clear();
    python.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = python.current_dir(fixture.workspace()).output().unwrap();
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{errors}");
    print!("{shown}");
    assert_eq!(shown.lines().count(), 6, "{shown}");
}
