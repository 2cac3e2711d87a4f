//! An agent behind the gate: what a person answered counts, as long as it says, for the sessions it says.

use std::sync::{Arc, Mutex};

use lariat_core::BoxFuture;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::permission::PermissionDecision;
use lariat_guard::hooks::{Ended, Handler, HookBook, HookRunner};
use lariat_guard::{Mode, NoLinks, Places, Trust};
use lariat_runtime::{Agent, Gate, RunStream};
use lariat_testkit::{Act, Reply};
use serde_json::json;

use super::kit::{World, rest, until};

fn agent(world: &World, gate: Arc<Gate>, session: &str) -> Agent {
    let tool = world.tool("bash", || Act::text("ok"));
    world.agent().shared_policy(gate).session_id(SessionId::from(session)).tool(tool).build().unwrap()
}

fn gate() -> Arc<Gate> {
    Arc::new(Gate::new(Vec::new(), Trust::Untrusted, Places::new("/w", "/people/me"), Arc::new(NoLinks)))
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
async fn an_answer_for_the_session_counts_in_it_and_when_it_goes_on() {
    let world = World::new([
        command("c1", "cargo test --all"),
        command("c2", "cargo test -p x"),
        Reply::text("done"),
        command("c3", "cargo test"),
        Reply::text("again"),
        command("c4", "cargo test"),
    ]);
    let mut stream = agent(&world, gate(), "s").run_stream("go");
    answer(&mut stream, PermissionDecision::AllowSession).await;
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert_eq!(world.ledger.len(), 2);

    // Another process goes on with the session: its gate knows only what the journal says.
    let output = agent(&world, gate(), "s").run("once more").await.unwrap();
    assert_eq!((output.text.as_str(), world.ledger.len()), ("again", 3));

    // Another session has not been asked.
    let mut stream = agent(&world, gate(), "other").run_stream("go");
    until(&mut stream, "PermissionRequired").await;
    stream.cancel();
    rest(&mut stream).await;
    assert_eq!(world.ledger.len(), 3);
}

/// Remembers what hooks were told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl HookRunner for Told {
    fn run<'a>(&'a self, _handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended> {
        self.0.lock().unwrap().push(input.to_owned());
        Box::pin(async { Ended::Exited { code: 0, output: String::new(), errors: String::new() } })
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_are_told_no_secret_that_a_tool_said() {
    let world = World::new([command("c1", "git status"), Reply::text("done")]);
    let mut book = HookBook::default();
    let entry = json!([{ "hooks": [{ "command": "look" }] }]);
    assert_eq!(book.add("settings.json", &json!({ "PostToolUse": entry })), []);
    let told = Arc::new(Told::default());
    let places = Places::new("/w", "/people/me");
    let gate = Gate::new(Vec::new(), Trust::Trusted, places, Arc::new(NoLinks));
    let tool = world.tool("bash", || Act::text("the key is hunter2-canary"));
    let agent = world.agent().permission_policy(gate.with_hooks(book, told.clone()));
    let agent = agent.secret("KEY", "hunter2-canary").tool(tool).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    let told = told.0.lock().unwrap();
    assert!(told[0].contains("the key is [redacted: KEY]") && !told[0].contains("hunter2"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn in_plan_mode_a_change_is_queued_and_not_made() {
    let world = World::new([command("c1", "git status"), command("c2", "touch x"), Reply::text("planned")]);
    let gate = gate();
    assert_eq!(gate.set_mode(Mode::Plan), Mode::Plan);
    let agent = agent(&world, gate, "s");
    assert_eq!(agent.run("go").await.unwrap().text, "planned");
    let queued = world.journal(&agent.session_id()).await;
    let queued = queued.iter().filter(|event| matches!(&event.event, AgentEvent::PlanChangeQueued { .. }));
    assert!(queued.count() >= 1);
    assert!(world.ledger.all().iter().all(|run| run.args["command"] != "touch x"));
}
