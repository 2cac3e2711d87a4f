//! Tests stream-json output and input, and Claude Code's flags.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, feed, last_result, silence, wait};

/// A model that creates a file with a command, and then prints the result.
fn making() -> Script {
    Script::answer(|request| match last_result(&request.body) {
        None => Turn::new()
            .thinking("A file is wanted.")
            .text("I make it.")
            .call("toolu_1", "bash", &json!({ "command": "touch made" }))
            .into(),
        Some((_, _, is_error)) => Turn::new().text(if is_error { "refused" } else { "made" }).into(),
    })
}

/// The kinds of lines, in order.
fn kinds(lines: &[Value]) -> Vec<String> {
    let name = |line: &Value, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = |line: &Value| {
        let kind = name(line, "type").unwrap_or_default();
        name(line, "subtype").map_or(kind.clone(), |subtype| format!("{kind}/{subtype}"))
    };
    lines.iter().map(kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_json_writes_one_line_per_event() {
    let fixture = Fixture::new(making()).await;
    let lines = fixture.run(&["run", "make a file", "--output", "stream-json"]).expect(0).lines();
    assert_eq!(kinds(&lines), ["system/init", "assistant", "user", "assistant", "result/success"]);
    let session = &lines[0]["session_id"];
    assert!(lines.iter().all(|line| &line["session_id"] == session));
    let mut ids: Vec<&str> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines.len(), "every line has its own id");
    assert_eq!(lines[0]["permissionMode"], "bypassPermissions");
    assert!(lines[0]["tools"].as_array().unwrap().contains(&json!("Bash")));
    let blocks: Vec<&str> = lines[1]["message"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["type"].as_str())
        .collect();
    assert_eq!(blocks, ["thinking", "text", "tool_use"]);
    assert_eq!(lines[2]["message"]["content"][0]["tool_use_id"], "toolu_1");
    assert_eq!(lines[4]["result"], "made");
    assert_eq!(lines[4]["usage"]["output_tokens"], 80);
    assert_eq!(lines[4]["num_turns"], 2);
    assert!(fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_messages_are_written_on_request() {
    let fixture = Fixture::new(making()).await;
    let args = ["run", "make a file", "--output", "stream-json", "--include-partial-messages"];
    let lines = fixture.run(&args).expect(0).lines();
    let events: Vec<&Value> = lines.iter().filter(|line| line["type"] == "stream_event").collect();
    let text: String = events.iter().filter_map(|line| line["event"]["delta"]["text"].as_str()).collect();
    assert_eq!(text, "I make it.made");
    let started = events.iter().filter(|line| line["event"]["type"] == "content_block_start").count();
    let stopped = events.iter().filter(|line| line["event"]["type"] == "content_block_stop").count();
    assert_eq!((started, stopped), (4, 4), "thinking, text, call; text");
    let whole = lines.iter().filter(|line| line["type"] == "assistant").count();
    assert_eq!(whole, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_flags_start_the_same_run() {
    let fixture = Fixture::new(making()).await;
    let ran = fixture.run(&["-v"]).expect(0);
    assert!(ran.stdout.starts_with(env!("CARGO_PKG_VERSION")), "{}", ran.stdout);
    let ran = fixture.run(&["-p", "make a file", "--output-format", "json", "--betas", "x"]).expect(0);
    assert_eq!(ran.json()["result"], "made");
    assert!(ran.stderr.contains("--betas is not supported"), "{}", ran.stderr);
    // An unknown flag may restrict.
    fixture.run(&["-p", "make a file", "--of-tomorrow"]).expect(3);
    fixture.run(&["--of-tomorrow"]).expect(2);
}

/// A program that controls a session.
pub(crate) struct ControllingProgram {
    child: Child,
    lines: Receiver<String>,
}

/// How long a line may take. Only a test that fails waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

impl ControllingProgram {
    pub(crate) fn start(fixture: &Fixture, more: &[&str]) -> Self {
        let mut args = vec!["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
        args.extend(more);
        let mut child = fixture.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    pub(crate) fn send(&mut self, line: Value) {
        feed(&mut self.child, &[line]);
    }

    pub(crate) fn say(&mut self, words: &str) {
        self.send(json!({ "type": "user", "message": { "role": "user", "content": words } }));
    }

    pub(crate) fn ask(&mut self, id: &str, request: Value) -> Value {
        self.send(json!({ "type": "control_request", "request_id": id, "request": request }));
        let (_, answer) = self.until("control_response");
        answer["response"].clone()
    }

    /// Reads up to a line of this type.
    pub(crate) fn until(&mut self, kind: &str) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("no line `{kind}` ({error}) after {before:#?}"));
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["type"] == kind {
                return (before, line);
            }
            before.push(line);
        }
    }

    /// Kills Lariat.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the input and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self, code: i32) -> (Vec<String>, String) {
        drop(self.child.stdin.take());
        let rest = self.lines.iter().collect();
        let ran = wait(self.child).expect(code);
        (rest, ran.stderr)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn program_controls_a_session_over_several_prompts() {
    let script = Script::answer(|request| {
        let count = request.body["messages"].as_array().map_or(0, Vec::len);
        Turn::new().text(format!("heard {count}")).into()
    });
    let fixture = Fixture::new(script).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    let welcome = program.ask("r1", json!({ "subtype": "initialize", "hooks": null }));
    assert_eq!((&welcome["subtype"], &welcome["request_id"]), (&json!("success"), &json!("r1")));
    assert_eq!(welcome["response"]["hooks_applied"], true);
    program.say("one");
    let (before, first) = program.until("result");
    assert_eq!(kinds(&before), ["system/init", "assistant"]);
    program.say("two");
    let (_, second) = program.until("result");
    assert_eq!(first["session_id"], second["session_id"]);
    assert_ne!(first["uuid"], second["uuid"]);
    assert!(fixture.requests()[1].body["messages"].to_string().contains("one"));
    let usage = program.ask("r2", json!({ "subtype": "get_context_usage" }));
    assert!(usage["response"]["totalTokens"].as_u64().unwrap() > 0, "{usage}");
    let mode = program.ask("r3", json!({ "subtype": "set_permission_mode", "mode": "plan" }));
    assert_eq!(mode["subtype"], "success");
    program.say("three");
    let (before, _) = program.until("result");
    assert_eq!(before[0]["permissionMode"], "plan");
    let model = program.ask("r4", json!({ "subtype": "set_model", "model": "test/other" }));
    assert_eq!(model["subtype"], "success", "{model}");
    program.say("four");
    program.until("result");
    assert_eq!(fixture.requests().last().unwrap().model, "other");
    let none = program.ask("r5", json!({ "subtype": "set_model", "model": "no-such-model" }));
    assert_eq!(none["subtype"], "error");
    let other = program.ask("r6", json!({ "subtype": "rewind_files" }));
    assert_eq!((&other["subtype"], &other["request_id"]), (&json!("error"), &json!("r6")));
    program.end(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn program_answers_approval_requests() {
    let fixture = Fixture::new(making()).await;
    let asking = ["--permission-mode", "default", "--permission-prompt-tool", "stdio"];
    for (behavior, result) in [("deny", "refused"), ("allow", "made")] {
        let mut program = ControllingProgram::start(&fixture, &asking);
        program.say("make a file");
        let (_, question) = program.until("control_request");
        let request = &question["request"];
        assert_eq!((&request["subtype"], &request["tool_name"]), (&json!("can_use_tool"), &json!("Bash")));
        assert_eq!(request["input"], json!({ "command": "touch made" }));
        assert!(!fixture.workspace().join("made").exists());
        let answer = json!({ "behavior": behavior, "updatedInput": request["input"], "message": "not now" });
        program.send(json!({ "type": "control_response", "response":
            { "subtype": "success", "request_id": question["request_id"], "response": answer } }));
        let (_, told) = program.until("result");
        assert_eq!(told["result"], result);
        let denied = told["permission_denials"].as_array().unwrap().len();
        assert_eq!(denied, usize::from(behavior == "deny"));
        program.end(0);
    }
    assert!(fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_input_approves_nothing() {
    let fixture = Fixture::new(making()).await;
    let mut program = ControllingProgram::start(
        &fixture,
        &["--permission-mode", "default", "--permission-prompt-tool", "stdio"],
    );
    program.say("make a file");
    program.until("control_request");
    let (rest, _) = program.end(0);
    assert!(rest.iter().any(|line| line.contains("refused")), "{rest:#?}");
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn program_interrupts_a_run_and_continues() {
    let script = Script::answer(|request| {
        if request.body["messages"].to_string().contains("and now") {
            return Turn::new().text("Here again.").into();
        }
        silence()
    });
    let fixture = Fixture::new(script).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    program.say("think hard");
    program.until("system");
    crate::fixture::wait_for("the request", || !fixture.requests().is_empty());
    let answer = program.ask("r1", json!({ "subtype": "interrupt" }));
    assert_eq!(answer["subtype"], "success");
    let (_, result) = program.until("result");
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    program.say("and now");
    let (_, result) = program.until("result");
    assert_eq!(result["result"], "Here again.");
    program.end(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn warns_about_invalid_lines_and_rejects_overlong_ones() {
    let fixture = Fixture::new(making()).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    program.send(json!("nonsense"));
    program.send(json!({ "type": "user" }));
    program.say("make a file");
    program.until("result");
    let (_, stderr) = program.end(0);
    assert!(stderr.contains("a user message without content"), "{stderr}");
    let args = ["--output-format", "stream-json", "--input-format", "stream-json"];
    let ran = fixture.run_with(&args, vec![b' '; (10 << 20) + 2]).expect(2);
    assert!(ran.stderr.contains("longer than"), "{}", ran.stderr);
}
