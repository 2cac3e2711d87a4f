//! Tests `lariat memory`, that sessions receive what the user approved and nothing else, and the advice for large tasks.

use std::os::unix::fs::PermissionsExt as _;

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result};

/// A model that calls a tool once and then repeats its result.
async fn calling(tool: &'static str, arguments: Value) -> Fixture {
    Fixture::new(Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &arguments).into(),
        Some((_, said, _)) => Turn::new().text(format!("It says: {said}")).into(),
    }))
    .await
}

async fn silent() -> Fixture {
    Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await
}

/// The system prompt of the last request.
fn system(fixture: &Fixture) -> String {
    fixture.requests().last().unwrap().body["system"].to_string()
}

fn entries(fixture: &Fixture) -> Vec<Value> {
    fixture.run(&["memory", "list", "--json"]).expect(0).json()["entries"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_entries_are_in_the_prompt_of_later_sessions() {
    let fixture = silent().await;
    fixture.run(&["memory", "add", "Tests run with nextest."]).expect(0);
    let goal = fixture.run(&["memory", "add", "--kind", "goal", "--json", "Release 1.0"]).expect(0).json();
    fixture.run(&["run", "go"]).expect(0);
    let sent = system(&fixture);
    assert!(sent.contains("Tests run with nextest.") && sent.contains("goal: Release 1.0"), "{sent}");
    let id = goal["id"].as_str().unwrap();
    fixture.run(&["memory", "done", id]).expect(0);
    fixture.run(&["run", "go"]).expect(0);
    let sent = system(&fixture);
    assert!(sent.contains("nextest") && !sent.contains("Release 1.0"), "{sent}");
    let shown = fixture.run(&["memory", "show", id, "--json"]).expect(0).json();
    assert_eq!((&shown["status"], &shown["source"]), (&json!("done"), &json!("user")));
}

#[tokio::test(flavor = "multi_thread")]
async fn proposal_of_a_model_waits_for_the_users_approval() {
    let fixture = calling("learn", json!({ "text": "Always push to main." })).await;
    let ran = fixture.run(&["run", "read the page"]).expect(0);
    assert!(ran.stdout.contains("lariat memory approve"), "{}", ran.stdout);
    let proposed = entries(&fixture);
    assert_eq!((&proposed[0]["status"], &proposed[0]["source"]), (&json!("proposed"), &json!("model")));
    assert!(proposed[0]["session_id"].is_string());
    fixture.run(&["run", "again"]).expect(0);
    assert!(!system(&fixture).contains("Always push to main."), "an unapproved proposal is in the prompt");
    let id = proposed[0]["id"].as_str().unwrap();
    fixture.run(&["memory", "approve", id]).expect(0);
    fixture.run(&["run", "again"]).expect(0);
    assert!(system(&fixture).contains("Always push to main."));
    let removed = fixture.run(&["memory", "remove", "--json", id]).expect(0).json();
    assert_eq!(removed[0]["id"], id);
    assert!(entries(&fixture).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_failures_become_a_proposal() {
    let fixture = Fixture::new(Script::answer(|request| {
        let results = request.body["messages"].to_string().matches("\"tool_result\"").count();
        match results {
            0..4 => Turn::new()
                .call(format!("toolu_{results}"), "read_file", &json!({ "path": "no-such-file" }))
                .into(),
            _ => Turn::new().text("I give up.").into(),
        }
    }))
    .await;
    fixture.run(&["run", "try it"]).expect(0);
    let proposed = entries(&fixture);
    assert_eq!(proposed.len(), 1, "{proposed:?}");
    assert_eq!((&proposed[0]["status"], &proposed[0]["source"]), (&json!("proposed"), &json!("failure")));
    assert!(
        proposed[0]["text"].as_str().unwrap().contains("`read_file` `no-such-file` failed repeatedly"),
        "{proposed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_is_off_reaches_no_prompt_and_offers_no_tool() {
    let fixture = silent().await;
    fixture.run(&["memory", "add", "Remember me."]).expect(0);
    let tools = |fixture: &Fixture| fixture.requests().last().unwrap().body["tools"].to_string();
    fixture.run(&["run", "go"]).expect(0);
    assert!(tools(&fixture).contains("\"learn\"") && tools(&fixture).contains("\"past_sessions\""));
    fixture.run(&["memory", "off"]).expect(0);
    fixture.run(&["run", "go"]).expect(0);
    assert!(!system(&fixture).contains("Remember me.") && !tools(&fixture).contains("\"learn\""));
    assert_eq!(fixture.run(&["memory", "on", "--json"]).expect(0).json()["enabled"], true);
    let without = |name: &str, value: &str| {
        let output = fixture.command(&["run", "go"]).env(name, value).output().unwrap();
        assert!(output.status.success(), "{name}");
        assert!(!system(&fixture).contains("Remember me."), "{name}");
    };
    without("LARIAT_MEMORY__ENABLED", "false");
    without("LARIAT_MEMORY__TOKENS", "0");
    fixture.run(&["run", "go"]).expect(0);
    assert!(system(&fixture).contains("Remember me."));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_file_is_private_and_a_damaged_one_reaches_no_prompt() {
    let fixture = silent().await;
    fixture.run(&["memory", "add", "Remember me."]).expect(0);
    let path = fixture.run(&["memory", "path"]).expect(0).stdout.trim().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"approved\"", "\"aproved\"")).unwrap();
    let ran = fixture.run(&["run", "go"]).expect(0);
    assert!(ran.stderr.contains("memory is off"), "{}", ran.stderr);
    assert!(!system(&fixture).contains("Remember me."));
    let listed = fixture.run(&["memory", "list"]).expect(3);
    assert!(listed.stderr.contains("damaged"), "{}", listed.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_sessions_are_found_by_words() {
    let fixture = calling("past_sessions", json!({ "query": "zebra crossing" })).await;
    fixture.run(&["run", "Paint the ZEBRA at the crossing."]).expect(0);
    let ran = fixture.run(&["run", "What did we paint?"]).expect(0);
    assert!(ran.stdout.contains("Paint the ZEBRA at the crossing."), "{}", ran.stdout);
    let found = fixture.run(&["memory", "search", "--json", "zebra"]).expect(0).json();
    let passages = found.to_string();
    assert!(passages.contains("Paint the ZEBRA"), "{passages}");
    let none = fixture.run(&["memory", "search", "giraffe"]).expect(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("no session"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_id_and_empty_text_are_errors_with_hints() {
    let fixture = silent().await;
    let ran = fixture.run(&["memory", "approve", "nothing"]).expect(2);
    assert!(
        ran.stderr.contains("no entry `nothing`") && ran.stderr.contains("lariat memory list"),
        "{}",
        ran.stderr
    );
    fixture.run(&["memory", "add", " "]).expect(2);
    let id = fixture.run(&["memory", "add", "--json", "A fact."]).expect(0).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let ran = fixture.run(&["memory", "done", &id]).expect(2);
    assert!(ran.stderr.contains("is not a goal"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_task_comes_with_advice_unless_the_setting_is_off() {
    let fixture = silent().await;
    let large = "Do this:\n- one\n- two\n- three\n- four";
    for (prompt, setting, is_advised) in
        [(large, "true", true), (large, "false", false), ("hi", "true", false)]
    {
        let output =
            fixture.command(&["run", prompt]).env("LARIAT_CONTEXT__GUIDANCE", setting).output().unwrap();
        assert!(output.status.success());
        let sent = fixture.requests().last().unwrap().body["messages"].to_string();
        assert_eq!(sent.contains("This task looks large (4 listed steps"), is_advised, "{prompt}: {sent}");
    }
}
