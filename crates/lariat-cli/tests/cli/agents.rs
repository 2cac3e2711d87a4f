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
