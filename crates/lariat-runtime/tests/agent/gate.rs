//! An agent with a [`Gate`]: the user's decisions apply for their scope.

use std::sync::{Arc, Mutex};

use lariat_core::BoxFuture;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::permission::PermissionDecision;
use lariat_core::store::SessionStore;
use lariat_guard::hooks::{Handler, HandlerResult, HookConfig, HookRunner};
use lariat_guard::{Mode, NoLinks, SessionDirectories, Trust};
use lariat_runtime::drive::JournalConfig;
use lariat_runtime::{Agent, Gate, RunStream};
use lariat_test::{Act, FaultyStore, Reply};
use serde_json::json;

use super::fixture::{Fixture, journal, kind, rest, until};

fn agent(fixture: &Fixture, gate: Arc<Gate>, session: &str) -> Agent {
    let tool = fixture.tool("bash", || Act::text("ok"));
    fixture.agent().permission_policy(gate).session_id(SessionId::from(session)).tool(tool).build().unwrap()
}

fn gate() -> Arc<Gate> {
    Arc::new(Gate::new(
        Vec::new(),
        Trust::Untrusted,
        SessionDirectories::new("/w", "/people/me"),
        Arc::new(NoLinks),
    ))
}

fn command(id: &str, command: &str) -> Reply {
    Reply::tool_call(id, "bash", json!({ "command": command }))
}

async fn answer(stream: &mut RunStream, decision: PermissionDecision) {
    let event = until(stream, "PermissionRequired").await;
    let AgentEvent::PermissionRequired { request } = &event.event else { panic!() };
    stream.respond_permission(request.id, decision);
}

#[tokio::test(start_paused = true)]
async fn remembered_decisions_survive_in_a_snapshot() {
    let fixture = Fixture::new([
        command("c1", "cargo test --all"),
        Reply::text("one"),
        command("call_0123456789ab", "git push"),
        Reply::text("two"),
        Reply::text("three"),
        command("c3", "cargo test"),
        Reply::text("four"),
    ]);
    let store = Arc::new(FaultyStore::new(Arc::clone(&fixture.clock)));
    let every = |gate: Arc<Gate>| {
        let journal = JournalConfig { snapshot_every: 1, ..JournalConfig::default() };
        let tool = fixture.tool("bash", || Act::text("ok"));
        let agent = fixture.agent().permission_policy(gate).session_id(SessionId::from("s"));
        agent.store(store.clone()).journal(journal).tool(tool).build().unwrap()
    };
    let (first, planning) = (every(gate()), gate());
    let mut stream = first.run_stream("go");
    answer(&mut stream, PermissionDecision::AllowSession).await;
    stream.finish().await.unwrap();
    planning.set_mode(Mode::Plan);
    every(planning.clone()).run("plan").await.unwrap();
    every(planning).run("more").await.unwrap();

    let session = SessionId::from("s");
    let head = store.head(&session).await.unwrap();
    let kept = store.snapshot(&session, u64::MAX).await.unwrap().unwrap();
    let asked = |event: &&lariat_core::event::Event| kind(event) == "PermissionDecided";
    let answered_at = journal(&*store, &session).await.iter().find(asked).unwrap().seq;
    assert!(kept.seq > answered_at && kept.seq <= head, "the decision is before the snapshot");

    let last = every(gate());
    let plan = last.plan().await.unwrap();
    let ids: Vec<_> = plan.changes.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["call_0123456789ab"]);
    // No approval is needed: the user decided before the snapshot.
    assert_eq!(last.run("again").await.unwrap().text, "four");
    assert_eq!(fixture.ledger.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn session_approval_applies_in_that_session_and_after_resuming() {
    let fixture = Fixture::new([
        command("c1", "cargo test --all"),
        command("c2", "cargo test -p x"),
        Reply::text("done"),
        command("c3", "cargo test"),
        Reply::text("again"),
        command("c4", "cargo test"),
    ]);
    let mut stream = agent(&fixture, gate(), "s").run_stream("go");
    answer(&mut stream, PermissionDecision::AllowSession).await;
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert_eq!(fixture.ledger.len(), 2);

    // Another process resumes the session: its gate knows only the journal.
    let output = agent(&fixture, gate(), "s").run("once more").await.unwrap();
    assert_eq!((output.text.as_str(), fixture.ledger.len()), ("again", 3));

    // The decision does not apply to another session.
    let mut stream = agent(&fixture, gate(), "other").run_stream("go");
    until(&mut stream, "PermissionRequired").await;
    stream.cancel();
    rest(&mut stream).await;
    assert_eq!(fixture.ledger.len(), 3);
}

/// Records the input of hooks.
#[derive(Default)]
struct RecordedInputs(Mutex<Vec<String>>);

impl HookRunner for RecordedInputs {
    fn run<'a>(&'a self, _handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        self.0.lock().unwrap().push(input.to_owned());
        Box::pin(async { HandlerResult::Exited { code: 0, output: String::new(), errors: String::new() } })
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_receive_no_secret_from_a_tool_result() {
    let fixture = Fixture::new([command("c1", "git status"), Reply::text("done")]);
    let mut hook_config = HookConfig::default();
    let entry = json!([{ "hooks": [{ "command": "look" }] }]);
    assert_eq!(hook_config.add("settings.json", &json!({ "PostToolUse": entry })), []);
    let recorded = Arc::new(RecordedInputs::default());
    let places = SessionDirectories::new("/w", "/people/me");
    let gate = Gate::new(Vec::new(), Trust::Trusted, places, Arc::new(NoLinks));
    let tool = fixture.tool("bash", || Act::text("the key is hunter2-canary"));
    let agent = fixture.agent().permission_policy(gate.with_hooks(hook_config, recorded.clone()));
    let agent = agent.secret("KEY", "hunter2-canary").tool(tool).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    let recorded = recorded.0.lock().unwrap();
    assert!(
        recorded[0].contains("the key is [redacted: KEY]") && !recorded[0].contains("hunter2"),
        "{recorded:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn plan_mode_queues_a_change_without_making_it() {
    let fixture =
        Fixture::new([command("c1", "git status"), command("c2", "touch x"), Reply::text("planned")]);
    let gate = gate();
    assert_eq!(gate.set_mode(Mode::Plan), Mode::Plan);
    let agent = agent(&fixture, gate, "s");
    assert_eq!(agent.run("go").await.unwrap().text, "planned");
    let queued = fixture.journal(&agent.session_id()).await;
    let queued = queued.iter().filter(|event| matches!(&event.event, AgentEvent::PlanChangeQueued { .. }));
    assert!(queued.count() >= 1);
    assert!(fixture.ledger.all().iter().all(|run| run.args["command"] != "touch x"));
}
