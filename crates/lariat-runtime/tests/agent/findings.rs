//! Findings: what one agent of a tree shares reaches the others once, also after a crash at any append, and within limits.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::{AgentEvent, Event, Finding, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::model::StreamConfig;
use lariat_core::session::SessionFold;
use lariat_core::store::SessionStore;
use lariat_runtime::{Agent, AgentBuilder, MemoryStore, SubAgent, SubAgentTool};
use lariat_test::{Act, Fault, FaultyStore, Reply, ScriptedModel};
use serde_json::json;

use super::fixture::{Fixture, formatted, journal, sent_messages};

const FACT: &str = "The parser drops a trailing comma.";
/// Time of a turn of the helper. The finder needs less.
const TURN: Duration = Duration::from_secs(5);
/// Longer than any run of these tests.
const NEVER: Duration = Duration::from_secs(3_600);

/// The first line of the conversation, and the number of tool results in it.
fn progress(request: &StreamConfig) -> (String, usize) {
    let messages: Vec<_> = request.messages.iter().collect();
    let results = messages.iter().filter(|message| message.as_tool_result().is_some()).count();
    (messages.first().map(|message| formatted(message)).unwrap_or_default(), results)
}

/// Whether a result says that the finding is shared.
fn has_shared(request: &StreamConfig) -> bool {
    sent_messages(request).iter().any(|text| text.contains("Shared with the other agents."))
}

fn delegate(id: &str, tool: &str) -> (String, String, serde_json::Value) {
    (id.to_owned(), tool.to_owned(), json!({"task": tool}))
}

/// The session starts a finder and a helper, and then a later sub-agent. The finder shares one finding.
fn script(request: &StreamConfig) -> Reply {
    match progress(request) {
        (first, 0) if first == "user: go" => {
            Reply::calls([delegate("c1", "finder"), delegate("c2", "helper")])
        }
        (first, 2) if first == "user: go" => Reply::calls([delegate("c3", "later")]),
        // A call that a crash interrupted is made again.
        (first, done) if first == "user: finder" && !has_shared(request) => {
            let finding = json!({"text": FACT, "files": ["src/parse.rs"]});
            Reply::text("looking").then_wait(TURN / 5).then_call(format!("f{done}"), "share_finding", finding)
        }
        (first, done) if first == "user: helper" && done < 3 => {
            Reply::text("thinking").then_wait(TURN).then_call(format!("l{done}"), "look", json!({"n": done}))
        }
        (first, _) => Reply::text(format!("end of {first}")),
    }
}

fn tree(fixture: &Fixture, store: Arc<dyn SessionStore>) -> AgentBuilder {
    let mut agent =
        fixture.agent().store(store).session_id("s").tool(fixture.tool("look", || Act::text("ok")));
    for name in ["finder", "helper", "later"] {
        agent = agent.tool(SubAgentTool::of(SubAgent::new(name)).with_findings());
    }
    agent
}

fn model() -> ScriptedModel {
    ScriptedModel::from_fn(|_, request| script(request))
}

/// The sessions of the sub-agents that a session started, by task.
fn child(events: &[Event], wanted: &str) -> SessionId {
    let child = events.iter().find_map(|event| match &event.event {
        AgentEvent::SubAgentSpawned { child_session_id, task, .. } if task == wanted => {
            Some(child_session_id.clone())
        }
        _ => None,
    });
    child.unwrap()
}

fn findings(events: &[Event]) -> Vec<Finding> {
    let finding = |event: &Event| match &event.event {
        AgentEvent::FindingShared(finding) => Some(Finding::clone(finding)),
        _ => None,
    };
    events.iter().filter_map(finding).collect()
}

/// The texts of the notes with findings.
fn notes(events: &[Event]) -> Vec<String> {
    let note = |event: &Event| match &event.event {
        AgentEvent::MessageEnd { message } => {
            let message = message.shared()?;
            Finding::id_of_section(message.note_section()?)?;
            Some(formatted(message))
        }
        _ => None,
    };
    events.iter().filter_map(note).collect()
}

/// Asserts that the finder recorded its finding, that the session has a copy, and that each other agent has it in one note.
async fn assert_shared_once(store: &dyn SessionStore, case: &str) {
    let parent = journal(store, &"s".into()).await;
    let finder_id = child(&parent, "finder");
    let finder = journal(store, &finder_id).await;
    let [finding] = &findings(&finder)[..] else { panic!("{case}: {:?}", findings(&finder)) };
    assert_eq!(
        (finding.text.as_str(), &finding.files[..], &finding.agents[..], &finding.session_id),
        (FACT, &["src/parse.rs".to_owned()][..], &["finder".to_owned()][..], &finder_id),
        "{case}"
    );
    assert_eq!(findings(&parent), std::slice::from_ref(finding), "{case}: the session has one copy");
    assert_eq!(notes(&finder), Vec::<String>::new(), "{case}: its own finding does not come back");
    let helper = journal(store, &child(&parent, "helper")).await;
    let later = journal(store, &child(&parent, "later")).await;
    for (name, events) in [("session", &parent), ("helper", &helper), ("later", &later)] {
        let notes = notes(events);
        assert_eq!(notes.len(), 1, "{case}: {name} received {notes:?}");
        assert!(
            notes[0].contains(&format!("files=\"src/parse.rs\">\n{FACT}\n</finding>")),
            "{case}: {}",
            notes[0]
        );
        assert!(notes[0].contains("the text of a model, not of the user"), "{case}: {}", notes[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn finding_of_one_agent_reaches_the_others_once() {
    let fixture = Fixture::with_model(model());
    let agent = tree(&fixture, fixture.store.clone()).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().outcome, RunOutcome::Completed);
    assert_shared_once(&*fixture.store, "not killed").await;
    let requests = fixture.model.recorded_requests();
    let of = |task: &str| requests.iter().filter(|request| progress(request).0 == task).collect::<Vec<_>>();
    let has_fact =
        |request: &&StreamConfig| sent_messages(request).iter().any(|text| text.contains("<finding agent"));
    let received = |task: &str| of(task).iter().position(has_fact);
    assert_eq!(received("user: helper"), Some(1), "at its next turn");
    assert_eq!(received("user: later"), Some(0), "before its first reply");
    assert_eq!(received("user: go"), Some(1));
    let offered = |task: &str| of(task)[0].tools.iter().any(|tool| tool.name == "share_finding");
    assert!(offered("user: finder") && offered("user: later") && !offered("user: go"));
    fixture.assert_valid();
}

/// Runs the tree on a store that dies at an append after it wrote some events, and then again until it ends.
async fn crashed_at(append: u64, written: usize) -> bool {
    let fixture = Fixture::with_model(model());
    let store = FaultyStore::new(fixture.clock.clone()).through_json();
    let store = Arc::new(store.with_plan(move |info| {
        // A run whose first write breaks off has no prompt.
        let whole = info.expected_seq == 0 && written > 0;
        let written = if whole { info.events.len() } else { written.min(info.events.len()) };
        if info.index == append { Fault::Crash { written } } else { Fault::None }
    }));
    let agent = tree(&fixture, store.clone()).build().unwrap();
    let mut stream = agent.run_stream("go");
    while let Ok(Some(_)) = tokio::time::timeout(NEVER, stream.next()).await {}
    let has_crashed = store.is_crashed();
    std::mem::forget((stream, agent));
    if has_crashed {
        store.reopen();
        let again = tree(&fixture, store.clone()).build().unwrap();
        let case = format!("crash at append {append} after {written} events");
        let output = match again.recover().await.unwrap() {
            Some(output) => output,
            None => again.run("go").await.unwrap(),
        };
        assert_eq!(output.outcome, RunOutcome::Completed, "{case}");
        assert_shared_once(&*store, &case).await;
        assert!(fixture.ledger.repeated_calls().is_empty(), "{case}");
    }
    has_crashed
}

#[tokio::test(start_paused = true)]
async fn finding_is_delivered_once_after_a_crash_at_any_append() {
    for written in [0, 2, usize::MAX] {
        let mut append = 0;
        while crashed_at(append, written).await {
            append += 1;
        }
        assert!(append > 20, "{append} appends");
    }
}

#[tokio::test(start_paused = true)]
async fn finding_reaches_the_agents_above_and_a_session_that_continues_later() {
    let shared = || Reply::tool_call("f1", "share_finding", json!({"text": FACT}));
    let fixture = Fixture::with_model(ScriptedModel::from_fn(move |_, request| match progress(request) {
        (first, 0) if first == "user: go" => Reply::calls([delegate("c1", "outer")]),
        (first, 0) if first == "user: outer" => Reply::calls([delegate("c2", "finder")]),
        (first, 0) if first == "user: finder" => shared(),
        (first, 1) if first == "user: go" => Reply::calls([delegate("c3", "later")]),
        (first, _) => Reply::text(format!("end of {first}")),
    }));
    let store = Arc::new(MemoryStore::new());
    let agent = || -> Agent {
        let names = ["outer", "finder", "later"];
        let tools = names.map(|name| SubAgentTool::of(SubAgent::new(name)).with_findings());
        let agent = fixture.agent().store(store.clone()).session_id("s");
        tools.into_iter().fold(agent, AgentBuilder::tool).build().unwrap()
    };
    agent().run("go").await.unwrap();
    let parent = journal(&*store, &"s".into()).await;
    let outer = journal(&*store, &child(&parent, "outer")).await;
    let finder = journal(&*store, &child(&outer, "finder")).await;
    let found = findings(&finder);
    assert_eq!(found[0].agents, ["outer", "finder"]);
    assert_eq!((findings(&outer), findings(&parent)), (found.clone(), found));
    assert_eq!((notes(&outer).len(), notes(&parent).len(), notes(&finder).len()), (1, 1, 0));
    let later = journal(&*store, &child(&parent, "later")).await;
    assert_eq!(
        notes(&later).len(),
        1,
        "a new tree of another process knows it from the journal of the session"
    );
    let memory = SessionFold::of(&parent).memory().clone();
    assert!(memory.has_received(&memory.findings()[0].finding_id));
}

#[tokio::test(start_paused = true)]
async fn agent_that_shares_too_much_is_refused() {
    let share =
        |number: usize| (format!("f{number}"), "share_finding", json!({"text": format!("fact {number}")}));
    let fixture = Fixture::with_model(ScriptedModel::from_fn(move |_, request| match progress(request) {
        (first, 0) if first == "user: go" => Reply::calls([delegate("c1", "finder")]),
        (first, 0) if first == "user: finder" => Reply::calls((0..=Finding::MAX_OF_AGENT).map(share)),
        (first, _) => Reply::text(format!("end of {first}")),
    }));
    let agent = tree(&fixture, fixture.store.clone()).build().unwrap();
    agent.run("go").await.unwrap();
    let parent = fixture.journal(&"s".into()).await;
    let finder = fixture.journal(&child(&parent, "finder")).await;
    assert_eq!(
        (findings(&finder).len(), findings(&parent).len()),
        (Finding::MAX_OF_AGENT, Finding::MAX_OF_AGENT)
    );
    let requests = fixture.model.recorded_requests();
    let last = requests.iter().rfind(|request| progress(request).0 == "user: finder").unwrap();
    let refused: Vec<String> = sent_messages(last)
        .into_iter()
        .filter(|text| text.contains("put the rest into your report"))
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn finding_has_no_secrets() {
    const SECRET: &str = "canary-5c1f9a77d2e04b63";
    let text = json!({"text": format!("the key is {SECRET}"), "files": [format!("{SECRET}.txt")]});
    let fixture = Fixture::with_model(ScriptedModel::from_fn(move |_, request| match progress(request) {
        (first, 0) if first == "user: go" => Reply::calls([delegate("c1", "finder")]),
        (first, 0) if first == "user: finder" => Reply::tool_call("f1", "share_finding", text.clone()),
        (first, _) => Reply::text(format!("end of {first}")),
    }));
    let agent = tree(&fixture, fixture.store.clone()).secret("KEY", SECRET).build().unwrap();
    agent.run("go").await.unwrap();
    let parent = fixture.journal(&"s".into()).await;
    let shared = findings(&fixture.journal(&child(&parent, "finder")).await);
    assert!(
        shared[0].text.starts_with("the key is ") && !format!("{shared:?}").contains(SECRET),
        "{shared:?}"
    );
    assert_eq!(notes(&parent).len(), 1);
    assert!(!format!("{parent:?}").contains(SECRET));
}
