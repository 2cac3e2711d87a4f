//! Tests the commands that change the state of one session: plan, compact, pin, checkpoint, restore, budget, goals.

use lariat_proofs::engine::Claims;
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result, text, wait_for};

fn has(fixture: &Fixture, name: &str) -> bool {
    fixture.workspace().join(name).exists()
}

/// A script that plans two files and then reports.
fn planning() -> Script {
    let file =
        |path: &str| json!({ "tool": "write_file", "arguments": { "path": path, "content": "# New\n" } });
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new()
            .call("toolu_1", "plan_change", &file("a.md"))
            .call("toolu_2", "plan_change", &file("b.md"))
            .into(),
        Some(_) => Turn::new().text("So it is.").into(),
    })
}

/// The id of the newest session.
fn newest(fixture: &Fixture) -> String {
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    listed[0]["session_id"].as_str().unwrap().to_owned()
}

/// The ids and texts of the messages of the newest session.
fn messages(fixture: &Fixture) -> Vec<(String, String)> {
    let shown = fixture.run(&["sessions", "show", "--json"]).expect(0).json();
    let messages = shown["messages"].as_array().unwrap().clone();
    messages
        .iter()
        .map(|message| (message["id"].as_str().unwrap().to_owned(), text(&message["content"])))
        .collect()
}

/// The id of the message whose text contains these words.
fn message_with(fixture: &Fixture, words: &str) -> String {
    let all = messages(fixture);
    let found = all.iter().find(|(_, text)| text.contains(words));
    found.unwrap_or_else(|| panic!("no message contains {words}: {all:?}")).0.clone()
}

fn last_request(fixture: &Fixture) -> Value {
    fixture.requests().last().unwrap().body.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_show_lists_queued_changes_with_diffs() {
    let fixture = Fixture::new(planning()).await;
    fixture.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    let shown = fixture.run(&["plan", "show"]).expect(0);
    assert!(shown.stdout.contains("1. write_file") && shown.stdout.contains("b.md"), "{}", shown.stdout);
    assert!(shown.stdout.contains("+# New") || shown.stdout.contains("+ # New"), "{}", shown.stdout);
    assert!(shown.stderr.contains("2 changes are queued"), "{}", shown.stderr);
    let listed = fixture.run(&["plan", "show", &newest(&fixture), "--json"]).expect(0).json();
    assert_eq!(listed["changes"][1]["id"], "toolu_2");
    assert_eq!(
        (&listed["changes"][1]["number"], &listed["changes"][1]["tool"]),
        (&json!(2), &json!("write_file"))
    );
    assert!(listed["changes"][0]["preview"].as_str().unwrap().contains("+# New"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_approve_applies_only_named_changes() {
    let fixture = Fixture::new(planning()).await;
    fixture.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    let approved = fixture.run(&["plan", "approve", "2"]).expect(0);
    assert!(approved.stdout.contains("So it is."), "{approved:?}");
    assert!(approved.stderr.contains("1 change is planned, but not applied"), "{approved:?}");
    assert!(has(&fixture, "b.md") && !has(&fixture, "a.md"));
    let rest = fixture.run(&["plan", "show", "--json"]).expect(0).json();
    assert_eq!(rest["changes"].as_array().unwrap().len(), 1, "{rest}");
    assert_eq!(rest["changes"][0]["id"], "toolu_1");
    let ended = fixture.run(&["plan", "approve", "--json"]).expect(0).json();
    assert_eq!(ended["result"], "So it is.");
    assert!(has(&fixture, "a.md"));
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_reject_discards_named_changes_without_a_model() {
    let fixture = Fixture::new(planning()).await;
    fixture.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    let requests = fixture.requests().len();
    let rejected = fixture.run(&["plan", "reject", &newest(&fixture), "toolu_1", "--json"]).expect(0).json();
    assert_eq!((&rejected["rejected"], &rejected["queued"]), (&json!(["toolu_1"]), &json!(1)));
    let said = fixture.run(&["plan", "reject"]).expect(0).stderr;
    assert!(said.contains("rejected 1 change; 0 still queued"), "{said}");
    assert_eq!(fixture.requests().len(), requests, "rejecting asks no model");
    assert!(!has(&fixture, "a.md") && !has(&fixture, "b.md"));
    let shown = fixture.run(&["plan", "show"]).expect(0);
    assert!(shown.stderr.contains("no queued changes"), "{}", shown.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_errors_name_the_next_step() {
    let fixture = Fixture::new(planning()).await;
    let none = fixture.run(&["plan", "show"]).expect(6).stderr;
    assert!(none.contains("no session to continue") && none.contains("hint:"), "{none}");
    fixture.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    let unknown = fixture.run(&["plan", "approve", "3"]).expect(2).stderr;
    assert!(
        unknown.contains("the plan has no change `3`") && unknown.contains("lariat plan show"),
        "{unknown}"
    );
    assert!(!has(&fixture, "a.md"));
    fixture.run(&["plan", "reject"]).expect(0);
    let empty = fixture.run(&["plan", "approve"]).expect(1).stderr;
    assert!(empty.contains("no queued changes") && empty.contains("--mode plan"), "{empty}");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_another_process_is_refused_with_a_hint() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    fixture.run(&["run", r#"!say "Begin.""#]).expect(0);
    let (id, message) = (newest(&fixture), message_with(&fixture, "Begin."));
    let before = fixture.requests().len();
    let mut child = fixture.spawn(&["run", "--continue", "!silence"]);
    wait_for("the request", || fixture.requests().len() > before);
    for args in [
        &["pin", &id, &message][..],
        &["plan", "show"],
        &["plan", "reject"],
        &["compact", "--undo"],
        &["checkpoint", "here"],
        &["budget", "extend", "--cost", "1"],
        &["goals", "add", "anything"],
        &["sessions", "remove-message", &id, &message, "--yes"],
    ] {
        let said = fixture.run(args).expect(6).stderr;
        assert!(
            said.contains("open elsewhere") && said.contains("hint: wait for the other process"),
            "{said}"
        );
    }
    fixture.run(&["budget", "show"]).expect(0);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = fixture.run(&["checkpoint", "here"]).expect(6).stderr;
    assert!(said.contains("interrupted run") && said.contains("lariat run --resume"), "{said}");
}

/// A model that reads a large file once per prompt.
async fn with_large_results() -> Fixture {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let lines: String =
        (0..400).map(|line| format!("line {line} of a file that fills the context\n")).collect();
    for name in ["one.txt", "two.txt", "three.txt", "four.txt", "five.txt", "six.txt"] {
        fixture.write(name, &lines);
        let call = format!(r#"!call read_file {{"path":"{name}"}}"#);
        let resume: &[&str] = if name == "one.txt" { &["run", &call] } else { &["run", "--continue", &call] };
        fixture.run(resume).expect(0);
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn compact_previews_shrinks_and_can_be_undone() {
    let fixture = with_large_results().await;
    let before = messages(&fixture);
    let preview = fixture.run(&["compact", "--preview", "--json"]).expect(0).json();
    assert_eq!(preview["compacted"], false);
    assert!(preview["tokens_after"].as_u64() < preview["tokens_before"].as_u64(), "{preview}");
    assert_eq!(messages(&fixture), before, "a preview changes nothing");
    let compacted = fixture.run(&["compact", "--focus", "keep the line numbers"]).expect(0);
    assert!(compacted.stderr.contains("--undo"), "{compacted:?}");
    assert_ne!(messages(&fixture), before);
    let undone = fixture.run(&["compact", "--undo", "--json"]).expect(0).json();
    assert_eq!(undone["undone"], true);
    assert_eq!(messages(&fixture), before);
    let nothing = fixture.run(&["compact", "--undo"]).expect(1).stderr;
    assert!(nothing.contains("no compaction to undo") && nothing.contains("hint:"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_message_survives_compaction() {
    let fixture = with_large_results().await;
    let id = newest(&fixture);
    let large = |fixture: &Fixture| {
        let all = messages(fixture);
        all.into_iter().filter(|(_, text)| text.contains("line 399")).map(|(id, _)| id).collect::<Vec<_>>()
    };
    let first = large(&fixture)[0].clone();
    let pinned = fixture.run(&["pin", &id, &first, "--json"]).expect(0).json();
    assert_eq!((&pinned["pinned"], &pinned["pins"]), (&json!(true), &json!([first])));
    fixture.run(&["compact"]).expect(0);
    assert!(large(&fixture).contains(&first));
    let unpinned = fixture.run(&["unpin", &id, &first, "--json"]).expect(0).json();
    assert_eq!((&unpinned["pinned"], &unpinned["pins"]), (&json!(false), &json!([])));
    let unknown = fixture.run(&["pin", &id, "zzz"]).expect(2).stderr;
    assert!(unknown.contains("no message id") && unknown.contains("lariat sessions show"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_message_is_not_sent_and_takes_its_results_along() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    fixture.write("secret.txt", "the password is swordfish\n");
    fixture.run(&["run", r#"!call read_file {"path":"secret.txt"}"#]).expect(0);
    let (id, result) = (newest(&fixture), message_with(&fixture, "swordfish"));
    let refused = fixture.run(&["sessions", "remove-message", &id, &result]).expect(2).stderr;
    assert!(refused.contains("read_file") && refused.contains("--yes"), "{refused}");
    let removed =
        fixture.run(&["sessions", "remove-message", &id, &result, "--yes", "--json"]).expect(0).json();
    assert_eq!(removed["removed"], true);
    assert_eq!(removed["messages"].as_array().unwrap().len(), 2, "the reply and its result: {removed}");
    fixture.run(&["run", "--continue", r#"!say "Hello.""#]).expect(0);
    let sent = last_request(&fixture)["messages"].to_string();
    assert!(!sent.contains("tool_result") && !sent.contains("tool_use"), "{sent}");
    fixture.run(&["sessions", "verify", &id]).expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_a_compaction_cannot_be_removed() {
    let fixture = with_large_results().await;
    let id = newest(&fixture);
    fixture.run(&["compact"]).expect(0);
    let compacted = messages(&fixture);
    let mut refused = 0;
    // The newest message first: removing it never concerns the compaction of older ones.
    for (message, _) in compacted.iter().rev() {
        let before = messages(&fixture);
        let ran = fixture.run(&["sessions", "remove-message", &id, message, "--yes"]);
        if ran.code == Some(1) {
            assert!(ran.stderr.contains("a compaction refers to this message"), "{ran:?}");
            assert!(ran.stderr.contains("--undo"), "{ran:?}");
            assert_eq!(messages(&fixture), before);
            refused += 1;
        }
    }
    assert!(refused > 0, "{compacted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_returns_conversation_and_files_to_a_checkpoint() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let write = |path: &str| format!(r#"!call write_file {{"path":"{path}","content":"text\n"}}"#);
    fixture.run(&["run", &write("kept.txt")]).expect(0);
    let made = fixture.run(&["checkpoint", "before", "--json"]).expect(0).json();
    assert_eq!(made["label"], "before");
    let before = messages(&fixture);
    fixture.run(&["run", "--continue", &write("later.txt")]).expect(0);
    let listed = fixture.run(&["checkpoint", "--list"]).expect(0).stdout;
    assert!(listed.contains("before"), "{listed}");
    let asked = fixture.run(&["restore", "before"]).expect(2).stderr;
    assert!(
        asked.contains("drops") && asked.contains("remove later.txt") && asked.contains("--yes"),
        "{asked}"
    );
    assert!(has(&fixture, "later.txt"));
    let restored = fixture.run(&["restore", "before", "--yes", "--json"]).expect(0).json();
    assert_eq!(restored["restored"], true);
    assert_eq!(restored["files"][0]["restored"], json!(["later.txt"]));
    assert!(has(&fixture, "kept.txt") && !has(&fixture, "later.txt"));
    assert_eq!(messages(&fixture), before);
    let again = fixture.run(&["restore", "before", "--yes"]).expect(0).stderr;
    assert!(again.contains("nothing to restore"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_record_checkpoints_unless_the_setting_is_off() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let labels = || -> Vec<String> {
        let listed = fixture.run(&["checkpoint", "--list", "--json"]).expect(0).json();
        listed.as_array().unwrap().iter().map(|entry| entry["label"].as_str().unwrap().to_owned()).collect()
    };
    let tasks =
        |status: &str| format!(r#"!call todo {{"items":[{{"content":"write it","status":"{status}"}}]}}"#);
    fixture.run(&["run", r#"!say "Begin.""#]).expect(0);
    let before = messages(&fixture);
    fixture.run(&["run", "--continue", &tasks("in_progress")]).expect(0);
    fixture.run(&["run", "--continue", &tasks("completed")]).expect(0);
    assert_eq!(labels(), ["auto/run-0", "auto/run-1", "auto/task/write it", "auto/run-2"]);
    fixture.run(&["restore", "auto/run-0", "--yes"]).expect(0);
    assert_eq!(messages(&fixture), before);
    fixture.run(&["restore", "auto/task/write it", "--conversation", "--yes"]).expect(0);
    fixture.run(&["run", "--continue", r#"!say "Go on.""#]).expect(0);
    let reserved = fixture.run(&["checkpoint", "auto/mine"]).expect(2).stderr;
    assert!(reserved.contains("automatic checkpoints"), "{reserved}");

    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("{base}\n[undo]\ncheckpoints = false\n")).unwrap();
    let known = labels();
    fixture.run(&["run", "--continue", r#"!say "Again.""#]).expect(0);
    assert_eq!(labels(), known);
}

#[tokio::test(flavor = "multi_thread")]
async fn rerun_starts_again_from_the_prompt_of_a_run() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    fixture.run(&["run", r#"!say "First.""#]).expect(0);
    let first = messages(&fixture);
    fixture.run(&["run", "--continue", r#"!say "Second.""#]).expect(0);
    let second = messages(&fixture);
    assert!(fixture.run(&["run", "--continue", "--rerun"]).expect(0).stdout.contains("Second."));
    assert_eq!(
        messages(&fixture).len(),
        second.len(),
        "the earlier reply is no longer part of the conversation"
    );
    assert!(fixture.run(&["run", "--continue", "--rerun=0"]).expect(0).stdout.contains("First."));
    assert_eq!(messages(&fixture).len(), first.len());
    let unknown = fixture.run(&["run", "--continue", "--rerun=99"]).stderr;
    assert!(unknown.contains("no run 99"), "{unknown}");
    fixture.run(&["run", "--continue", "--rerun", "with a prompt"]).expect(2);
    fixture.run(&["run", "--rerun"]).expect(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_shows_the_figures_of_each_turn_and_tool_call() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    fixture.run(&["run", r#"!call write_file {"path":"a.txt","content":"x\n"}"#]).expect(0);
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    let id = listed[0]["session_id"].as_str().unwrap();
    let figures = fixture.run(&["sessions", "cost", id, "--turns", "--json"]).expect(0).json();
    let names: Vec<&str> =
        figures.as_array().unwrap().iter().map(|figure| figure["name"].as_str().unwrap()).collect();
    assert!(names.starts_with(&["insight.tool", "insight.tokens", "insight.context"]), "{names:?}");
    assert!(figures[0]["bytes"].as_u64().unwrap() > 0, "{figures}");
    let table = fixture.run(&["sessions", "cost", id, "--turns"]).expect(0).stdout;
    assert!(table.contains("turn 1") && table.contains("write_file"), "{table}");
    fixture.run(&["sessions", "cost", "--turns"]).expect(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_another_session_is_changing_is_not_changed() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let write = r#"!call write_file {"path":"shared.txt","content":"mine\n"}"#;
    // Another process of the same user, with a session that changed the file a moment ago.
    let other = Claims::shared(fixture.path("state/lariat/claims"));
    let path = std::fs::canonicalize(fixture.workspace()).unwrap().join("shared.txt");
    drop(other.take("other-session", vec![path]).unwrap());
    fixture.run(&["run", write]);
    assert!(!has(&fixture, "shared.txt"));
    let told = messages(&fixture)
        .into_iter()
        .any(|(_, text)| text.contains("is being changed by another agent (session other-session"));
    assert!(told, "{:?}", messages(&fixture));
    // The other process ends; its claims end with it.
    drop(other);
    fixture.run(&["run", write]).expect(0);
    assert!(has(&fixture, "shared.txt"));
    // So do the claims of the last run.
    fixture.run(&["run", r#"!call read_file {"path":"shared.txt"}"#]).expect(0);
    let again = Claims::shared(fixture.path("state/lariat/claims"));
    let path = std::fs::canonicalize(fixture.workspace()).unwrap().join("shared.txt");
    drop(again.take("other-session", vec![path]).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_can_be_limited_to_conversation_or_files() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    fixture.run(&["run", r#"!say "Begin.""#]).expect(0);
    fixture.run(&["checkpoint"]).expect(0);
    let before = messages(&fixture);
    fixture.run(&["run", "--continue", r#"!call write_file {"path":"new.txt","content":"x\n"}"#]).expect(0);
    let after = messages(&fixture);
    let files = fixture.run(&["restore", "checkpoint-1", "--files", "--yes", "--json"]).expect(0).json();
    assert_eq!(files["conversation"], Value::Null);
    assert!(!has(&fixture, "new.txt"));
    assert_eq!(messages(&fixture), after);
    let talk =
        fixture.run(&["restore", "checkpoint-1", "--conversation", "--yes", "--json"]).expect(0).json();
    assert_eq!(talk["files"], Value::Null);
    assert_eq!(messages(&fixture), before);
    let unknown = fixture.run(&["restore", "nowhere"]).expect(2).stderr;
    assert!(unknown.contains("no checkpoint `nowhere`") && unknown.contains("--list"), "{unknown}");
    let both = fixture.run(&["restore", "checkpoint-1", "--files", "--conversation"]).expect(2).stderr;
    assert!(both.contains("cannot be used with"), "{both}");
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_extension_lets_a_session_continue() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let settings = fixture.path("config/lariat/config.toml");
    let base = std::fs::read_to_string(&settings).unwrap();
    let prices = "input_price = 1000.0\noutput_price = 1000.0\n[budget]\nsession = 0.001\n";
    fixture.run(&["run", r#"!say "First.""#]).expect(0);
    std::fs::write(&settings, format!("{base}{prices}")).unwrap();
    fixture.run(&["run", "--continue", r#"!say "Second.""#]);
    fixture.run(&["run", "--continue", r#"!say "Third.""#]).expect(5);
    let shown = fixture.run(&["budget", "show"]).expect(0).stdout;
    assert!(shown.contains("SESSION") && shown.contains("cost"), "{shown}");
    let extended = fixture.run(&["budget", "extend", "--cost", "50", "--json"]).expect(0).json();
    assert_eq!(extended["extended_by"]["cost"], json!(50_000_000_000_u64), "{extended}");
    assert_eq!(extended["session"]["cost"], json!(50_001_000_000_u64), "{extended}");
    let third = fixture.run(&["run", "--continue", r#"!say "Third.""#]).expect(0);
    assert!(third.stdout.contains("Third."), "{third:?}");
    for wrong in [&["budget", "extend"][..], &["budget", "extend", "--cost", "-1"]] {
        let said = fixture.run(wrong).expect(2).stderr;
        assert!(said.contains("lariat budget extend --cost 2.50"), "{said}");
    }
    let noted = fixture.run(&["budget", "extend", "--tokens", "5"]).expect(0).stderr;
    assert!(noted.contains("do not limit the tokens"), "{noted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn goals_can_be_set_reached_and_dropped() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let without = fixture.run(&["goals", "add", "anything"]).expect(6).stderr;
    assert!(without.contains("hint:"), "{without}");
    fixture.run(&["run", r#"!say "Begin.""#]).expect(0);
    let added = fixture.run(&["goals", "add", "all", "tests", "pass", "--json"]).expect(0).json();
    assert_eq!((&added["text"], &added["status"]), (&json!("all tests pass"), &json!("active")));
    let other = fixture.run(&["goals", "add", "fewer lines", "--json"]).expect(0).json();
    let id = |goal: &Value| goal["goal_id"].as_str().unwrap().to_owned();
    assert!(fixture.run(&["goals"]).expect(0).stdout.contains("all tests pass"));
    fixture.run(&["goals", "done", &id(&added)]).expect(0);
    fixture.run(&["goals", "drop", &id(&other)]).expect(0);
    assert_eq!(fixture.run(&["goals", "list", "--json"]).expect(0).json(), json!([]));
    let all = fixture.run(&["goals", "list", "--all"]).expect(0).stdout;
    assert!(all.contains("done") && all.contains("dropped"), "{all}");
    let unknown = fixture.run(&["goals", "done", "zzz"]).expect(2).stderr;
    assert!(unknown.contains("no goal id starts with `zzz`") && unknown.contains("--all"), "{unknown}");
}
