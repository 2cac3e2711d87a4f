//! Drives `lariat acp` as an editor does, over standard input and output.
//!
//! With `ACP_CLIENT` set (`cargo xtask editors`), the client of the official crate stands between, and reports what the
//! protocol does not have.

mod acpx;
mod conformance;
mod draft;
mod files;
mod hostile;
mod long_session;
mod methods;
mod prompts;
mod sessions;
mod traces;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PATIENCE, wait_for};

/// An editor with a running agent.
struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: mpsc::Receiver<Value>,
    /// All messages of the agent so far.
    seen: Vec<Value>,
    /// Requests of the agent that were handled.
    handled: HashSet<String>,
    next_id: u64,
}

impl Editor {
    /// Starts an agent and initializes the connection.
    fn start(fixture: &Fixture) -> Self {
        Self::with_capabilities(fixture, json!({ "fs": { "readTextFile": false, "writeTextFile": false } }))
    }

    fn with_capabilities(fixture: &Fixture, capabilities: Value) -> Self {
        let client = std::env::var_os("ACP_CLIENT");
        let mut editor = Self::spawn(fixture, client.as_deref(), &["acp"]);
        editor.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities }));
        editor
    }

    /// Starts an agent without a client between, so that a kill reaches it.
    fn direct(fixture: &Fixture) -> Self {
        let mut editor = Self::raw(fixture);
        editor.call("initialize", json!({ "protocolVersion": 1 }));
        editor
    }

    /// Starts an agent without a client between, and says nothing.
    fn raw(fixture: &Fixture) -> Self {
        Self::spawn(fixture, None, &["acp"])
    }

    /// Starts `lariat` with arguments, and a client between.
    fn spawn(fixture: &Fixture, client: Option<&OsStr>, arguments: &[&str]) -> Self {
        let agent = fixture.command(arguments);
        let mut command = match client {
            None => agent,
            Some(client) => {
                let mut command = Command::new(client);
                command.args(arguments.contains(&"--draft-v2").then_some("--draft"));
                command.arg(agent.get_program()).args(agent.get_args()).env_clear();
                command.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
                command.current_dir(fixture.workspace());
                command
            }
        };
        // A group of its own, so that a kill reaches the agent behind a client too.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, incoming) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                let message = serde_json::from_str(&line);
                let message =
                    message.unwrap_or_else(|error| json!({ "not JSON": line, "error": error.to_string() }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, incoming, seen: Vec::new(), handled: HashSet::new(), next_id: 1 }
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Reads the messages that have arrived.
    fn receive_waiting(&mut self) {
        while let Ok(message) = self.incoming.try_recv() {
            self.keep(message);
        }
    }

    fn keep(&mut self, message: Value) {
        assert!(message["jsonrpc"] == "2.0", "not a message of the protocol: {message}");
        assert!(message["method"] != "violation", "not in the official schema: {message:#}");
        self.seen.push(message);
    }

    /// Waits for the next message. Returns false at the end of the output.
    fn receive(&mut self, what: &str) -> bool {
        match self.incoming.recv_timeout(PATIENCE) {
            Ok(message) => {
                self.keep(message);
                true
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => false,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("timed out waiting for {what}: {:#?}", self.seen),
        }
    }

    /// Waits for a message and returns its place.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> usize {
        let mut from = 0;
        loop {
            if let Some(at) = self.seen[from..].iter().position(&is_it) {
                return from + at;
            }
            from = self.seen.len();
            assert!(self.receive(what), "the agent ended before {what}: {:#?}", self.seen);
        }
    }

    /// Waits for the response to a request: its place, and the result or the error.
    fn response(&mut self, id: u64) -> (usize, Result<Value, Value>) {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let at = self.wait(&format!("the response to request {id}"), is_it);
        let message = &self.seen[at];
        let result = match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        };
        (at, result)
    }

    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.request(method, params);
        self.response(id).1
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Creates a session in the workspace and returns its id.
    fn new_session(&mut self, fixture: &Fixture) -> String {
        let created = self.call("session/new", json!({ "cwd": fixture.workspace(), "mcpServers": [] }));
        created["sessionId"].as_str().unwrap().to_owned()
    }

    /// Opens a session with its history, and returns the updates of it.
    fn load(&mut self, fixture: &Fixture, session: &str) -> Vec<Value> {
        let before = self.seen.len();
        let params = json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] });
        let id = self.request("session/load", params);
        let (at, result) = self.response(id);
        result.unwrap();
        updates(&self.seen[before..at])
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Waits for the end of a prompt and returns why it ended.
    #[track_caller]
    fn stop_reason(&mut self, prompt: u64) -> String {
        let result = self.response(prompt).1;
        let result = result.unwrap_or_else(|error| panic!("the prompt failed: {error}"));
        result["stopReason"].as_str().unwrap().to_owned()
    }

    /// Waits for the next request of the agent.
    fn asked(&mut self, method: &str) -> Value {
        loop {
            if let Some(request) = self.try_asked(method) {
                return request;
            }
            assert!(self.receive(method), "the agent ended before {method}: {:#?}", self.seen);
        }
    }

    /// The next request of the agent, if it has arrived.
    fn try_asked(&mut self, method: &str) -> Option<Value> {
        let is_it = |message: &&Value| {
            message["method"] == method && !self.handled.contains(&message["id"].to_string())
        };
        let request = self.seen.iter().find(is_it)?.clone();
        self.handled.insert(request["id"].to_string());
        Some(request)
    }

    fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Waits for a request for approval and chooses an option.
    fn choose(&mut self, option: &str) -> Value {
        let request = self.asked("session/request_permission");
        self.answer(&request, json!({ "outcome": { "outcome": "selected", "optionId": option } }));
        request["params"].clone()
    }

    /// All updates so far.
    fn updates(&self) -> Vec<Value> {
        updates(&self.seen)
    }

    /// Closes the input and waits for the end of the agent. Returns its exit code.
    fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        while self.receive("the end of the output") {}
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "the agent does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the agent as `kill -9` does.
    fn kill(&mut self) {
        let group = Pid::from_child(&self.child);
        kill_process_group(group, Signal::KILL).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The updates among messages.
fn updates(messages: &[Value]) -> Vec<Value> {
    let is_update = |message: &&Value| message["method"] == "session/update";
    messages.iter().filter(is_update).map(|message| message["params"]["update"].clone()).collect()
}

/// The updates of a kind.
fn of_kind(updates: &[Value], kind: &str) -> Vec<Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).cloned().collect()
}

/// The text of the chunks of a kind.
fn said(updates: &[Value], kind: &str) -> String {
    of_kind(updates, kind)
        .iter()
        .filter_map(|update| update["content"]["text"].as_str().map(str::to_owned))
        .collect()
}

/// A tool call after all its updates.
fn tool_call(updates: &[Value], id: &str) -> Value {
    let mut call = json!({});
    for update in updates.iter().filter(|update| update["toolCallId"] == id) {
        for (name, value) in update.as_object().unwrap() {
            call[name] = value.clone();
        }
    }
    call
}

/// A fixture whose runs ask before they write.
async fn asking(script: Script) -> Fixture {
    let fixture = Fixture::new(script).await;
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap().replace("\"bypass\"", "\"default\"");
    std::fs::write(path, settings).unwrap();
    fixture
}

/// A fixture whose model writes a file once, which needs approval.
async fn asking_once() -> Fixture {
    let call = Turn::new().call("call_1", "write_file", &json!({ "path": "note.txt", "content": "x" }));
    asking(Script::queue([call, Turn::new().text("done")])).await
}

/// Starts a session in the background, and returns its id when it waits for approval.
fn waiting_in_background(fixture: &Fixture) -> String {
    let session = fixture.run(&["run", "--detach", "write a note"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || background_status(fixture) == "requires_action");
    session
}

/// The status of the only session in the background.
fn background_status(fixture: &Fixture) -> Value {
    fixture.run(&["ps", "--all", "--json"]).expect(0).json()[0]["status"].clone()
}
