//! Tests sub-agents of the real program: the tool `agent`, definitions in files, trust, and a kill in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_proofs::server::{Answer, Request, Script, Turn};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result, read_journal, signal, silence, wait, wait_for};

/// Whether a request comes from a sub-agent.
fn is_child(request: &Request) -> bool {
    request.body["system"].to_string().contains("You are a sub-agent")
}

/// A script in which the session delegates once, and `child` answers for the sub-agent.
fn delegating(kind: &'static str, child: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Script {
    Script::answer(move |request| {
        if is_child(request) {
            return child(request);
        }
        match last_result(&request.body) {
            Some((_, text, _)) => Turn::new().text(format!("Report: {text}")).into(),
            None => {
                let task =
                    json!({"description": "look around", "prompt": "Find the tests.", "subagent_type": kind});
                Turn::new().call("c1", "agent", &task).into()
            }
        }
    })
}

fn tools(request: &Request) -> Vec<String> {
    let tools = request.body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Writes a definition into the project.
fn define(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.workspace().join(".claude/agents").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The session of the parent: the only one that spawned a sub-agent.
async fn parent_journal(fixture: &Fixture) -> Vec<Event> {
    let store = fixture.store().await.unwrap();
    let query = lariat_core::archive::ListQuery::default();
    for listed in lariat_core::archive::SessionArchive::list(&store, &query).await.unwrap() {
        let journal = read_journal(&store, &listed.session_id).await;
        if journal.iter().any(|event| matches!(event.event, AgentEvent::SubAgentSpawned { .. })) {
            return journal;
        }
    }
    panic!("no session started a sub-agent");
}

fn children(journal: &[Event]) -> Vec<SessionId> {
    let child = |event: &Event| match &event.event {
        AgentEvent::SubAgentSpawned { child_session_id, .. } => Some(child_session_id.clone()),
        _ => None,
    };
    journal.iter().filter_map(child).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn explore_reads_and_reports_and_cannot_write() {
    let write = json!({"path": "note.txt", "content": "x"});
    let fixture = Fixture::new(delegating("explore", move |request| match last_result(&request.body) {
        Some((_, text, is_error)) => Turn::new().text(format!("refused={is_error}: {text}")).into(),
        None => Turn::new().call("w1", "write_file", &write).into(),
    }))
    .await;
    let ran = fixture.run(&["run", "where are the tests?"]).expect(0);
    assert!(ran.stdout.contains("Report: refused=true"), "{}", ran.stdout);
    assert!(!fixture.workspace().join("note.txt").exists());
    let requests = fixture.requests();
    let child = requests.iter().find(|request| is_child(request)).unwrap();
    assert!(tools(child).contains(&"read_file".to_owned()), "{:?}", tools(child));
    assert!(!tools(child).iter().any(|tool| ["write_file", "edit_file", "agent"].contains(&tool.as_str())));
    assert!(child.body["messages"].to_string().contains("Find the tests."));
    assert!(!child.body["messages"].to_string().contains("where are the tests?"), "its own conversation");
    assert!(tools(&requests[0]).contains(&"agent".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_of_a_trusted_project_sets_prompt_tools_and_mode() {
    let fixture = Fixture::new(delegating("reviewer", |_| Turn::new().text("no mistakes").into())).await;
    define(
        &fixture,
        "reviewer.md",
        "---\nname: reviewer\ndescription: Reviews code.\ntools: Read, Edit\ndisallowedTools: Glob\n---\nYou review code.\n",
    );
    let listed = fixture.run(&["agents", "list", "--json"]).expect(0);
    let names = |listed: &Value| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&listed.json()), ["explore", "general"], "before the project is trusted");
    let untrusted = fixture.run(&["run", "review it"]).expect(0);
    assert!(untrusted.stdout.contains("no sub-agent is named `reviewer`"), "{}", untrusted.stdout);

    fixture.run(&["trust", "--yes"]).expect(0);
    let listed = fixture.run(&["agents", "list", "--json"]).expect(0).json();
    assert_eq!(names(&listed), ["explore", "general", "reviewer"]);
    let ran = fixture.run(&["run", "review it"]).expect(0);
    assert!(ran.stdout.contains("Report: no mistakes"), "{}", ran.stdout);
    let requests = fixture.requests();
    let child = requests.iter().find(|request| is_child(request)).unwrap();
    assert!(child.body["system"].to_string().contains("You review code."));
    let offered = tools(child);
    assert!(offered.contains(&"edit_file".to_owned()) && offered.contains(&"read_file".to_owned()));
    assert!(!offered.iter().any(|tool| ["bash", "glob", "agent"].contains(&tool.as_str())), "{offered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sub_agent_continues_after_a_kill_and_none_starts_twice() {
    let is_killed = Arc::new(AtomicBool::new(false));
    let after = Arc::clone(&is_killed);
    let write = json!({"path": "log.txt", "content": "once\n"});
    let fixture = Fixture::new(delegating("general", move |request| match last_result(&request.body) {
        None => Turn::new().call("w1", "write_file", &write).into(),
        Some(_) if after.load(Ordering::Acquire) => Turn::new().text("written").into(),
        Some(_) => silence(),
    }))
    .await;
    let child = fixture.spawn(&["run", "write the log"]);
    wait_for("the second request of the sub-agent", || {
        fixture.requests().iter().filter(|request| is_child(request)).count() >= 2
    });
    signal(&child, Signal::KILL);
    wait(child);
    is_killed.store(true, Ordering::Release);
    let ran = fixture.run(&["run", "--continue"]).expect(0);
    assert!(ran.stdout.contains("Report: written"), "{}", ran.stdout);
    let journal = parent_journal(&fixture).await;
    let children = children(&journal);
    assert_eq!(children.len(), 1, "one sub-agent");
    let store = fixture.store().await.unwrap();
    let child = read_journal(&store, &children[0]).await;
    let count = |kind: fn(&AgentEvent) -> bool| child.iter().filter(|event| kind(&event.event)).count();
    assert_eq!(count(|event| matches!(event, AgentEvent::AgentStart(_))), 1);
    assert_eq!(count(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })), 1, "no tool ran twice");
    assert_eq!(count(|event| matches!(event, AgentEvent::AgentEnd { .. })), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_of_a_sub_agent_reaches_the_session_and_is_shown() {
    let finding = json!({"text": "The tests are in spec/.", "files": ["spec/a.rb"]});
    let fixture = Fixture::new(delegating("explore", move |request| match last_result(&request.body) {
        None => Turn::new().call("f1", "share_finding", &finding).into(),
        Some((_, text, is_error)) => Turn::new().text(format!("error={is_error}: {text}")).into(),
    }))
    .await;
    let ran = fixture.run(&["run", "--output", "json", "where are the tests?"]).expect(0).json();
    assert!(ran.to_string().contains("error=false: Shared with the other agents."), "{ran}");
    let requests = fixture.requests();
    let (of_child, of_session): (Vec<_>, Vec<_>) = requests.iter().partition(|request| is_child(request));
    let can_share = |request: &Request| tools(request).contains(&"share_finding".to_owned());
    assert!(can_share(of_child[0]) && !can_share(of_session[0]));
    let sent = of_session[1].body["messages"].to_string();
    assert_eq!(sent.matches("The tests are in spec/.").count(), 1, "{sent}");
    assert!(sent.contains("<finding agent=\\\"explore\\\" files=\\\"spec/a.rb\\\">"), "{sent}");
    let id = ran["session_id"].as_str().unwrap();
    let shown = fixture.run(&["sessions", "show", id]).expect(0).stdout;
    assert!(shown.contains("(finding) <finding agent=\"explore\""), "{shown}");
    let tail = fixture.run(&["sessions", "tail", id]).expect(0).stdout;
    assert!(tail.contains("finding      explore: The tests are in spec/."), "{tail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sub_agent_whose_definition_disallows_it_shares_no_findings() {
    let fixture = Fixture::new(delegating("reviewer", |_| Turn::new().text("no mistakes").into())).await;
    define(
        &fixture,
        "reviewer.md",
        "---\nname: reviewer\ndescription: Reviews.\ndisallowedTools: share_finding\n---\nYou review code.\n",
    );
    fixture.run(&["trust", "--yes"]).expect(0);
    fixture.run(&["run", "review it"]).expect(0);
    let requests = fixture.requests();
    let child = requests.iter().find(|request| is_child(request)).unwrap();
    assert!(!tools(child).contains(&"share_finding".to_owned()), "{:?}", tools(child));
}

/// A script in which the session delegates once and works on until the report comes.
fn delegating_in_background(
    arguments: Value,
    child: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> Script {
    Script::answer(move |request| {
        if is_child(request) {
            return child(request);
        }
        let messages = request.body["messages"].to_string();
        match last_result(&request.body) {
            _ if messages.contains("<report ") => Turn::new().text(format!("The end: {messages}")).into(),
            Some(_) => Turn::new().text("waiting").into(),
            None => Turn::new().call("c1", "agent", &arguments).into(),
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn sub_agent_in_the_background_continues_after_a_kill_and_reports_once() {
    let is_killed = Arc::new(AtomicBool::new(false));
    let after = Arc::clone(&is_killed);
    let write = json!({"path": "log.txt", "content": "once\n"});
    let task = json!({"description": "log", "prompt": "Write the log.", "run_in_background": true});
    let fixture =
        Fixture::new(delegating_in_background(task, move |request| match last_result(&request.body) {
            None => Turn::new().call("w1", "write_file", &write).into(),
            Some(_) if after.load(Ordering::Acquire) => Turn::new().text("written").into(),
            Some(_) => silence(),
        }))
        .await;
    let child = fixture.spawn(&["run", "write the log"]);
    wait_for("the wait of the session", || {
        let requests = fixture.requests();
        let of_child = requests.iter().filter(|request| is_child(request)).count();
        of_child >= 2 && requests.len() - of_child >= 2
    });
    signal(&child, Signal::KILL);
    wait(child);
    is_killed.store(true, Ordering::Release);
    let ran = fixture.run(&["run", "--continue"]).expect(0);
    assert!(ran.stdout.contains("The end:") && ran.stdout.contains("written"), "{}", ran.stdout);
    let journal = parent_journal(&fixture).await;
    let children = children(&journal);
    assert_eq!(children.len(), 1, "one sub-agent");
    let queued =
        journal.iter().filter(|event| matches!(event.event, AgentEvent::MessageQueued { .. })).count();
    assert_eq!(queued, 1, "one report");
    let store = fixture.store().await.unwrap();
    let child = read_journal(&store, &children[0]).await;
    let count = |kind: fn(&AgentEvent) -> bool| child.iter().filter(|event| kind(&event.event)).count();
    assert_eq!(count(|event| matches!(event, AgentEvent::AgentStart(_))), 1);
    assert_eq!(count(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })), 1, "no tool ran twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_with_background_works_in_the_background() {
    let task = json!({"description": "watch", "prompt": "Watch it.", "subagent_type": "watcher"});
    let fixture =
        Fixture::new(delegating_in_background(task, |_| Turn::new().text("all quiet").into())).await;
    let definition = "---\nname: watcher\ndescription: Watches.\nbackground: true\n---\nYou watch.\n";
    define(&fixture, "watcher.md", definition);
    fixture.run(&["trust", "--yes"]).expect(0);
    let ran = fixture.run(&["run", "watch it"]).expect(0);
    assert!(ran.stdout.contains("The end:") && ran.stdout.contains("all quiet"), "{}", ran.stdout);
    let is_background =
        |event: &Event| matches!(event.event, AgentEvent::SubAgentSpawned { report: Some(_), .. });
    assert!(parent_journal(&fixture).await.iter().any(is_background));
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_undoes_what_only_a_sub_agent_changed() {
    for is_background in [false, true] {
        let write = json!({"path": "child.txt", "content": "text\n"});
        let fixture = Fixture::new(Script::answer(move |request| {
            let messages = request.body["messages"].to_string();
            match last_result(&request.body) {
                Some(_) => Turn::new().text("done").into(),
                None if is_child(request) => Turn::new().call("w1", "write_file", &write).into(),
                None if !messages.contains("delegate it") => Turn::new().text("hello").into(),
                None => {
                    let task =
                        json!({"description": "x", "prompt": "Write.", "run_in_background": is_background});
                    Turn::new().call("c1", "agent", &task).into()
                }
            }
        }))
        .await;
        fixture.run(&["run", "hello"]).expect(0);
        fixture.run(&["checkpoint", "before"]).expect(0);
        fixture.run(&["run", "--continue", "delegate it"]).expect(0);
        assert!(fixture.workspace().join("child.txt").exists());
        let restored = fixture.run(&["restore", "before", "--yes", "--json"]).expect(0).json();
        assert_eq!(restored["files"][0]["restored"], json!(["child.txt"]));
        assert!(!fixture.workspace().join("child.txt").exists());
    }
}

/// Runs a session that delegates once to a sub-agent of the project with these keys, and returns the requests of the sub-agent and
/// what the session printed.
async fn run_reviewer(
    keys: &str,
    child: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> (Fixture, Vec<Request>, String) {
    let fixture = Fixture::new(delegating("reviewer", child)).await;
    define(
        &fixture,
        "reviewer.md",
        &format!("---\ndescription: Reviews code.\n{keys}---\nYou review code.\n"),
    );
    let skill = fixture.workspace().join(".claude/skills/style");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: style\ndescription: How we write.\n---\nShort names.\n",
    )
    .unwrap();
    fixture.run(&["trust", "--yes"]).expect(0);
    let ran = fixture.run(&["run", "review it"]).expect(0).stdout;
    let requests = fixture.requests().into_iter().filter(is_child).collect();
    (fixture, requests, ran)
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_sets_the_model_and_the_skills() {
    let done = |_: &Request| -> Answer { Turn::new().text("no mistakes").into() };
    let (fixture, requests, _) = run_reviewer("model: test/other\nskills: style\n", done).await;
    assert_eq!(requests[0].body["model"], "other");
    let session = fixture.requests().into_iter().find(|request| !is_child(request)).unwrap();
    assert_eq!(session.body["model"], "scripted");
    let system = requests[0].body["system"].to_string();
    let skill = fixture.workspace().join(".claude/skills/style/SKILL.md");
    assert!(
        system.contains("read the skill `style` at") && system.contains(skill.to_str().unwrap()),
        "{system}"
    );
    let (_, requests, _) = run_reviewer("model: inherit\n", done).await;
    assert_eq!(requests[0].body["model"], "scripted");
    assert!(!requests[0].body["system"].to_string().contains("read the skill"));
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_sets_the_permission_mode() {
    let write = json!({"path": "note.txt", "content": "x"});
    let child = move |request: &Request| match last_result(&request.body) {
        Some((_, text, is_error)) => Turn::new().text(format!("refused={is_error}: {text}")).into(),
        None => Turn::new().call("w1", "write_file", &write).into(),
    };
    let (fixture, _, ran) = run_reviewer("permissionMode: plan\n", child.clone()).await;
    assert!(ran.contains("refused=true"), "{ran}");
    assert!(!fixture.workspace().join("note.txt").exists(), "the session may write, the sub-agent may not");
    let (fixture, _, ran) = run_reviewer("", child).await;
    assert!(ran.contains("refused=false") && fixture.workspace().join("note.txt").exists(), "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_sets_the_number_of_turns() {
    let child = |request: &Request| {
        let count = request.body["messages"].to_string().matches("\"tool_result\"").count();
        let arguments = json!({"path": format!("missing-{count}.txt")});
        Turn::new().call(format!("r{count}"), "read_file", &arguments).into()
    };
    let (_, requests, ran) = run_reviewer("maxTurns: 2\n", child).await;
    assert_eq!(requests.len(), 2, "{ran}");
    assert!(ran.contains("the sub-agent `reviewer` has no answer: a limit is reached"), "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_the_user_apply_without_trust_in_the_project() {
    let fixture = Fixture::new(delegating("mine", |_| Turn::new().text("mine").into())).await;
    let home = fixture.path(".claude/agents");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("mine.md"), "---\ndescription: Mine.\n---\nYou are mine.\n").unwrap();
    let ran = fixture.run(&["run", "delegate it"]).expect(0).stdout;
    assert!(ran.contains("Report: mine"), "{ran}");
    let requests = fixture.requests();
    let child = requests.iter().find(|request| is_child(request)).unwrap();
    assert!(child.body["system"].to_string().contains("You are mine."));
}

#[tokio::test(flavor = "multi_thread")]
async fn undo_reverts_one_of_two_calls_with_the_same_id() {
    // Some models number their calls from the start in each conversation.
    let fixture = Fixture::new(Script::answer(|request| {
        let write = |path: &str| {
            let arguments = json!({"path": path, "content": "text\n"});
            Turn::new().call("call_0", "write_file", &arguments).into()
        };
        let results = request.body["messages"].to_string().matches("\"tool_result\"").count();
        match (is_child(request), results) {
            (true, 0) => write("child.txt"),
            (false, 0) => write("parent.txt"),
            (false, 1) => {
                Turn::new().call("call_1", "agent", &json!({"description": "x", "prompt": "Write."})).into()
            }
            _ => Turn::new().text("done").into(),
        }
    }))
    .await;
    fixture.run(&["run", "write both"]).expect(0);
    let exists = |name: &str| fixture.workspace().join(name).exists();
    let listed = fixture.run(&["undo", "--list", "--json"]).expect(0).json();
    assert_eq!(
        (&listed[0]["call"], &listed[0]["paths"]),
        (&json!("call_0"), &json!(["parent.txt"])),
        "{listed}"
    );
    assert_eq!(listed[0]["prompt"], "write both", "{listed}");
    assert_eq!(listed[1]["paths"], json!(["child.txt"]), "{listed}");
    fixture.run(&["undo", "--yes"]).expect(0);
    assert!(exists("parent.txt") && !exists("child.txt"), "the last call is undone, and no other");
    fixture.run(&["undo", listed[0]["call"].as_str().unwrap(), "--yes"]).expect(0);
    assert!(!exists("parent.txt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rewind_names_what_only_a_sub_agent_changed() {
    let write = json!({"path": "child.txt", "content": "text\n"});
    let fixture = Fixture::new(delegating("general", move |request| match last_result(&request.body) {
        None => Turn::new().call("w1", "write_file", &write).into(),
        Some(_) => Turn::new().text("written").into(),
    }))
    .await;
    let ran = fixture.run(&["run", "--output", "json", "write it"]).expect(0).json();
    let id = ran["session_id"].as_str().unwrap();
    let rewound = fixture.run(&["sessions", "rewind", id, "--yes", "--json"]).expect(0).json();
    assert_eq!(rewound["undo"][0]["paths"], json!(["child.txt"]), "{rewound}");
    let call = rewound["undo"][0]["call"].as_str().unwrap();
    fixture.run(&["undo", call, "--yes"]).expect(0);
    assert!(!fixture.workspace().join("child.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_codes_name_of_the_general_sub_agent_is_known() {
    let fixture = Fixture::new(delegating("general-purpose", |_| Turn::new().text("done").into())).await;
    let ran = fixture.run(&["run", "delegate it"]).expect(0).stdout;
    assert!(ran.contains("Report: done"), "{ran}");
}
