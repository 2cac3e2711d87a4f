//! A newer program takes the background host over, with the sessions that run.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lariat_core::event::AgentEvent;
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::background::HostGuard;
use super::fixture::{Fixture, RunResult, wait_for};

/// A copy of the program that was installed a day before.
fn older_program(fixture: &Fixture) -> PathBuf {
    let path = fixture.path("older-lariat");
    std::fs::copy(env!("CARGO_BIN_EXE_lariat"), &path).unwrap();
    let a_day_ago = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(a_day_ago).unwrap();
    path
}

fn run(fixture: &Fixture, program: &Path, args: &[&str]) -> RunResult {
    RunResult::of(&fixture.command_of(program, args).output().unwrap())
}

fn host(fixture: &Fixture) -> Value {
    fixture.run(&["host", "status", "--json"]).expect(0).json()
}

fn session_status(fixture: &Fixture) -> Value {
    fixture.run(&["ps", "--all", "--json"]).expect(0).json()[0]["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_program_takes_over_a_session_that_waits_for_an_answer() {
    let write = json!({"path": "note.txt", "content": "hello\n"});
    let turns = [Turn::new().call("call_1", "write_file", &write), Turn::new().text("done")];
    let fixture = Fixture::new(Script::queue(turns)).await;
    let settings = fixture.path("config/lariat/config.toml");
    let text = std::fs::read_to_string(&settings).unwrap().replace("\"bypass\"", "\"default\"");
    std::fs::write(settings, text).unwrap();
    let _host = HostGuard(&fixture);
    let older = older_program(&fixture);
    let id = run(&fixture, &older, &["run", "--detach", "write a note"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || {
        host(&fixture)["running"] == 1 && session_status(&fixture) == "requires_action"
    });
    let first = host(&fixture)["pid"].clone();
    let approved = fixture.run(&["sessions", "approve", &id]).expect(0);
    assert!(approved.stderr.contains("took over 1 running session"), "{approved:?}");
    let second = host(&fixture)["pid"].clone();
    assert_ne!(first, second, "the newer program serves");
    wait_for("the end", || session_status(&fixture) == "idle");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "hello\n");
    let journal = fixture.journal().await;
    let count =
        |wanted: &dyn Fn(&AgentEvent) -> bool| journal.iter().filter(|event| wanted(&event.event)).count();
    assert_eq!(count(&|event| matches!(event, AgentEvent::LoopRecovered { .. })), 1);
    assert_eq!(count(&|event| matches!(event, AgentEvent::ToolExecutionStart { .. })), 1);
    // The older program uses the newer host and does not take it back.
    run(&fixture, &older, &["run", "--detach", "another task"]).expect(0);
    assert_eq!(host(&fixture)["pid"], second);
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_program_leaves_a_host_alone_while_a_tool_runs() {
    let command = json!({"command": "touch started; while [ ! -e go ]; do sleep 0.1; done; echo went"});
    let turns =
        [Turn::new().call("call_1", "bash", &command), Turn::new().text("done"), Turn::new().text("resting")];
    let fixture = Fixture::new(Script::queue(turns)).await;
    let _host = HostGuard(&fixture);
    let older = older_program(&fixture);
    let id =
        run(&fixture, &older, &["run", "--detach", "wait for a file"]).expect(0).stdout.trim().to_owned();
    wait_for("the command", || fixture.workspace().join("started").exists());
    let before = host(&fixture);
    assert_eq!(before["busy"], 1, "{before}");
    fixture.run(&["sessions", "queue", &id, "and then rest"]).expect(0);
    assert_eq!(host(&fixture)["pid"], before["pid"], "the command continues");
    std::fs::write(fixture.workspace().join("go"), "").unwrap();
    wait_for("the end", || session_status(&fixture) == "idle");
    let journal = fixture.journal().await;
    assert!(!journal.iter().any(|event| matches!(event.event, AgentEvent::LoopRecovered { .. })));
}
