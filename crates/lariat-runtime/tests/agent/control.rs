//! Steering, follow-ups, cancelling, dropping, resetting.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::hooks::Hooks;
use lariat_core::transcript::Window;
use lariat_core::usage::Usage;
use lariat_runtime::Agent;
use lariat_test::tools::Ending;
use lariat_test::{Act, Reply, ScriptedModel};

use super::fixture::{Fixture, call, idle, kinds, rest, until};

/// A tool that takes ten seconds.
fn slow() -> Act {
    Act::text("ok").after(Duration::from_secs(10))
}

async fn outcome(fixture: &Fixture, agent: &Agent) -> RunOutcome {
    let journal = fixture.journal(&agent.session_id()).await;
    let ends: Vec<RunOutcome> = journal
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::AgentEnd { outcome, .. } => Some(outcome.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "{:?}", kinds(&journal));
    ends[0].clone()
}

#[tokio::test(start_paused = true)]
async fn message_injected_during_a_run_reaches_the_model_after_the_tool() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let agent = fixture.agent().tool(fixture.tool("write", slow)).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    assert!(stream.inject_message("be careful"));
    agent.steer("and quick");
    until(&mut stream, "AgentEnd").await;
    assert_eq!(fixture.sent_messages(1)[2..], ["tool: ok", "user: be careful"], "one at a time");
    assert_eq!(fixture.sent_messages(2).last().unwrap(), "user: and quick");
    assert!(!stream.inject_message("too late"), "a finished run refuses messages");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn follow_up_waits_until_the_loop_would_stop() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("first"), Reply::text("second")]);
    let agent = fixture.agent().tool(fixture.tool("write", slow)).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    agent.follow_up("and then?");
    assert_eq!(stream.finish().await.unwrap().text, "second");
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: ok");
    assert_eq!(fixture.sent_messages(2)[3..], ["assistant: first", "user: and then?"]);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn messages_queued_while_idle_wait_for_the_next_run() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let agent = fixture.agent().build().unwrap();
    agent.steer("politely");
    agent.follow_up("and then?");
    let output = agent.run("go").await.unwrap();
    assert_eq!(fixture.sent_messages(0), ["user: go", "user: politely"]);
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "user: and then?");
    assert_eq!(output.text, "two");
    assert_eq!(agent.run("more").await.unwrap().text, "three");
}

#[tokio::test(start_paused = true)]
async fn message_sent_right_after_the_prompt_reaches_that_run() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent = fixture.agent().build().unwrap();
    let stream = agent.run_stream("go");
    agent.steer("politely");
    stream.finish().await.unwrap();
    assert_eq!(fixture.sent_messages(0), ["user: go", "user: politely"]);
}

#[tokio::test(start_paused = true)]
async fn message_to_a_run_that_cannot_begin_waits_for_the_next_one() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent = fixture.agent().build().unwrap();
    let refused = agent.run_stream(" ");
    agent.steer("politely");
    refused.finish().await.unwrap_err();
    agent.run("go").await.unwrap();
    assert_eq!(fixture.sent_messages(0), ["user: go", "user: politely"]);
}

/// Steers the agent at the last possible moment of a run: after its end was recorded.
struct SteerAtEnd(Arc<OnceLock<Agent>>);

impl Hooks for SteerAtEnd {
    fn after_loop(&self, messages: &Window, _usage: &Usage) {
        if messages.len() == 2 {
            self.0.get().unwrap().steer("one more thing");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn message_steered_at_the_last_moment_reaches_the_next_run() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let slot = Arc::new(OnceLock::new());
    let agent = fixture.agent().hooks(SteerAtEnd(slot.clone())).build().unwrap();
    slot.set(agent.clone()).unwrap();
    agent.run("go").await.unwrap();
    agent.run("next").await.unwrap();
    assert_eq!(fixture.sent_messages(1)[2..], ["user: next", "user: one more thing"]);
}

#[tokio::test(start_paused = true)]
async fn message_steered_at_the_last_moment_moves_to_the_new_session() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let slot = Arc::new(OnceLock::new());
    let agent = fixture.agent().hooks(SteerAtEnd(slot.clone())).build().unwrap();
    slot.set(agent.clone()).unwrap();
    agent.run("go").await.unwrap();
    agent.new_session().unwrap();
    agent.run("next").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: next", "user: one more thing"]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_run_ends_with_agent_end_and_the_agent_stays_usable() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("fine")]);
    let agent = fixture.agent().tool(fixture.tool("write", Act::never)).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    stream.cancel();
    let events = rest(&mut stream).await;
    let AgentEvent::AgentEnd { outcome, .. } = &events.last().unwrap().event else { panic!() };
    assert_eq!(*outcome, RunOutcome::Aborted);
    assert_eq!(fixture.ledger.all()[0].ending, Ending::Cancelled);
    assert_eq!(agent.run("again").await.unwrap().text, "fine");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn abort_stops_a_model_that_does_not_reply() {
    let fixture = Fixture::new([Reply::text("half").then_stall(), Reply::text("fine")]);
    let agent = fixture.agent().build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "MessageUpdate").await;
    agent.abort();
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
    assert_eq!(agent.run("again").await.unwrap().text, "fine");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn dropping_a_stream_cancels_the_run_and_its_tool_and_leaves_the_agent_usable() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("fine")]);
    let agent = fixture.agent().tool(fixture.tool("write", Act::never)).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    drop(stream);
    idle(&agent).await;
    assert_eq!(outcome(&fixture, &agent).await, RunOutcome::Aborted);
    assert_eq!(fixture.ledger.all()[0].ending, Ending::Cancelled);
    assert_eq!(agent.run("again").await.unwrap().text, "fine");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn tool_that_ignores_cancellation_is_dropped_after_the_grace_period() {
    let fixture = Fixture::new([call("c1", "write")]);
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", || Act::never().ignoring_cancel()))
        .tool_grace(Duration::from_secs(7))
        .build()
        .unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    let asked = fixture.clock.now();
    drop(stream);
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(500)).await;
    }
    assert!(!agent.is_streaming());
    let execution = &fixture.ledger.all()[0];
    assert_eq!(execution.ending, Ending::Dropped);
    let waited = execution.finished.unwrap().since(asked);
    assert!(waited >= Duration::from_secs(7) && waited < Duration::from_secs(9), "{waited:?}");
    assert_eq!(outcome(&fixture, &agent).await, RunOutcome::Aborted);
}

#[tokio::test(start_paused = true)]
async fn tool_dropped_after_the_default_grace_period_is_reported_as_interrupted() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let tool = fixture.tool("write", || Act::never().ignoring_cancel());
    let agent = fixture.agent().tool(tool).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    let asked = fixture.clock.now();
    stream.cancel();
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
    let waited = fixture.ledger.all()[0].finished.unwrap().since(asked);
    assert!(waited >= Duration::from_secs(2) && waited < Duration::from_secs(3), "{waited:?}");
    agent.run("and?").await.unwrap();
    let sent = fixture.sent_messages(1);
    assert!(sent[2].starts_with("tool: Interrupted"), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_of_a_run_cancels_it() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("fine")]);
    let agent = fixture.agent().tool(fixture.tool("write", Act::never)).build().unwrap();
    let timeout = tokio::time::timeout(Duration::from_secs(30), agent.run("go")).await;
    assert!(timeout.is_err());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!agent.is_streaming());
    assert_eq!(outcome(&fixture, &agent).await, RunOutcome::Aborted);
    assert_eq!(agent.run("again").await.unwrap().text, "fine");
}

#[tokio::test(start_paused = true)]
async fn reset_starts_empty_and_the_old_run_still_journals_its_end() {
    let model = ScriptedModel::new([call("c1", "write"), Reply::text("fresh")]);
    let fixture = Fixture::with_model(model);
    let agent = fixture.agent().tool(fixture.tool("write", Act::never)).build().unwrap();
    let old = agent.session_id();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    agent.follow_up("forgotten");
    agent.reset();
    assert_ne!(agent.session_id(), old);
    assert!(agent.messages().is_empty() && !agent.is_streaming());
    let fresh = agent.run("hello").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: hello"]);
    assert_eq!(fresh.text, "fresh");
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
    assert_eq!(kinds(&fixture.journal(&old).await).last().unwrap(), "AgentEnd");
    assert_eq!(agent.messages().len(), 2, "the end of the old run changes nothing");
}
