//! The agent loop without an agent: the caller passes all state in and gets all state back.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::event::{ContinuationKind, Event, RunOutcome};
use lariat_core::message::AgentMessage;
use lariat_core::run::{RunConfig, StartError};
use lariat_runtime::drive::Journal;
use lariat_runtime::{
    AgentContext, AgentError, AgentLoopConfig, agent_loop, agent_loop_continue, agent_loop_recover,
};
use lariat_test::{Act, Reply};

use super::fixture::{Fixture, call, durable, starts};

fn config(fixture: &Fixture, act: fn() -> Act) -> AgentLoopConfig {
    fixture.loop_config(&fixture.model, "c", RunConfig::default(), act)
}

fn journal(fixture: &Fixture) -> Arc<Journal> {
    fixture.open_journal()
}

fn context(fixture: &Fixture) -> AgentContext {
    AgentContext::new("agent".into(), journal(fixture))
}

fn prompt(text: &str) -> Vec<AgentMessage> {
    vec![AgentMessage::user(text)]
}

#[tokio::test(start_paused = true)]
async fn loop_returns_its_output_and_leaves_the_conversation_in_the_context() {
    let fixture =
        Fixture::new([call("c1", "write"), Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let (config, mut context) = (config(&fixture, || Act::text("ok")), context(&fixture));
    let mut seen: Vec<Event> = Vec::new();
    let sender = |event: Event| seen.push(event);
    let output =
        agent_loop(prompt("first"), &mut context, &config, sender, CancellationToken::new()).await.unwrap();
    assert_eq!((output.text.as_str(), output.loop_id.as_str()), ("one", "s.c.0"));
    assert_eq!(durable(&seen), fixture.journal(&"s".into()).await);
    assert_eq!(context.messages().len(), 4);

    agent_loop(prompt("second"), &mut context, &config, |_| {}, CancellationToken::new()).await.unwrap();
    assert_eq!(fixture.sent_messages(2).len(), 5);
    let over = agent_loop_continue(&mut context, &config, |_| {}, CancellationToken::new()).await;
    assert!(matches!(over, Err(AgentError::Start(StartError::NotSendable(_)))));
    context.continuation_kind = Some(ContinuationKind::Branch { tag: "2025-01-01T00:00:00Z".into() });
    let branch = agent_loop_continue(&mut context, &config, |_| {}, CancellationToken::new()).await.unwrap();
    assert_eq!(branch.text, "three");
    assert_eq!(fixture.sent_messages(3), fixture.sent_messages(2));
    let begun = starts(&fixture.journal(&"s".into()).await);
    assert_eq!([&begun[0].parent_loop_id, &begun[1].parent_loop_id], [&None, &None]);
    assert_eq!(begun[2].parent_loop_id.as_ref(), Some(&begun[1].loop_id));
    assert_eq!(context.continuation_kind, None);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn cancelled_loop_returns_aborted() {
    let fixture = Fixture::new([call("c1", "write")]);
    let (config, mut context) = (config(&fixture, Act::never), context(&fixture));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let sender = move |event: Event| {
        if matches!(event.event, lariat_core::event::AgentEvent::ToolExecutionStart { .. }) {
            stop.cancel();
        }
    };
    let output = agent_loop(prompt("go"), &mut context, &config, sender, cancel).await.unwrap();
    assert_eq!(output.outcome, RunOutcome::Aborted);
}

#[tokio::test(start_paused = true)]
async fn loop_with_a_dropped_future_is_recovered_in_the_same_context() {
    let fixture =
        Fixture::new([Reply::text("hello"), call("c1", "write"), Reply::text("I see"), Reply::text("next")]);
    let (config, mut context) = (config(&fixture, Act::never), context(&fixture));
    let go = CancellationToken::new;
    agent_loop(prompt("first"), &mut context, &config, |_| {}, go()).await.unwrap();
    assert!(agent_loop_recover(&mut context, &config, |_| {}, go()).await.unwrap().is_none());
    let running = agent_loop(prompt("second"), &mut context, &config, |_| {}, go());
    assert!(tokio::time::timeout(Duration::from_secs(5), running).await.is_err());

    let refused = agent_loop(prompt("third"), &mut context, &config, |_| {}, go()).await;
    assert!(matches!(refused, Err(AgentError::Interrupted(_))), "{refused:?}");
    let output = agent_loop_recover(&mut context, &config, |_| {}, go()).await.unwrap().unwrap();
    assert_eq!((output.text.as_str(), fixture.ledger.len()), ("I see", 1));
    agent_loop(prompt("third"), &mut context, &config, |_| {}, go()).await.unwrap();
    assert_eq!(fixture.sent_messages(3)[..2], ["user: first", "assistant: hello"]);
    assert_eq!(fixture.sent_messages(3).len(), 7);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn context_continues_its_session_whether_loaded_or_not() {
    let fixture = Fixture::new([Reply::text("hello"), Reply::text("again"), Reply::text("more")]);
    let config = config(&fixture, || Act::text("ok"));
    agent_loop(prompt("first"), &mut context(&fixture), &config, |_| {}, CancellationToken::new())
        .await
        .unwrap();
    let mut loaded = AgentContext::load("agent".into(), journal(&fixture)).await.unwrap();
    assert_eq!(loaded.messages().len(), 2);
    agent_loop(prompt("second"), &mut loaded, &config, |_| {}, CancellationToken::new()).await.unwrap();
    agent_loop(prompt("third"), &mut context(&fixture), &config, |_| {}, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(fixture.sent_messages(2).len(), 5);
    let loops: Vec<String> =
        starts(&fixture.journal(&"s".into()).await).iter().map(|start| start.loop_id.to_string()).collect();
    assert_eq!(loops, ["s.c.0", "s.c.1", "s.c.2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loop_can_be_spawned() {
    let fixture = Fixture::without_time(lariat_test::ScriptedModel::new([Reply::text("hi")]));
    let (config, mut context) = (config(&fixture, || Act::text("ok")), context(&fixture));
    let task = tokio::spawn(async move {
        agent_loop(prompt("hello"), &mut context, &config, |_| {}, CancellationToken::new()).await
    });
    assert_eq!(task.await.unwrap().unwrap().text, "hi");
}
