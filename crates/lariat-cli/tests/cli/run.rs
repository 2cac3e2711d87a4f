//! Tests `lariat run` in scripts: streams, exit codes and saved data.

use std::io::Read as _;
use std::process::Stdio;

use lariat_core::event::AgentEvent;
use lariat_proofs::server::{Answer, Request, Script, Turn, Wire};
use rustix::process::Signal;
use serde_json::json;

use crate::fixture::{Fixture, last_result, signal, silence, text, wait, wait_for};

async fn saying(words: &'static str) -> Fixture {
    Fixture::new(Script::answer(move |_| Turn::new().text(words).into())).await
}

/// The text of the last message of a request.
fn last_words(request: &Request) -> String {
    let last = request.body["messages"].as_array().and_then(|messages| messages.last()).cloned();
    text(&last.unwrap_or_default()["content"])
}

#[tokio::test(flavor = "multi_thread")]
async fn piped_run_writes_only_the_answer() {
    let fixture = saying("It is 4.").await;
    let ran = fixture.run(&["run", "What is 2 + 2?"]).expect(0);
    assert_eq!(ran.stdout, "It is 4.\n");
    assert_eq!(ran.stderr, "");
    assert!(last_words(&fixture.requests()[0]).contains("What is 2 + 2?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn dash_reads_prompt_from_standard_input() {
    let fixture = saying("Done.").await;
    fixture.run_with(&["run", "-"], "from a pipe").expect(0);
    assert!(last_words(&fixture.requests()[0]).contains("from a pipe"));
    let ran = fixture.run_with(&["run", "-"], " \n").expect(2);
    assert!(ran.stderr.contains("the prompt is empty"), "{}", ran.stderr);
    let ran = fixture.run_with(&["run", "-"], vec![0xff, 0xfe]).expect(2);
    assert!(ran.stderr.contains("not UTF-8"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_without_prompt_is_an_error_with_hint() {
    let fixture = saying("Done.").await;
    let ran = fixture.run(&["run"]).expect(2);
    assert!(ran.stderr.contains("no prompt given") && ran.stderr.contains("lariat run"), "{}", ran.stderr);
    let ran = fixture.run(&["run", "--continue"]).expect(6);
    assert!(ran.stderr.contains("no session to continue"), "{}", ran.stderr);
    assert_eq!(fixture.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxed_command_cannot_read_stored_keys() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => {
            let command = "cat ../beside; cd ../state/lariat && cat keys.json";
            Turn::new().call("toolu_1", "bash", &json!({ "command": command })).into()
        }
        Some((_, said, _)) => Turn::new().text(format!("It says: {said}")).into(),
    }))
    .await;
    let state = fixture.path("state/lariat");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("keys.json"), r#"{"other":"sk-stored"}"#).unwrap();
    std::fs::write(fixture.path("beside"), "can be read\n").unwrap();
    let run = |enabled: &str| {
        let mut command = fixture.command(&["run", "read it"]);
        let output = command.env("LARIAT_SANDBOX__ENABLED", enabled).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let confined = run("true");
    assert!(confined.contains("can be read") && !confined.contains("sk-stored"), "{confined}");
    let open = run("false");
    assert!(open.contains("sk-stored"), "{open}");
}

#[tokio::test(flavor = "multi_thread")]
async fn continues_sessions_by_id_by_directory_and_as_forks() {
    let fixture = Fixture::new(Script::answer(|request| {
        let count = request.body["messages"].as_array().map_or(0, Vec::len);
        Turn::new().text(format!("after {count}")).into()
    }))
    .await;
    let first = fixture.run(&["run", "one", "--output", "json"]).expect(0).json();
    let id = first["session_id"].as_str().unwrap().to_owned();
    let short = &id[..8];
    let again = fixture.run(&["run", "--resume", short, "two", "--output", "json"]).expect(0).json();
    assert_eq!(again["session_id"], first["session_id"]);
    let requests = fixture.requests();
    let sent = requests[1].body["messages"].to_string();
    assert!(sent.contains("one") && sent.contains("after") && sent.contains("two"), "{sent}");
    let last = fixture.run(&["run", "-c", "three", "--output", "json"]).expect(0).json();
    assert_eq!(last["session_id"], first["session_id"]);
    let fork = fixture.run(&["run", "--fork", &id, "four", "--output", "json"]).expect(0).json();
    assert_ne!(fork["session_id"], first["session_id"]);
    let sent = fixture.requests()[3].body["messages"].to_string();
    assert!(sent.contains("one") && sent.contains("three") && sent.contains("four"), "{sent}");
    fixture.run(&["run", "--resume", "no-such-session", "x"]).expect(6);
}

#[tokio::test(flavor = "multi_thread")]
async fn ephemeral_run_saves_nothing() {
    let fixture = saying("Done.").await;
    fixture.run(&["run", "--ephemeral", "remember me"]).expect(0);
    assert!(fixture.store().await.is_none(), "no database is created");
    fixture.run(&["run", "-c", "what did I say?"]).expect(6);
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_has_its_own_exit_code() {
    let fixture = Fixture::new(Script::answer(|request| {
        let id = request.body["messages"].as_array().map_or(0, Vec::len);
        Turn::new().call(format!("toolu_{id}"), "bash", &json!({ "command": format!("echo {id}") })).into()
    }))
    .await;
    let ran = fixture.run(&["run", "never stop", "--max-turns", "2", "--output", "json"]).expect(5);
    let result = ran.json();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!((&result["num_turns"], &result["is_error"]), (&json!(2), &json!(true)));
    assert!(ran.stderr.contains("its turn limit") && ran.stderr.contains("--resume"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_failure_has_its_own_exit_code() {
    let refuse = |request: &Request| Answer::error(request.wire, 401, "invalid x-api-key");
    let fixture = Fixture::new(Script::answer(refuse)).await;
    let ran = fixture.run(&["run", "hello"]).expect(4);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("invalid x-api-key"), "{}", ran.stderr);
    let result = fixture.run(&["run", "hello", "--output", "json"]).expect(4).json();
    assert_eq!(result["subtype"], "error_during_execution");
    assert!(result["errors"][0].as_str().unwrap().contains("invalid x-api-key"), "{result}");
}

const SCHEMA: &str = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}"#;

#[tokio::test(flavor = "multi_thread")]
async fn writes_answer_that_matches_schema_as_json() {
    let fixture = saying(r#"{"sum": 4}"#).await;
    fixture.write("schema.json", SCHEMA);
    let ran = fixture.run(&["run", "2 + 2?", "--output-schema", "schema.json"]).expect(0);
    assert_eq!(ran.stdout, "{\"sum\":4}\n");
    let result = fixture.run(&["run", "2 + 2?", "--output-schema", "schema.json", "--output", "json"]);
    assert_eq!(result.expect(0).json()["structured_output"], json!({ "sum": 4 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_answer_that_does_not_match_schema() {
    let script =
        [Turn::new().text("four"), Turn::new().text(r#"{"sum": "4"}"#), Turn::new().text(r#"{"sum":4}"#)];
    let fixture = Fixture::new(Script::queue(script)).await;
    fixture.write("schema.json", SCHEMA);
    let ran = fixture.run(&["run", "2 + 2?", "--output-schema", "schema.json", "--output", "json"]).expect(0);
    let result = ran.json();
    assert_eq!((&result["structured_output"], &result["num_turns"]), (&json!({ "sum": 4 }), &json!(3)));
    assert!(
        last_words(&fixture.requests()[1]).contains("not JSON"),
        "{:?}",
        last_words(&fixture.requests()[1])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_mismatch_has_its_own_exit_code_after_three_attempts() {
    let fixture = saying("four").await;
    fixture.write("schema.json", SCHEMA);
    let ran = fixture.run(&["run", "2 + 2?", "--output-schema", "schema.json"]).expect(7);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("does not match the schema"), "{}", ran.stderr);
    assert_eq!(fixture.requests().len(), 3);
    let ran = fixture.run(&["run", "2 + 2?", "--output-schema", "schema.json", "--output", "json"]).expect(7);
    assert_eq!(ran.json()["subtype"], "error_max_structured_output_retries");
    fixture.write("schema.json", "{");
    fixture.run(&["run", "x", "--output-schema", "schema.json"]).expect(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn pipe_denies_and_lists_calls_that_need_approval() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &json!({ "command": "touch made" })).into(),
        Some((_, result, is_error)) => Turn::new().text(format!("{is_error}: {result}")).into(),
    }))
    .await;
    let ran = fixture.run(&["run", "make it", "--mode", "default"]).expect(0);
    assert!(!fixture.workspace().join("made").exists());
    assert!(ran.stdout.starts_with("true: Denied: "), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("denied 1 tool call") && ran.stderr.contains("hint: allow it with --allow '"),
        "{}",
        ran.stderr
    );
    let sent =
        ran.stderr.split("--allow '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    let allowed = fixture.run(&["run", "make it", "--mode", "default", "--allow", &sent]).expect(0);
    assert!(fixture.workspace().join("made").exists(), "the suggested rule allows it: {sent}: {allowed:?}");
    let result = fixture.run(&["run", "make it", "--mode", "default", "--output", "json"]).expect(0).json();
    assert_eq!(
        result["permission_denials"],
        json!([{ "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": { "command": "touch made" } }])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_image_with_its_media_type() {
    let fixture = saying("A dot.").await;
    let picture = b"\x89PNG\r\n\x1a\n and so on";
    fixture.write("dot.png", picture);
    fixture.run(&["run", "what is this?", "--image", "dot.png"]).expect(0);
    let body = fixture.requests()[0].body["messages"].to_string();
    assert!(body.contains(r#""media_type":"image/png""#), "{body}");
    assert!(body.contains(&lariat_proofs::server::base64::encode(picture)), "{body}");
    fixture.write("dot.txt", "a dot");
    let ran = fixture.run(&["run", "what is this?", "--image", "dot.txt"]).expect(2);
    assert!(
        ran.stderr.contains("unsupported image format") && ran.stderr.contains("dot.txt"),
        "{}",
        ran.stderr
    );
    fixture.run(&["run", "what is this?", "--image", "none.png"]).expect(2);
    fixture.write("huge.png", [&picture[..], &vec![0; 10 << 20]].concat());
    let ran = fixture.run(&["run", "what is this?", "--image", "huge.png"]).expect(2);
    assert!(ran.stderr.contains("larger than 10 MB"), "{}", ran.stderr);
}

/// A model that does not respond once, and replies from then on.
fn silent_once() -> Script {
    let silent = std::sync::atomic::AtomicBool::new(true);
    Script::answer(move |_| {
        if silent.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return silence();
        }
        Turn::new().text("Here again.").into()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_ends_the_run_and_saves_the_session() {
    let fixture = Fixture::new(silent_once()).await;
    let child = fixture.spawn(&["run", "think hard"]);
    wait_for("the request", || !fixture.requests().is_empty());
    signal(&child, Signal::INT);
    let ran = wait(child).expect(130);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains("interrupted") && ran.stderr.contains("lariat run --resume"),
        "{}",
        ran.stderr
    );
    let ended =
        fixture.journal().await.iter().any(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));
    assert!(ended, "the journal is closed");
    let ran = fixture.run(&["run", "-c", "go on"]).expect(0);
    assert_eq!(ran.stdout, "Here again.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_another_process_is_busy_until_that_process_ends() {
    let fixture = Fixture::new(silent_once()).await;
    let child = fixture.spawn(&["run", "think hard"]);
    wait_for("the request", || !fixture.requests().is_empty());
    let refused = fixture.run(&["run", "-c", "me too"]).expect(6);
    let cause = format!("the session is open elsewhere (process {})", child.id());
    assert!(refused.stderr.contains(&cause), "{refused:?}");
    assert_eq!(fixture.requests().len(), 1);
    signal(&child, Signal::INT);
    wait(child).expect(130);
    let ran = fixture.run(&["run", "-c", "go on"]).expect(0);
    assert_eq!(ran.stdout, "Here again.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_run_after_closing_the_journal() {
    let fixture = Fixture::new(silent_once()).await;
    let child = fixture.spawn(&["run", "think hard", "--output", "stream-json"]);
    wait_for("the request", || !fixture.requests().is_empty());
    signal(&child, Signal::TERM);
    let ran = wait(child).expect(143);
    assert_eq!(ran.lines().last().unwrap()["terminal_reason"], "aborted_streaming");
    let ended =
        fixture.journal().await.iter().any(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));
    assert!(ended, "the journal is closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn second_interrupt_quits_at_once_and_loses_nothing() {
    // The command ignores signals, and records that it received one.
    let stubborn = "trap 'touch signalled' TERM INT; touch begun; while :; do sleep 0.05; done";
    let fixture = Fixture::new(Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &json!({ "command": stubborn })).into(),
        Some((_, result, is_error)) => Turn::new().text(format!("{is_error}: {result}")).into(),
    }))
    .await;
    let child = fixture.spawn(&["run", "be stubborn"]);
    wait_for("the command", || fixture.workspace().join("begun").exists());
    signal(&child, Signal::INT);
    wait_for("the signal", || fixture.workspace().join("signalled").exists());
    signal(&child, Signal::INT);
    let ran = wait(child).expect(130);
    let events = fixture.journal().await;
    let has = |fits: fn(&AgentEvent) -> bool| events.iter().any(|event| fits(&event.event));
    assert!(has(|event| matches!(event, AgentEvent::AbortRequested)), "{ran:?}");
    assert!(!has(|event| matches!(event, AgentEvent::AgentEnd { .. })), "it did not wait for the end");
    let ran = fixture.run(&["run", "-c", "what happened?"]);
    assert!(matches!(ran.code, Some(0 | 130)), "{ran:?}");
    let ended =
        fixture.journal().await.iter().any(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));
    assert!(ended, "the interrupted run is completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_pipe_ends_the_run_without_panic() {
    let fixture = Fixture::new(Script::answer(|request| {
        let id = request.body["messages"].as_array().map_or(0, Vec::len);
        if id > 40 {
            return Turn::new().text("done").into();
        }
        Turn::new().call(format!("toolu_{id}"), "bash", &json!({ "command": format!("echo {id}") })).into()
    }))
    .await;
    let mut child = fixture
        .command(&["run", "talk on", "--output", "stream-json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 64]).unwrap();
    drop(stdout);
    let ran = wait(child).expect(130);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(fixture.requests().len() < 20, "it ended early");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_uses_protocol_and_model_of_the_settings() {
    let fixture = saying("Done.").await;
    fixture.run(&["run", "hello"]).expect(0);
    let request = &fixture.requests()[0];
    assert_eq!((request.wire, request.model.as_str()), (Wire::AnthropicMessages, "scripted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_a_hook_is_a_note_in_a_script() {
    let fixture = saying("Done.").await;
    let command = r#"echo '{"systemMessage": "be careful"}'"#;
    let hook = json!({ "hooks": [{ "type": "command", "command": command }] });
    let settings = json!({ "hooks": { "UserPromptSubmit": [hook] } }).to_string();
    let ran = fixture.run(&["-p", "go", "--settings", &settings]).expect(0);
    assert_eq!(ran.stdout, "Done.\n");
    assert!(ran.stderr.contains("note: hook: be careful"), "{}", ran.stderr);
    assert!(!last_words(&fixture.requests()[0]).contains("be careful"));
}
