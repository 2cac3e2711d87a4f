//! Tests `lariat race` with the real program: copies, checks, the judge, taking another branch, undo, kills, other agents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lariat_proofs::server::{Answer, Request, Script, Turn};
use rustix::process::Signal;
use serde_json::json;

use crate::collector::Collector;
use crate::fixture::{Fixture, RunResult, signal, silence, wait, wait_for};
use crate::kills::{Killed, UnkilledFiles, hang_in_git, kill_and_wait, started_once};
use crate::pty::Pty;

fn is_judge(request: &Request) -> bool {
    request.body["system"].to_string().contains("You compare the work of several agents")
}

/// Which branch a request belongs to: its directory is in the system prompt or in the context notes.
fn branch(request: &Request) -> char {
    let text = request.body.to_string();
    let (_, after) = text.split_once("/.cache/lariat/races/").unwrap_or_else(|| panic!("a branch: {text}"));
    let (_, after) = after.split_once('/').unwrap();
    after.chars().next().unwrap()
}

/// Each branch writes `result.txt` with as many lines as its position and `own-X.txt`, and says its name.
fn write_files(request: &Request) -> Answer {
    let name = branch(request);
    let lines = usize::from(name as u8 - b'a') + 1;
    let blocks = request.body["messages"].as_array().unwrap().iter();
    let blocks = blocks.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let results: Vec<&serde_json::Value> = blocks.filter(|block| block["type"] == "tool_result").collect();
    // A call that a kill interrupted is made again, with another id. If it had written its file, the second one is refused.
    let done = results.iter().filter(|result| !is_interrupted(result)).count();
    let call = |path: String, content: String| {
        let arguments = json!({"path": path, "content": content});
        Turn::new().call(format!("w{}", results.len()), "write_file", &arguments).into()
    };
    match done {
        0 => call("result.txt".to_owned(), (0..lines).map(|line| format!("{name} {line}\n")).collect()),
        1 => call(format!("own-{name}.txt"), "x\n".to_owned()),
        _ => Turn::new().text(format!("I am branch {name}.")).into(),
    }
}

fn is_interrupted(result: &serde_json::Value) -> bool {
    result["content"].to_string().contains("Interrupted:")
}

fn script(judge: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Script {
    Script::answer(move |request| if is_judge(request) { judge(request) } else { write_files(request) })
}

fn select(branch: &str) -> Answer {
    Turn::new().text(json!({"reason": "it is complete", "branch": branch}).to_string()).into()
}

fn repository(fixture: &Fixture) {
    fixture.git(&["init", "-q"]);
    fixture.write("committed.txt", "one\n");
    fixture.git(&["add", "committed.txt"]);
    fixture.git(&["commit", "-qm", "First"]);
    fixture.write("dirty.txt", "not committed\n");
}

/// What a race must not change in the repository.
fn state_of_git(fixture: &Fixture) -> Vec<String> {
    let mut state: Vec<String> = [
        &["for-each-ref"][..],
        &["stash", "list"],
        &["worktree", "list"],
        &["count-objects", "-v"],
        &["config", "--list", "--local"],
    ]
    .iter()
    .map(|words| fixture.git(words))
    .collect();
    let index = std::fs::read(fixture.workspace().join(".git/index")).unwrap();
    state.push(format!("{index:?}"));
    state
}

fn copies(fixture: &Fixture) -> Vec<String> {
    let races = fixture.path(".cache/lariat/races");
    let Ok(found) = std::fs::read_dir(races) else { return Vec::new() };
    found.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn read(fixture: &Fixture, name: &str) -> Option<String> {
    std::fs::read_to_string(fixture.workspace().join(name)).ok()
}

fn race_ids(fixture: &Fixture) -> Vec<String> {
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    let is_race = |session: &&serde_json::Value| session["tags"].to_string().contains("\"race\"");
    let id = |session: &serde_json::Value| session["session_id"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().filter(is_race).map(id).collect()
}

fn race_id(fixture: &Fixture) -> String {
    let ids = race_ids(fixture);
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn judge_selects_a_branch_and_only_its_changes_are_applied() {
    let fixture = Fixture::new(script(|request| {
        let prompt = request.body["messages"].to_string();
        assert!(
            prompt.contains("Branch a") && prompt.contains("+c 2") && prompt.contains("I am branch b."),
            "{prompt}"
        );
        assert!(!prompt.contains("not committed"), "the user's own changes are not a branch's: {prompt}");
        select("b")
    }))
    .await;
    repository(&fixture);
    let before = state_of_git(&fixture);
    let ran = fixture.run(&["race", "write a result", "--branches", "3"]).expect(0);
    assert_eq!(ran.stdout, "I am branch b.\n");
    for line in [
        "branch a (lariat): working",
        "branch c (lariat): completed (2 files changed, +4 -0)",
        "branch b is selected: it is complete",
        "branch b is applied (2 files changed); `lariat undo` undoes it",
        "no cost limit, because the price of `scripted` is unknown",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("b 0\nb 1\n"));
    assert_eq!(read(&fixture, "dirty.txt").as_deref(), Some("not committed\n"));
    assert!(read(&fixture, "own-b.txt").is_some() && read(&fixture, "own-a.txt").is_none());
    assert_eq!(state_of_git(&fixture), before, "index, stash, branches, objects and configuration");
    assert_eq!(copies(&fixture), Vec::<String>::new(), "no copy is left");

    // The others stay: they can be shown, compared and taken instead.
    let id = race_id(&fixture);
    let shown = fixture.run(&["race", "show", &id]).expect(0).stdout;
    assert!(shown.contains("branch b was selected: it is complete") && shown.contains("+4 -0"), "{shown}");
    let diff = fixture.run(&["race", "diff", &id, "c"]).expect(0).stdout;
    assert!(diff.contains("+c 2") && !diff.contains("+b 1"), "{diff}");
    fixture.run(&["race", "take", &id, "c"]).expect(0);
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("c 0\nc 1\nc 2\n"));
    assert!(read(&fixture, "own-b.txt").is_none() && read(&fixture, "own-c.txt").is_some());
    let json = fixture.run(&["race", "show", &id, "--json"]).expect(0).json();
    assert_eq!((&json["applied"], &json["selection"]["branch"]), (&json!("c"), &json!("b")), "{json}");
    let unknown = fixture.run(&["race", "take", &id, "z"]);
    assert!(unknown.stderr.contains("no ended branch `z`; there are: a, b, c"), "{}", unknown.stderr);

    // Undo reverts the last step.
    fixture.run(&["undo", "--yes"]).expect(0);
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("b 0\nb 1\n"));
    assert!(read(&fixture, "own-b.txt").is_some() && read(&fixture, "own-c.txt").is_none());
    assert_eq!(read(&fixture, "dirty.txt").as_deref(), Some("not committed\n"));
    // The user undid everything, in another way.
    std::fs::remove_file(fixture.workspace().join("result.txt")).unwrap();
    std::fs::remove_file(fixture.workspace().join("own-b.txt")).unwrap();
    // A branch can be taken after that, too.
    fixture.run(&["race", "take", &id, "a"]).expect(0);
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("a 0\n"));
    fixture.run(&["sessions", "delete", &id, "--yes"]).expect(0);
    assert_eq!(
        std::fs::read_dir(fixture.path("state/lariat/loops")).unwrap().count(),
        0,
        "snapshots are removed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn smallest_change_that_passes_the_check_is_selected() {
    let fixture = Fixture::new(script(|_| panic!("no judge is asked"))).await;
    // Without a repository. Branch a fails the check.
    fixture.write("old.txt", "old\n");
    let check = "test $(wc -l < result.txt) -ge 2";
    let ran =
        fixture.run(&["race", "write a result", "--branches", "3", "--check", check, "--json"]).expect(0);
    let json = ran.json();
    assert_eq!((&json["selection"]["branch"], &json["applied"]), (&json!("b"), &json!("b")), "{json}");
    assert_eq!(json["branches"]["a"]["check_exit_code"], 1, "{json}");
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("b 0\nb 1\n"));
    assert!(!fixture.workspace().join(".git").exists());

    // No branch passes: nothing is applied, and the branches can be looked at.
    let ran = fixture.run(&["race", "write a result", "--branches", "2", "--check", "false"]).expect(1);
    assert!(ran.stderr.contains("no branch completed and passed the check"), "{}", ran.stderr);
    assert!(ran.stderr.contains("lariat race show"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_is_not_applied_over_changes_of_the_user() {
    let fixture = Fixture::new(script(|_| select("a"))).await;
    let ran = fixture.run(&["race", "write a result", "--branches", "2", "--no-apply"]).expect(0);
    assert!(ran.stderr.contains("nothing is applied; `lariat race take"), "{}", ran.stderr);
    assert_eq!(read(&fixture, "result.txt"), None);
    fixture.write("result.txt", "mine\n");
    let id = race_id(&fixture);
    let ran = fixture.run(&["race", "take", &id, "a"]).expect(1);
    assert!(ran.stderr.contains("changed here since the race started: result.txt"), "{}", ran.stderr);
    assert_eq!(read(&fixture, "result.txt").as_deref(), Some("mine\n"));
    assert!(read(&fixture, "own-a.txt").is_none(), "all or nothing");
    // Nor in another directory.
    let other = fixture.path("other");
    std::fs::create_dir(&other).unwrap();
    for words in [&["race", "take", &id, "a"][..], &["race", "--resume", &id]] {
        let ran = fixture.command(words).current_dir(&other).output().unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(2) && errors.contains("the race ran in"), "{words:?}: {errors}");
    }
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_application_is_put_back_before_the_next_one() {
    let fixture = Fixture::new(script(|_| select("c"))).await;
    repository(&fixture);
    fixture.run(&["race", "write a result", "--branches", "3", "--no-apply"]).expect(0);
    let id = race_id(&fixture);
    for next in [&["race", "--resume", &id][..], &["race", "take", &id, "b"]] {
        kill_and_wait(&fixture, hang_in_git(&fixture, &["race", "take", &id, "c"], "read-tree -m"));
        // One of its two files was written.
        fixture.write("result.txt", "c 0\nc 1\nc 2\n");
        let shown = fixture.run(&["race", "show", &id]).expect(0).stdout;
        assert!(
            shown.contains(&format!("interrupted; `lariat race take {id} c` applies all of it")),
            "{shown}"
        );
        fixture.run(next).expect(0);
        let (lines, name) = if next.contains(&"take") { (2, "b") } else { (3, "c") };
        let wanted: String = (0..lines).map(|line| format!("{name} {line}\n")).collect();
        assert_eq!(read(&fixture, "result.txt"), Some(wanted));
        assert!(read(&fixture, &format!("own-{name}.txt")).is_some());
        fixture.run(&["undo", "--yes"]).expect(0);
        assert_eq!(read(&fixture, "result.txt"), None, "undo reverts the whole branch {name}");
        assert_eq!((read(&fixture, "own-b.txt"), read(&fixture, "own-c.txt")), (None, None));
    }
    assert_eq!(read(&fixture, "dirty.txt").as_deref(), Some("not committed\n"));
}

/// `LARIAT_KILLS` sets the number of kills, `LARIAT_SEED` repeats their moments: `cargo xtask kill-race`.
#[tokio::test(flavor = "multi_thread")]
async fn race_killed_at_any_moment_ends_with_the_same_files() {
    let new = async || {
        let fixture = Fixture::new(script(|_| select("c"))).await;
        repository(&fixture);
        fixture
    };
    let resume = |fixture: &Fixture| {
        let id = race_ids(fixture).pop()?;
        Some(["race", "--resume", &id].map(str::to_owned).to_vec())
    };
    let unkilled = UnkilledFiles::default();
    let check = |fixture: &Fixture, ran: &RunResult, name: &str| {
        let shown = fixture.run(&["race", "show", &race_id(fixture), "--json"]).expect(0);
        assert_eq!(ran.code, Some(0), "{name}: {ran:#?}\n{}", shown.stdout);
        let files = ["result.txt", "own-c.txt", "own-a.txt", "own-b.txt", "dirty.txt", "committed.txt"];
        let found: Vec<Option<String>> = files.iter().map(|file| read(fixture, file)).collect();
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        let wanted =
            [Some("c 0\nc 1\nc 2\n"), Some("x\n"), None, None, Some("not committed\n"), Some("one\n")];
        assert_eq!(found, wanted, "{name}: {}", shown.stdout);
        assert_eq!(copies(fixture), Vec::<String>::new(), "{name}: no copy is left");
        let shown = shown.json();
        for branch in shown["branches"].as_object().unwrap().values() {
            let session = branch["session_id"].as_str().unwrap();
            let started = started_once(fixture, session, name);
            assert!(["w0", "w1"].iter().all(|call| started.contains(*call)), "{name}: {branch}: {started:?}");
        }
        unkilled.assert_same(fixture, name);
    };
    let killed =
        Killed { start: &["race", "write a result", "--branches", "3"], resume: &resume, check: &check };
    killed.kill(6, new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_race_in_their_own_copies() {
    let fixture = Fixture::new(script(|_| select("a"))).await;
    repository(&fixture);
    fixture.write("agent.sh", "#!/bin/sh\ngit log --format=%s > log.txt\ngit status --porcelain >> log.txt\necho \"$1\" > task.txt\necho did it\n");
    let ran = fixture
        .run(&["race", "the task", "--agents", "sh agent.sh {prompt},lariat", "--check", "test -f task.txt"])
        .expect(0);
    assert_eq!(ran.stdout, "did it\n\n");
    assert_eq!(read(&fixture, "task.txt").as_deref(), Some("the task\n"));
    assert_eq!(read(&fixture, "log.txt").as_deref(), Some("First\n?? agent.sh\n?? dirty.txt\n?? log.txt\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_in_files_that_git_ignores_apply_in_the_copies() {
    let fixture = Fixture::new(script(|_| select("a"))).await;
    repository(&fixture);
    fixture.write(".gitignore", ".claude/settings.local.json\n");
    std::fs::create_dir_all(fixture.workspace().join(".claude")).unwrap();
    fixture.write(".claude/settings.local.json", r#"{"permissions": {"deny": ["Edit(result.txt)"]}}"#);
    fixture.run(&["race", "write a result", "--branches", "2"]).expect(0);
    assert_eq!(read(&fixture, "result.txt"), None, "every branch was denied to write it");
    assert!(read(&fixture, "own-a.txt").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_shows_a_table_of_the_branches() {
    let fixture = Fixture::new(script(|_| select("b"))).await;
    let mut pty = Pty::start(&fixture, &["race", "write a result", "--branches", "3"], 120, 40);
    pty.shows("branch b is applied");
    assert_eq!(pty.end(), Some(0), "{}", pty.screen());
    let rows = pty.all_rows();
    let row = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
    assert_eq!((row("branch  agent"), row("a       lariat  completed")), (1, 1), "{}", rows.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_and_judge_are_in_one_trace() {
    let fixture = Fixture::new(script(|_| select("a"))).await;
    let collector = Collector::start();
    collector.receive_from(&fixture);
    fixture.run(&["race", "write a result", "--branches", "2"]).expect(0);
    collector.assert_one_tree("invoke_workflow race", 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_before_a_kill_is_included() {
    let is_killed = Arc::new(AtomicBool::new(false));
    let killed = Arc::clone(&is_killed);
    // The second request hangs until the program was killed.
    let fixture = Fixture::new(Script::answer(move |request| {
        let is_second = request.body.to_string().matches("\"tool_result\"").count() == 1;
        if is_second && !killed.load(Ordering::Acquire) { silence() } else { write_files(request) }
    }))
    .await;
    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{base}input_price = 100000.0\noutput_price = 100000.0\n")).unwrap();
    let agents = "lariat,true {prompt}";
    // A request costs 6.50 dollars, so the second one reaches the limit of both processes together, but not that of the second.
    let child = fixture.spawn(&["race", "spend", "--agents", agents, "--check", "true", "--max-cost", "10"]);
    wait_for("the second request", || fixture.requests().len() >= 2);
    signal(&child, Signal::KILL);
    wait(child);
    is_killed.store(true, Ordering::Release);
    let json = fixture.run(&["race", "--resume", &race_id(&fixture), "--json"]).expect(0).json();
    assert_eq!(json["branches"]["a"]["problem"], "it reached the cost limit", "{json}");
    assert_eq!(json["selection"]["branch"], "b", "{json}");
}
