//! Tests `lariat loop` and `lariat metrics` with the real program: decisions, differences, checks, limits, kills.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lariat_core::event::{AgentEvent, Event};
use lariat_core::message::AgentMessage;
use lariat_proofs::server::{Answer, Request, Script, Turn};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::fixture::{Fixture, RunResult, last_result, read_journal, signal, silence, text, wait, wait_for};
use crate::kills::{Killed, UnkilledFiles, started_once};
use crate::pty::Pty;

fn is_critic(request: &Request) -> bool {
    request.body["system"].to_string().contains("You are the critic of another agent's work")
}

/// What the user said last in a request.
pub(crate) fn last_message(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    text(&messages.last().unwrap()["content"])
}

/// The number of the iteration that an actor works on.
fn iteration(request: &Request) -> usize {
    1 + request.body["messages"].to_string().matches("A reviewer compared the files").count()
}

pub(crate) fn decision(decision: &str, words: &str) -> Answer {
    let is = |name: &str| (decision == name).then_some(words);
    let confidence = (decision == "DONE").then_some(0.9);
    let answer = json!({
        "decision": decision, "summary": is("DONE"), "confidence": confidence, "feedback": is("CONTINUE"),
        "recovery": is("ERROR"),
    });
    Turn::new().text(answer.to_string()).into()
}

/// An actor that writes `file-N.txt` in iteration N and names it in its reply.
fn write_a_file(request: &Request) -> Answer {
    let number = iteration(request);
    let last = last_result(&request.body);
    if last.is_some_and(|(_, text, _)| text.contains(&format!("file-{number}.txt"))) {
        return Turn::new().text(format!("I wrote file-{number}.txt.")).into();
    }
    let arguments = json!({"path": format!("file-{number}.txt"), "content": format!("content {number}\n")});
    // A call that a kill interrupted is made again, with another id.
    let earlier = request.body["messages"].to_string().matches(&format!("\"id\":\"w{number}")).count();
    let id = if earlier == 0 { format!("w{number}") } else { format!("w{number}-{earlier}") };
    Turn::new().call(id, "write_file", &arguments).into()
}

/// A script of an actor and a critic. The critic gets the number of its review, from 1.
pub(crate) fn script(critic: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Script {
    Script::answer(move |request| {
        if !is_critic(request) {
            return write_a_file(request);
        }
        let prompt = request.body["messages"].to_string();
        let number = (1..9).rev().find(|number| prompt.contains(&format!("I wrote file-{number}.txt.")));
        critic(request, number.unwrap_or(1))
    })
}

/// The journal of the loop, and its id.
pub(crate) async fn loop_journal(fixture: &Fixture) -> (String, Vec<Event>) {
    let store = fixture.store().await.unwrap();
    let mut query = lariat_core::archive::ListQuery::default();
    query.tag = Some("loop".to_owned());
    let listed = lariat_core::archive::SessionArchive::list(&store, &query).await.unwrap();
    assert_eq!(listed.len(), 1, "one loop");
    (listed[0].session_id.to_string(), read_journal(&store, &listed[0].session_id).await)
}

/// The lines of the session file of the loop.
pub(crate) fn exported(fixture: &Fixture, id: &str) -> Vec<Value> {
    fixture.run(&["sessions", "export", id, "--format", "codeloops"]).expect(0).lines()
}

fn count(events: &[Event], is_it: impl Fn(&AgentEvent) -> bool) -> usize {
    events.iter().filter(|event| is_it(&event.event)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_goes_back_until_the_critic_is_done() {
    let fixture = Fixture::new(script(|_, number| match number {
        1 => decision("CONTINUE", "write the second file too"),
        _ => decision("DONE", "both files are there"),
    }))
    .await;
    fixture.git(&["init", "-q"]);
    fixture.write("old.txt", "dirt from before\n");
    let ran = fixture.run(&["loop", "write two files", "--max-iterations", "5"]).expect(0);
    assert_eq!(ran.stdout, "both files are there\n");
    for line in [
        "iteration 1 of at most 5",
        "iteration 1: CONTINUE (1 file changed, +1 -0",
        "write the second file too",
        "iteration 2: DONE (2 files changed, +2 -0",
        "done after 2 iterations",
        "confidence 90 %",
        "no cost limit, because the price of `scripted` is unknown",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let requests = fixture.requests();
    let reviews: Vec<&Request> = requests.iter().filter(|request| is_critic(request)).collect();
    assert_eq!(reviews.len(), 2);
    let second = last_message(reviews[1]);
    assert!(second.contains("+content 1") && second.contains("+content 2"), "since the start: {second}");
    assert!(second.contains("write two files") && second.contains("I wrote file-2.txt."), "{second}");
    let (diff, _) = second.split_once("</diff>").unwrap();
    assert!(!diff.contains("old.txt"), "it was there before: {diff}");
    let tools: Vec<&str> = reviews[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(tools.contains(&"read_file"), "{tools:?}");
    assert!(
        !tools.iter().any(|tool| ["write_file", "edit_file", "bash", "agent"].contains(tool)),
        "{tools:?}"
    );
    let actor = requests.iter().rfind(|request| !is_critic(request)).unwrap();
    assert!(actor.body["messages"].to_string().contains("write the second file too"));
    let (id, _) = loop_journal(&fixture).await;
    let tail = fixture.run(&["sessions", "tail", &id, "-n", "500"]).expect(0).stdout;
    assert!(
        tail.contains("1: CONTINUE write the second file too") && tail.contains("loop end     success"),
        "{tail}"
    );
    // The loop and its two critics are listed with different ids, each of which finds its session.
    let listed = fixture.run(&["sessions", "list"]).expect(0).stdout;
    let listed: std::collections::BTreeSet<&str> =
        listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed.len(), 3, "{listed:?}");
    for id in listed {
        fixture.run(&["sessions", "show", id]).expect(0);
    }
    // Nothing is left of the snapshots, neither in the repository nor beside the sessions.
    let status =
        Command::new("git").args(["count-objects"]).current_dir(fixture.workspace()).output().unwrap();
    assert!(String::from_utf8_lossy(&status.stdout).starts_with("0 objects"), "{status:?}");
    let left = std::fs::read_dir(fixture.path("state/lariat/loops")).unwrap().count();
    assert_eq!(left, 0, "the snapshots of an ended loop are removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_shows_the_summary_once() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    let mut pty = Pty::start(&fixture, &["loop", "write a file"], 120, 40);
    pty.shows("done after 1 iteration");
    assert_eq!(pty.end(), Some(0), "{}", pty.screen());
    let rows = pty.all_rows();
    let shown = rows.iter().filter(|row| row.contains("the file is there"));
    assert_eq!(shown.count(), 1, "{}", rows.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_exports_and_imports_as_a_session_file_byte_for_byte() {
    let fixture = Fixture::new(script(|_, number| match number {
        1 => decision("ERROR", "the second file is missing"),
        _ => decision("DONE", "ok"),
    }))
    .await;
    fixture.run(&["loop", "write two files"]).expect(0);
    let (id, _) = loop_journal(&fixture).await;
    let file = fixture.run(&["sessions", "export", &id, "--format", "codeloops"]).expect(0).stdout;
    let lines = exported(&fixture, &id);
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session_start", "iteration", "iteration", "session_end"]);
    assert_eq!(lines[0]["prompt"], "write two files");
    assert_eq!(
        (&lines[0]["actor_agent"], &lines[0]["actor_model"]),
        (&json!("Lariat"), &json!("test/scripted"))
    );
    assert_eq!(
        (&lines[1]["critic_decision"], &lines[1]["feedback"]),
        (&json!("ERROR"), &json!("the second file is missing"))
    );
    assert_eq!(
        (&lines[1]["actor_output"], &lines[1]["git_files_changed"]),
        (&json!("I wrote file-1.txt."), &json!(1))
    );
    assert!(lines[2]["git_diff"].as_str().unwrap().contains("+content 2"), "{}", lines[2]);
    assert_eq!(
        (&lines[3]["outcome"], &lines[3]["iterations"], &lines[3]["confidence"]),
        (&json!("success"), &json!(2), &json!(0.9))
    );
    fixture.write("loop.jsonl", &file);
    let imported = fixture.run(&["sessions", "import", "loop.jsonl", "--json"]).expect(0).json();
    let again = imported["session_id"].as_str().unwrap();
    let copy = fixture.run(&["sessions", "export", again, "--format", "codeloops"]).expect(0).stdout;
    assert_eq!(copy, file);
    let metrics = fixture.run(&["metrics", "--json"]).expect(0).json();
    assert_eq!((&metrics["loops"], &metrics["success_rate"]), (&json!(2), &json!(1.0)), "{metrics}");
    assert_eq!(
        (&metrics["first_try_rate"], &metrics["iterations_to_success"]),
        (&json!(0.0), &json!([0, 2])),
        "{metrics}"
    );
    let shown = fixture.run(&["metrics"]).expect(0).stdout;
    assert!(shown.contains("success rate          100 %") && shown.contains("   2  "), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn task_is_not_done_while_the_check_fails() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "all done"))).await;
    let ran = fixture.run(&["loop", "write it", "--check", "cat file-2.txt"]).expect(0);
    assert!(
        ran.stderr.contains("iteration 1: CONTINUE") && ran.stderr.contains("check failed (1)"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("iteration 2: DONE") && ran.stderr.contains("check passed"),
        "{}",
        ran.stderr
    );
    let requests = fixture.requests();
    let reviews: Vec<String> =
        requests.iter().filter(|request| is_critic(request)).map(last_message).collect();
    assert!(reviews[0].contains("`cat file-2.txt`") && reviews[0].contains("exit code 1"), "{}", reviews[0]);
    assert!(reviews[1].contains("exit code 0") && reviews[1].contains("content 2"), "{}", reviews[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_on_iterations_ends_the_loop() {
    let fixture =
        Fixture::new(script(|_, number| decision("CONTINUE", &format!("more after {number}")))).await;
    let ran = fixture.run(&["loop", "never enough", "--max-iterations", "2", "--json"]).expect(5);
    assert!(ran.stderr.contains("the task is not done after 2 iterations"), "{}", ran.stderr);
    let result = ran.json();
    assert_eq!(
        (&result["outcome"], &result["iterations"]),
        (&json!("max_iterations_reached"), &json!(2)),
        "{result}"
    );
    let id = result["session_id"].as_str().unwrap();
    let again = fixture.run(&["loop", "--resume", id]).expect(6);
    assert!(again.stderr.contains("has ended"), "{}", again.stderr);
    fixture.run(&["loop", "x", "--max-iterations", "0"]).expect(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_limit_stops_the_actor_and_ends_the_loop() {
    let fixture = Fixture::new(Script::answer(|_| silence())).await;
    let ran = fixture.run(&["loop", "hang", "--max-time", "1s"]).expect(5);
    assert!(ran.stderr.contains("reached its time limit of 1"), "{}", ran.stderr);
    let (id, _) = loop_journal(&fixture).await;
    assert_eq!(exported(&fixture, &id).last().unwrap()["outcome"], "time_limit_reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn actor_and_critic_share_one_cost_limit() {
    let fixture = Fixture::new(script(|_, _| decision("CONTINUE", "more"))).await;
    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{base}input_price = 100000.0\noutput_price = 100000.0\n")).unwrap();
    let ran = fixture.run(&["loop", "spend", "--max-cost", "0.5", "--json"]).expect(5);
    assert!(ran.stderr.contains("reached its cost limit of $0.50"), "{}", ran.stderr);
    assert_eq!(ran.json()["outcome"], "cost_limit_reached");
}

/// What a killed loop was doing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    ActorBegins,
    ActorAfterTool,
    SecondActor,
    Critic,
    SecondCritic,
}

/// Runs a loop of two iterations, kills it at a moment, resumes it, and returns what the resumed one printed.
async fn killed_at(moment: Moment) -> (Fixture, RunResult) {
    let is_killed = Arc::new(AtomicBool::new(false));
    let has_begun = Arc::new(AtomicBool::new(false));
    let (killed, begun) = (Arc::clone(&is_killed), Arc::clone(&has_begun));
    let fixture = Fixture::new(Script::answer(move |request| {
        let has_result = last_result(&request.body).is_some();
        let is_moment = match (moment, is_critic(request)) {
            (Moment::ActorBegins, false) => !has_result,
            (Moment::ActorAfterTool, false) => has_result && iteration(request) == 1,
            (Moment::SecondActor, false) => iteration(request) == 2,
            (Moment::Critic, true) => !last_message(request).contains("I wrote file-2.txt."),
            (Moment::SecondCritic, true) => last_message(request).contains("I wrote file-2.txt."),
            _ => false,
        };
        if is_moment && !killed.load(Ordering::Acquire) {
            begun.store(true, Ordering::Release);
            return silence();
        }
        match is_critic(request) {
            false => write_a_file(request),
            true if last_message(request).contains("I wrote file-2.txt.") => {
                decision("DONE", "both are there")
            }
            true => decision("CONTINUE", "one more"),
        }
    }))
    .await;
    let child = fixture.spawn(&["loop", "write two files"]);
    wait_for("the moment", || has_begun.load(Ordering::Acquire));
    signal(&child, Signal::KILL);
    wait(child);
    is_killed.store(true, Ordering::Release);
    let (id, _) = loop_journal(&fixture).await;
    let ran = fixture.run(&["loop", "--resume", &id]).expect(0);
    (fixture, ran)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_loop_resumes_and_repeats_no_iteration_and_no_finished_run() {
    for moment in [
        Moment::ActorBegins,
        Moment::ActorAfterTool,
        Moment::SecondActor,
        Moment::Critic,
        Moment::SecondCritic,
    ] {
        let (fixture, ran) = killed_at(moment).await;
        assert_eq!(ran.stdout, "both are there\n", "{moment:?}: {}", ran.stderr);
        let (id, journal) = loop_journal(&fixture).await;
        let lines = exported(&fixture, &id);
        let numbers: Vec<&Value> = lines.iter().filter_map(|line| line.get("iteration_number")).collect();
        assert_eq!(numbers, [&json!(1), &json!(2)], "{moment:?}");
        assert_eq!(lines.len(), 4, "{moment:?}");
        assert!(
            lines[2]["git_diff"].as_str().unwrap().contains("+content 1"),
            "{moment:?}: since the first start"
        );
        let runs = count(&journal, |event| matches!(event, AgentEvent::AgentStart(_)));
        assert_eq!(runs, 2, "{moment:?}: one run of the actor per iteration");
        let tools = count(&journal, |event| matches!(event, AgentEvent::ToolExecutionStart { .. }));
        assert_eq!(tools, 2, "{moment:?}: no tool ran twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_loop_says_how_to_continue() {
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let fixture = Fixture::new(script(move |_, _| {
        begun.store(true, Ordering::Release);
        silence()
    }))
    .await;
    let child = fixture.spawn(&["loop", "write a file"]);
    wait_for("the review", || has_begun.load(Ordering::Acquire));
    signal(&child, Signal::INT);
    let ran = wait(child).expect(130);
    let (id, _) = loop_journal(&fixture).await;
    assert!(ran.stderr.contains(&format!("lariat loop --resume {id}")), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_without_limits_on_the_command_line_has_default_ones() {
    let fixture = Fixture::new(script(|_, _| decision("DONE", "the file is there"))).await;
    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{base}input_price = 1.0\noutput_price = 1.0\n")).unwrap();
    fixture.run(&["loop", "write a file"]).expect(0);
    let (_, journal) = loop_journal(&fixture).await;
    let messages = journal.iter().filter_map(|event| match &event.event {
        AgentEvent::MessagesImported { messages, .. } => Some(messages),
        _ => None,
    });
    let recorded = messages.flatten().find_map(|message| match &**message {
        AgentMessage::Extension(more) => more.data.pointer("/start/settings").cloned(),
        _ => None,
    });
    let recorded = recorded.unwrap();
    assert_eq!(recorded["max_iterations"], 10, "{recorded}");
    assert_eq!(recorded["max_time"]["secs"], 60 * 60, "{recorded}");
    assert_eq!(recorded["max_cost"], 10_000_000_000_u64, "{recorded}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_actor_and_critic_are_in_one_trace() {
    let fixture = Fixture::new(script(|_, number| match number {
        1 => decision("CONTINUE", "write the second file too"),
        _ => decision("DONE", "both files are there"),
    }))
    .await;
    let collector = Collector::start();
    collector.receive_from(&fixture);
    fixture.run(&["loop", "write two files"]).expect(0);
    collector.assert_one_tree("invoke_workflow loop", 4);
}

/// `LARIAT_KILLS` sets the number of kills, `LARIAT_SEED` repeats their moments: `cargo xtask kill-loop`.
#[tokio::test(flavor = "multi_thread")]
async fn loop_killed_at_any_moment_ends_with_the_same_files() {
    let new = async || {
        let fixture = Fixture::new(script(|_, number| match number {
            1 => decision("CONTINUE", "write the second file too"),
            _ => decision("DONE", "both files are there"),
        }))
        .await;
        fixture.git(&["init", "-q"]);
        fixture
    };
    let loops = |fixture: &Fixture| -> Vec<String> {
        let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
        let is_loop = |session: &&Value| session["tags"].to_string().contains("\"loop\"");
        let id = |session: &Value| session["session_id"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().filter(is_loop).map(id).collect()
    };
    let resume = |fixture: &Fixture| {
        let id = loops(fixture).pop()?;
        Some(["loop", "--resume", &id].map(str::to_owned).to_vec())
    };
    let unkilled = UnkilledFiles::default();
    let check = |fixture: &Fixture, ran: &RunResult, name: &str| {
        // A kill after the end of the loop was recorded leaves nothing to resume.
        let has_ended = ran.stderr.contains("has ended");
        assert!(ran.code == Some(0) || has_ended, "{name}: {ran:#?}");
        for number in [1, 2] {
            let found = std::fs::read_to_string(fixture.workspace().join(format!("file-{number}.txt")));
            assert_eq!(found.unwrap(), format!("content {number}\n"), "{name}");
        }
        let ids = loops(fixture);
        let lines = exported(fixture, ids.last().unwrap());
        let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["session_start", "iteration", "iteration", "session_end"], "{name}");
        assert_eq!(ids.len(), 1, "{name}");
        let started = started_once(fixture, &ids[0], name);
        assert!(["w1", "w2"].iter().all(|call| started.contains(*call)), "{name}: {started:?}");
        unkilled.assert_same(fixture, name);
        let left = fixture.path("state/lariat/loops").join(&ids[0]);
        assert!(!left.exists(), "{name}: the snapshots of an ended loop are removed");
    };
    let killed = Killed { start: &["loop", "write two files"], resume: &resume, check: &check };
    killed.kill(6, new).await;
}
