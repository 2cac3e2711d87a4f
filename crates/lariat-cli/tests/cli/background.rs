//! Sessions in the background: detach, list, answer, steer, stop, and a host that is killed.

use std::time::Duration;

use lariat_core::event::AgentEvent;
use lariat_proofs::server::{Script, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fixture::{Fixture, wait_for};

/// A fixture whose runs ask before they write.
async fn asking(script: Script) -> Fixture {
    let fixture = Fixture::new(script).await;
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap().replace("\"bypass\"", "\"default\"");
    std::fs::write(path, settings).unwrap();
    fixture
}

fn write_call() -> Turn {
    Turn::new().call("call_1", "write_file", &json!({"path": "note.txt", "content": "hello\n"}))
}

fn reply(text: &str) -> Turn {
    Turn::new().text(text)
}

/// Ends the host with the test.
pub(crate) struct HostGuard<'a>(pub(crate) &'a Fixture);

impl Drop for HostGuard<'_> {
    fn drop(&mut self) {
        self.0.run(&["host", "stop"]);
    }
}

fn sessions(fixture: &Fixture) -> Vec<Value> {
    fixture.run(&["ps", "--all", "--json"]).expect(0).json().as_array().unwrap().clone()
}

fn status(fixture: &Fixture) -> String {
    sessions(fixture)[0]["status"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn detached_run_asks_and_continues_after_the_answer() {
    let fixture = asking(Script::queue([write_call(), reply("done")])).await;
    let _host = HostGuard(&fixture);
    let detached = fixture.run(&["run", "--detach", "write a note"]).expect(0);
    let id = detached.stdout.trim().to_owned();
    assert!(detached.stderr.contains("lariat attach"), "{detached:?}");
    wait_for("the question", || status(&fixture) == "requires_action");
    assert!(!fixture.workspace().join("note.txt").exists());
    fixture.run(&["sessions", "approve", &id[..8]]).expect(0);
    wait_for("the end", || status(&fixture) == "idle");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "hello\n");
    let late = fixture.run(&["sessions", "approve", &id]);
    assert_ne!(late.code, Some(0), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_question_of_a_detached_run_reaches_the_model() {
    let fixture = asking(Script::queue([write_call(), reply("I see")])).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "write a note"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || status(&fixture) == "requires_action");
    fixture.run(&["sessions", "approve", &id, "--deny", "--reason", "not today"]).expect(0);
    wait_for("the end", || status(&fixture) == "idle");
    assert!(!fixture.workspace().join("note.txt").exists());
    assert!(fixture.requests().last().unwrap().body.to_string().contains("not today"));
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_of_a_detached_run_waits_in_the_list_until_it_is_approved() {
    let fixture = asking(Script::queue([write_call(), reply("planned"), reply("done")])).await;
    let _host = HostGuard(&fixture);
    let start = fixture.run(&["run", "--detach", "--mode", "plan", "write a note"]).expect(0);
    let id = start.stdout.trim().to_owned();
    wait_for("the plan", || fixture.run(&["ps"]).expect(0).stdout.contains("asks you"));
    assert!(!fixture.workspace().join("note.txt").exists());
    fixture.run(&["sessions", "approve", &id]).expect(0);
    wait_for("the note", || fixture.workspace().join("note.txt").exists());
    wait_for("the end", || !fixture.run(&["ps"]).expect(0).stdout.contains(&id[..8]));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_host_loses_nothing_and_the_next_one_continues() {
    let fixture = asking(Script::queue([write_call(), reply("done")])).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "write a note"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || status(&fixture) == "requires_action");
    let pid = fixture.run(&["host", "status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_for("the end of the host", || fixture.run(&["host", "status", "--json"]).stdout.trim() == "null");
    // The next command starts a host, which continues the run with the same question.
    fixture.run(&["sessions", "approve", &id]).expect(0);
    wait_for("the end", || status(&fixture) == "idle");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "hello\n");
    let journal = fixture.journal().await;
    let prompts = journal.iter().filter(
        |event| matches!(&event.event, AgentEvent::CommandAccepted(command) if command.action == "prompt"),
    );
    assert_eq!(prompts.count(), 1);
    let recovered = journal.iter().filter(|event| matches!(event.event, AgentEvent::LoopRecovered { .. }));
    assert_eq!(recovered.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_of_the_model_survives_a_killed_host_and_takes_an_answer() {
    let question = json!({"question": "Which colour?", "options": ["red", "blue"]});
    let turns = [Turn::new().call("call_1", "ask_user", &question), reply("painted")];
    let fixture = Fixture::new(Script::queue(turns)).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "paint it"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || status(&fixture) == "requires_action");
    let pid = fixture.run(&["host", "status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_for("the end of the host", || fixture.run(&["host", "status", "--json"]).stdout.trim() == "null");
    let unclear = fixture.run(&["sessions", "approve", &id]);
    assert!(unclear.stderr.contains("--answer"), "{unclear:?}");
    fixture.run(&["sessions", "approve", &id, "--answer", "green"]).expect(0);
    wait_for("the end", || status(&fixture) == "idle");
    assert!(fixture.requests().last().unwrap().body.to_string().contains("green"));
    let late = fixture.run(&["sessions", "approve", &id, "--answer", "red"]);
    assert_ne!(late.code, Some(0), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn message_to_an_idle_session_starts_a_run() {
    let fixture = Fixture::new(Script::queue([reply("one"), reply("two")])).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "first"]).expect(0).stdout.trim().to_owned();
    wait_for("the end", || fixture.requests().len() == 1 && status(&fixture) == "idle");
    fixture.run(&["sessions", "steer", &id, "second"]).expect(0);
    wait_for("the second run", || fixture.requests().len() == 2 && status(&fixture) == "idle");
    assert!(fixture.requests()[1].body.to_string().contains("second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_session_ends_its_run_and_is_free_for_other_processes() {
    let fixture = asking(Script::queue([write_call(), reply("resumed")])).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "write a note"]).expect(0).stdout.trim().to_owned();
    wait_for("the question", || status(&fixture) == "requires_action");
    fixture.run(&["stop", &id]).expect(0);
    wait_for("the session to be closed", || status(&fixture) == "closed");
    assert!(!fixture.workspace().join("note.txt").exists());
    // The host has released it, so this process can run it.
    let resumed = fixture.run(&["run", "--resume", &id, "go on"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_shows_the_answer_and_ends_with_the_run_when_it_is_piped() {
    let fixture = Fixture::new(Script::queue([reply("the answer")])).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "ask"]).expect(0).stdout.trim().to_owned();
    let attached = fixture.run(&["attach", &id]).expect(0);
    assert!(attached.stdout.contains("the answer"), "{attached:?}");
    let unknown = fixture.run(&["attach", "zzz"]).expect(6);
    assert!(unknown.stderr.contains("session `zzz` not found"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_work_ends_by_itself() {
    let fixture = Fixture::new(Script::queue(Vec::<Turn>::new())).await;
    let mut host = fixture.spawn(&["host", "serve", "--idle", "1"]);
    wait_for("the host", || fixture.run(&["host", "status", "--json"]).stdout.trim() != "null");
    let begun = std::time::Instant::now();
    while host.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the host still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!fixture.path("state/lariat/host/socket").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn detaching_refuses_restrictions_that_the_host_would_not_enforce() {
    let fixture = Fixture::new(Script::queue(Vec::<Turn>::new())).await;
    for flag in [&["--deny", "Bash"][..], &["--max-cost", "1"], &["--max-turns", "2"]] {
        let mut words = vec!["run", "--detach"];
        words.extend(flag);
        words.push("go");
        let refused = fixture.run(&words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
}
