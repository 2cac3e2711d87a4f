//! A scripted model repairs a repository with a failing test, undisturbed and with the program killed on the way.
//!
//! The model decides by the conversation, not by the number of requests, so that it re-examines what was interrupted. Every
//! command logs its own name, so that one that ran twice is detected.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_proofs::server::{Answer, Request, Script, Turn};
use lariat_test::SeededRandom;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, RunResult, last_result, signal, wait, wait_for};
use crate::kills::number;

const PROMPT: &str = "The test fails. Repair it.";
const BROKEN: &str = "total=$((1 - 1))\n";
/// The edit adds a line next to the repaired one; applied twice, there would be two.
const REPAIRED: &str = "total=$((1 + 1))\n# repaired\n";
const TEST: &str =
    "#!/bin/sh\n. ./sum.sh\nif [ \"$total\" = 2 ]; then echo passed; else echo failed; exit 1; fi\n";

/// What the model does next.
fn repairing(request: &Request) -> Answer {
    let count = request.body["messages"].as_array().map_or(0, Vec::len);
    let call =
        |name: &str, arguments: &Value| Turn::new().call(format!("toolu_{count}"), name, arguments).into();
    let test = || {
        let held = "while [ -e ../held ]; do sleep 0.01; done";
        let command = format!("echo call-{count} >> ../log; {held}; sleep 0.05; ./test.sh");
        call("bash", &json!({ "command": command }))
    };
    let read = || call("read_file", &json!({ "path": "sum.sh" }));
    match last_result(&request.body) {
        Some((name, result, false)) => match name.as_str() {
            "read_file" if result.contains("1 - 1") => call(
                "edit_file",
                &json!({ "path": "sum.sh", "old_string": BROKEN.trim_end(), "new_string": REPAIRED.trim_end() }),
            ),
            "bash" if result.contains("passed") => Turn::new().text("The test passes.").into(),
            "bash" => read(),
            _ => test(),
        },
        // At the start, and after every failure.
        Some(_) | None => read(),
    }
}

async fn repository() -> Fixture {
    let fixture = Fixture::new(Script::answer(repairing)).await;
    fixture.write("sum.sh", BROKEN);
    let script = fixture.write("test.sh", TEST);
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for line in ["init -q", "add .", "-c user.name=a -c user.email=a@b commit -q -m begin"] {
        let git =
            Command::new("git").args(line.split(' ')).current_dir(fixture.workspace()).status().unwrap();
        assert!(git.success());
    }
    fixture
}

/// What must be true at the end, however the run went.
async fn assert_repaired(fixture: &Fixture, seed: &str) {
    let read = |name: &str| std::fs::read_to_string(fixture.workspace().join(name)).unwrap();
    assert_eq!(read("sum.sh"), REPAIRED, "{seed}");
    assert_eq!(read("test.sh"), TEST, "{seed}");
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(fixture.workspace());
    let status = String::from_utf8(git.output().unwrap().stdout).unwrap();
    assert_eq!(status, " M sum.sh\n", "{seed}");
    let log = std::fs::read_to_string(fixture.path("log")).unwrap();
    let mut ran: Vec<&str> = log.lines().collect();
    let total = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), total, "a command ran twice, {seed}:\n{log}");
    let mut starts: HashMap<String, u32> = HashMap::new();
    let events = fixture.journal().await;
    for event in &events {
        if let AgentEvent::ToolExecutionStart { tool_call_id, .. } = &event.event {
            *starts.entry(tool_call_id.to_string()).or_default() += 1;
        }
    }
    assert!(starts.values().all(|count| *count == 1), "a call was started twice, {seed}: {starts:?}");
    assert!(is_done(&events), "{seed}");
}

fn is_done(events: &[lariat_core::event::Event]) -> bool {
    let mut ends = events.iter().filter_map(|event| match &event.event {
        AgentEvent::AgentEnd { outcome, .. } => Some(outcome),
        _ => None,
    });
    ends.next_back() == Some(&RunOutcome::Completed)
}

#[tokio::test(flavor = "multi_thread")]
async fn repairs_failing_test_without_interruption() {
    let fixture = repository().await;
    let result = fixture.run(&["run", PROMPT, "--output", "json"]).expect(0).json();
    assert_eq!(result["result"], "The test passes.");
    assert_eq!((&result["num_turns"], &result["subtype"]), (&json!(4), &json!("success")));
    assert_repaired(&fixture, "without interruption").await;
    let calls: Vec<String> = fixture
        .journal()
        .await
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::ToolExecutionStart { tool_name, .. } => Some(tool_name.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["read_file", "edit_file", "bash"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn command_killed_with_the_program_is_not_rerun() {
    let fixture = repository().await;
    let (held, log) = (fixture.path("held"), fixture.path("log"));
    std::fs::write(&held, "").unwrap();
    let child = fixture.spawn(&["run", PROMPT]);
    wait_for("the command", || std::fs::read_to_string(&log).is_ok_and(|log| log.ends_with('\n')));
    signal(&child, Signal::KILL);
    assert_eq!(wait(child).code, None);
    std::fs::remove_file(&held).unwrap();
    fixture.run(&["run", "--continue"]).expect(0);
    assert_repaired(&fixture, "killed while a command runs").await;
    assert_eq!(
        std::fs::read_to_string(&log).unwrap().lines().count(),
        2,
        "another command runs in its place"
    );
}

/// Kills with strace before each system call that swaps the edited file for the old one.
#[tokio::test(flavor = "multi_thread")]
async fn kill_during_file_swap_leaves_no_temporary_files() {
    let mut kills = 0;
    for call in ["linkat", "renameat2", "unlinkat"] {
        for at in 1.. {
            let name = format!("killed at {call} {at}");
            let fixture = repository().await;
            let program = fixture.command(&["run", PROMPT]);
            let mut strace = Command::new("strace");
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={at}"));
            strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, "--"]);
            strace.arg(program.get_program()).args(program.get_args()).current_dir(fixture.workspace());
            strace.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
            if strace.output().unwrap().status.success() {
                break;
            }
            kills += 1;
            if let Some(args) = next_step(&fixture, None).await {
                fixture.run(args).expect(0);
            }
            assert_repaired(&fixture, &name).await;
        }
    }
    assert!(kills >= 3, "{kills}");
}

/// `LARIAT_KILLS` sets the number of kills, `LARIAT_SEED` repeats a run: `cargo xtask kill-cli`.
#[tokio::test(flavor = "multi_thread")]
async fn repair_killed_at_any_moment_resumes_and_does_nothing_twice() {
    let kills = number("LARIAT_KILLS").unwrap_or(10);
    let seed = number("LARIAT_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut random = SeededRandom::new(seed);
    let begun = Instant::now();
    let (mut killed, mut rounds) = (0, 0);
    let undisturbed = {
        let fixture = repository().await;
        let begun = Instant::now();
        fixture.run(&["run", PROMPT]).expect(0);
        begun.elapsed()
    };
    while killed < kills {
        rounds += 1;
        let name = format!("seed {seed}, round {rounds}");
        let fixture = repository().await;
        let planned = 1 + random.below(5);
        killed += round(&fixture, &mut random, planned.min(kills - killed), undisturbed, &name).await;
        assert_repaired(&fixture, &name).await;
    }
    println!("{killed} kills in {rounds} repairs, {:.1?}", begun.elapsed());
    println!("LARIAT_SEED={seed} repeats the same kill times");
}

/// Runs a repair with up to `kills` kills. Returns the actual number of kills.
async fn round(
    fixture: &Fixture,
    random: &mut SeededRandom,
    kills: u64,
    undisturbed: Duration,
    name: &str,
) -> u64 {
    let mut killed = 0;
    let mut args: &[&str] = &["run", PROMPT];
    for _attempt in 0..200 {
        let child = fixture.spawn(args);
        if killed < kills {
            let micros = u64::try_from(undisturbed.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(random.below(micros)));
            // If it has already ended, its exit code decides.
            signal(&child, Signal::KILL);
        }
        let ran = wait(child);
        match ran.code {
            None => killed += 1,
            Some(0) => return killed,
            Some(2 | 6) => {}
            Some(_) => panic!("{name}: {ran:#?}"),
        }
        let Some(next) = next_step(fixture, Some(&ran)).await else { return killed };
        args = next;
    }
    panic!("{name}: the repair never ended");
}

/// The command to continue with after a kill; `None` if the repair is complete.
async fn next_step(fixture: &Fixture, ran: Option<&RunResult>) -> Option<&'static [&'static str]> {
    let events = fixture.journal().await;
    let began = events.iter().any(|event| matches!(event.event, AgentEvent::AgentStart(_)));
    Some(match (events.is_empty(), began) {
        // Killed before there was a session, or before the session had a prompt.
        (true, _) => &["run", PROMPT],
        (false, false) => &["run", "--continue", PROMPT],
        (false, true) if is_done(&events) => return None,
        (false, true) => {
            let says = ran.and_then(|ran| ran.code);
            assert_ne!(says, Some(2), "something was interrupted, but the program says: {ran:#?}");
            &["run", "--continue"]
        }
    })
}
