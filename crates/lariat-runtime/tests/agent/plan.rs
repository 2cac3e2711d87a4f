//! Plan mode: changes are queued instead of made, reviewed, approved completely or in part, and then carried
//! out.

use std::sync::{Arc, Mutex};

use lariat_core::BoxFuture;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::permission::PermissionDecision;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_guard::{Claims, Effect, Layer, Mode, NoLinks, Origin, SessionDirectories, Trust};
use lariat_runtime::{Agent, AgentError, Gate, Preview};
use lariat_test::{Act, Reply};
use serde_json::{Value, json};

use super::fixture::{Fixture, formatted, until};

/// A tool that adds a line to a shared text.
#[derive(Clone, Default)]
struct SharedText(Arc<Mutex<Vec<String>>>);

impl SharedText {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl AgentTool for SharedText {
    fn name(&self) -> &str {
        "write_file"
    }

    fn description(&self) -> &str {
        "Adds a line."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::WRITES
    }

    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        let text = format!("after line {}:\n+{}", self.lines().len(), params["content"].as_str().unwrap());
        Box::pin(async { Ok(Some(text)) })
    }

    fn execute<'a>(&'a self, params: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        self.0.lock().unwrap().push(params["content"].as_str().unwrap().to_owned());
        Box::pin(async { Ok(ToolResult::text("written")) })
    }
}

fn gate() -> Gate {
    let layer = Layer::new(Origin::flags()).with_rule(Effect::Deny, "Edit(secret)");
    Gate::new(vec![layer], Trust::Untrusted, SessionDirectories::new("/w", "/people/me"), Arc::new(NoLinks))
}

fn agent(fixture: &Fixture, gate: &Arc<Gate>, shared_text: &SharedText) -> Agent {
    let look = fixture.tool("read_file", || Act::text("looked"));
    let look = look.with_effects(ToolEffects::READS);
    let run = fixture.tool("bash", || Act::text("ran"));
    let agent = fixture.agent().permission_policy(gate.clone()).session_id(SessionId::from("s"));
    agent.tool(look).tool(run).tool(shared_text.clone()).build().unwrap()
}

fn proposal(id: &str, path: &str, content: &str) -> Reply {
    let arguments = json!({"path": path, "content": content});
    Reply::tool_call(
        id,
        "plan_change",
        json!({"tool": "write_file", "arguments": arguments, "why": "because"}),
    )
}

fn offered(fixture: &Fixture, request: usize) -> Vec<String> {
    fixture.model.recorded_requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn plan_mode_hides_tools_that_change_something() {
    let fixture = Fixture::new([Reply::text("looking"), Reply::text("working")]);
    let gate = Arc::new(gate());
    let agent = agent(&fixture, &gate, &SharedText::default());
    gate.set_mode(Mode::Plan);
    agent.run("plan").await.unwrap();
    gate.set_mode(Mode::Default);
    agent.run("work").await.unwrap();
    assert_eq!(offered(&fixture, 0), ["read_file", "plan_change", "recall"]);
    assert_eq!(offered(&fixture, 1), ["read_file", "bash", "write_file", "recall"]);
}

#[tokio::test(start_paused = true)]
async fn plan_is_reviewed_approved_in_part_and_applied_in_order() {
    let fixture = Fixture::new([
        proposal("c1", "a", "one"),
        proposal("c2", "a", "two"),
        // The model calls a tool that it was not offered.
        Reply::tool_call("c3", "write_file", json!({"path": "a", "content": "three"})),
        proposal("c4", "secret", "four"),
        Reply::text("that is the plan"),
        Reply::text("carried out"),
    ]);
    let (gate, shared_text) = (Arc::new(gate()), SharedText::default());
    let planning = agent(&fixture, &gate, &shared_text);
    gate.set_mode(Mode::Plan);
    assert_eq!(planning.run("plan it").await.unwrap().text, "that is the plan");
    assert_eq!(shared_text.lines(), [""; 0]);
    let sent_messages = fixture.sent_messages(4);
    assert!(
        sent_messages.iter().any(|message| message.contains("Plan mode: queued for approval")),
        "{sent_messages:?}"
    );
    assert!(
        sent_messages.iter().any(|message| message.contains("Denied: ") && message.contains("secret")),
        "{sent_messages:?}"
    );

    // Another process shows the plan.
    let agent = agent(&fixture, &gate, &shared_text);
    let plan = agent.plan().await.unwrap();
    let ids: Vec<_> = plan.changes.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2", "c3"]);
    let shown = plan.to_string();
    assert!(shown.starts_with("1. write_file a\nafter line 0:\n+one\n2. write_file a\n"), "{shown}");

    let decision = plan.approve(|change| change.id.as_str() != "c2");
    let output = agent.apply_plan(decision).await.unwrap();
    assert_eq!(
        (output.text.as_str(), shared_text.lines()),
        ("carried out", vec!["one".into(), "three".into()])
    );
    assert_eq!(agent.plan().await.unwrap().changes, []);
    let sent_messages: Vec<_> = output.messages.iter().map(|message| formatted(message)).collect();
    assert!(
        sent_messages[0].contains("I approved 2 of the queued changes. I rejected these: write_file"),
        "{sent_messages:?}"
    );
    assert_eq!(gate.mode(), Mode::Plan);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn change_that_differs_from_its_preview_does_not_start() {
    let fixture = Fixture::new([proposal("c1", "a", "one"), Reply::text("planned"), Reply::text("done")]);
    let (gate, shared_text) = (Arc::new(gate()), SharedText::default());
    gate.set_mode(Mode::Plan);
    let agent = agent(&fixture, &gate, &shared_text);
    agent.run("plan it").await.unwrap();
    let plan = agent.plan().await.unwrap();
    assert_eq!(plan.changes[0].preview, Preview::Known("after line 0:\n+one".into()));
    shared_text.0.lock().unwrap().push("another writer".into());
    let refused = agent.apply_plan(plan.approve_all()).await;
    assert!(matches!(refused, Err(AgentError::PlanChanged)), "{refused:?}");
    assert_eq!(shared_text.lines(), ["another writer"]);
    // After a new review it can be approved, but not twice.
    let plan = agent.plan().await.unwrap();
    agent.apply_plan(plan.approve_all()).await.unwrap();
    assert_eq!(shared_text.lines(), ["another writer", "one"]);
    let again = agent.apply_plan(plan.approve_all()).await;
    assert!(matches!(again, Err(AgentError::PlanChanged)), "{again:?}");
    assert_eq!(shared_text.lines(), ["another writer", "one"]);
}

#[tokio::test(start_paused = true)]
async fn plan_can_be_dropped() {
    let fixture = Fixture::new([proposal("c1", "a", "one"), Reply::text("planned")]);
    let (gate, shared_text) = (Arc::new(gate()), SharedText::default());
    gate.set_mode(Mode::Plan);
    let agent = agent(&fixture, &gate, &shared_text);
    agent.run("plan it").await.unwrap();
    agent.drop_plan().await.unwrap();
    assert!(agent.plan().await.unwrap().is_empty());
    let journal = fixture.journal(&agent.session_id()).await;
    let dropped = |event: &&lariat_core::event::Event| matches!(&event.event, AgentEvent::PlanDecided { rejected, .. } if rejected.len() == 1);
    assert_eq!(journal.iter().filter(dropped).count(), 1);
    assert_eq!(shared_text.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn deny_rule_wins_over_an_approved_plan() {
    let fixture = Fixture::new([proposal("c1", "b", "one"), Reply::text("planned"), Reply::text("done")]);
    let (loose, shared_text) = (Arc::new(gate()), SharedText::default());
    loose.set_mode(Mode::Plan);
    let planning = agent(&fixture, &loose, &shared_text);
    planning.run("plan it").await.unwrap();
    let plan = planning.plan().await.unwrap();
    let layer = Layer::new(Origin::flags()).with_rule(Effect::Deny, "Edit(b)");
    let strict = Gate::new(
        vec![layer],
        Trust::Untrusted,
        SessionDirectories::new("/w", "/people/me"),
        Arc::new(NoLinks),
    );
    let agent = agent(&fixture, &Arc::new(strict), &shared_text);
    agent.apply_plan(plan.approve_all()).await.unwrap();
    assert_eq!(shared_text.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn two_agents_do_not_change_a_file_at_the_same_time() {
    let write = |id: &str| Reply::tool_call(id, "write_file", json!({"path": "a", "content": "x"}));
    let claims = Claims::default();
    let shared_text = SharedText::default();
    let mut sent_messages = Vec::new();
    for session in ["s1", "s2"] {
        let fixture = Fixture::new([write("c1"), Reply::text("done")]);
        let gate = gate().with_claims(claims.clone());
        gate.set_mode(Mode::AcceptEdits);
        let agent = fixture.agent().permission_policy(gate).session_id(SessionId::from(session));
        let agent = agent.tool(shared_text.clone()).build().unwrap();
        agent.run("go").await.unwrap();
        sent_messages.push(fixture.sent_messages(1).pop().unwrap());
    }
    assert_eq!(shared_text.lines(), ["x"]);
    assert_eq!(sent_messages[0], "tool: written");
    assert!(
        sent_messages[1].starts_with("tool: `/w/a` is being changed by another agent (session s1"),
        "{sent_messages:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn approval_request_shows_the_change_and_only_that_change_is_made() {
    let write = |id: &str| Reply::tool_call(id, "write_file", json!({"path": "a", "content": "x"}));
    let fixture = Fixture::new([write("c1"), write("c2"), Reply::text("done")]);
    let shared_text = SharedText::default();
    let agent = fixture.agent().permission_policy(gate()).tool(shared_text.clone()).build().unwrap();
    let mut stream = agent.run_stream("go");
    for (change, shown) in [(None, "after line 0:\n+x"), (Some("another writer"), "after line 1:\n+x")] {
        let event = until(&mut stream, "PermissionRequired").await;
        let AgentEvent::PermissionRequired { request } = &event.event else { panic!() };
        assert_eq!(request.preview.as_deref(), Some(shown));
        shared_text.0.lock().unwrap().extend(change.map(str::to_owned));
        stream.respond_permission(request.id, PermissionDecision::Allow);
    }
    stream.finish().await.unwrap();
    assert_eq!(shared_text.lines(), ["x", "another writer"]);
    let sent_messages = fixture.sent_messages(2).pop().unwrap();
    assert!(sent_messages.contains("no longer make the change that the user approved"), "{sent_messages}");
}
