//! Tests of what a host in the process of its only client offers besides.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, Answer, AskDigest, AskId, Delivery, Live, LogRequest, ProblemCode, SessionStatus, Sessions as _,
};
use lariat_core::BoxFuture;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
use lariat_core::store::SessionStore;
use lariat_sessions::{AgentFactory as _, AgentRequest, HostedAgent};
use lariat_test::Reply;
use tokio::sync::Notify;

use super::fixture::{Fixture, call};

/// A fixture whose host was given the agent of a session without events.
async fn adopted(
    replies: impl IntoIterator<Item = Reply>,
    change: impl FnOnce(HostedAgent) -> HostedAgent,
) -> Fixture {
    let mut fixture = Fixture::new(replies).await;
    fixture.session_id = SessionId::from("new");
    let store = Arc::clone(&fixture.store) as Arc<dyn SessionStore>;
    let agent = fixture.agents.build(AgentRequest::new(&fixture.session_id, &store)).await.unwrap();
    fixture.host.adopt(&fixture.session_id, change(agent));
    fixture
}

#[tokio::test]
async fn adopted_session_has_no_events_until_its_first_command() {
    let fixture = adopted([Reply::text("hello")], |agent| agent).await;
    let view = fixture.view().await;
    assert_eq!((view.seq, view.status), (0, SessionStatus::Idle));
    assert_eq!(fixture.log(LogRequest::default()).await.len(), 1);
    assert!(fixture.journal().await.is_empty());
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    let view = fixture.until(|view| view.outcome.is_some()).await;
    assert_eq!(view.outcome, Some(RunOutcome::Completed));
}

#[tokio::test]
async fn releasing_a_host_closes_its_agents_without_a_record() {
    let is_closed = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&is_closed);
    let closing =
        move || -> BoxFuture<'static, ()> { Box::pin(async move { mark.store(true, Ordering::SeqCst) }) };
    let replies = [Reply::text("hello"), Reply::text("again")];
    let fixture = adopted(replies, |agent| agent.with_closing(closing)).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let events = fixture.journal().await.len();
    fixture.host.release().await;
    assert!(is_closed.load(Ordering::SeqCst));
    assert_eq!(fixture.journal().await.len(), events);
    assert_eq!(fixture.view().await.status, SessionStatus::Idle);
    // The next command builds a new agent.
    fixture.prompt("q", "go on", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Idle && view.seq > events as u64 + 2).await;
}

#[tokio::test]
async fn clients_learn_that_another_process_took_the_run_and_can_continue_it() {
    let fixture = Fixture::new([call("c1", "slow"), Reply::text("done")]).await;
    let mut live = fixture.host.live(&fixture.session_id).await.unwrap();
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    while fixture.agents.ledger.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.store.claim(&fixture.session_id).await.unwrap();
    let lost = async {
        loop {
            if let Live::RunLost { problem } = live.next().await.unwrap().unwrap() {
                return problem;
            }
        }
    };
    let problem = tokio::time::timeout(Duration::from_secs(10), lost).await.unwrap();
    assert!(problem.message.contains("another process"), "{problem}");
    assert_eq!(fixture.view().await.status, SessionStatus::Interrupted);
    // A new agent reads the journal, takes the session back and continues.
    fixture.send("q", Action::Continue).await.unwrap();
    let view = fixture.until(|view| view.outcome.is_some()).await;
    assert_eq!(view.outcome, Some(RunOutcome::Completed));
}

#[tokio::test]
async fn sessions_that_run_a_tool_are_busy() {
    let fixture = Fixture::new([call("c1", "slow"), call("c2", "write"), Reply::text("done")]).await;
    assert_eq!(fixture.host.busy().await, 0);
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    while fixture.host.busy().await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.until(|view| view.status == SessionStatus::RequiresAction).await;
    assert_eq!((fixture.host.running(), fixture.host.busy().await), (1, 0), "a question is a safe point");
}

#[tokio::test]
async fn compaction_that_is_refused_is_acknowledged_and_its_reason_recorded() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let receipt = fixture.send("c", Action::Compact { focus: None }).await.unwrap();
    let journal = fixture.journal().await;
    let newest: Vec<&AgentEvent> = journal.iter().rev().take(2).rev().map(|event| &event.event).collect();
    let is_recorded = matches!(
        newest[..],
        [AgentEvent::CommandAccepted(command), AgentEvent::CompactionRefused { .. }] if command.command_id == "c"
    );
    assert!(is_recorded, "{newest:?}");
    assert_eq!(receipt.seq, journal[journal.len() - 2].seq);
    let repeated = fixture.send("c", Action::Compact { focus: None }).await.unwrap();
    assert_eq!((repeated.seq, fixture.journal().await.len()), (receipt.seq, journal.len()));
}

#[tokio::test]
async fn compaction_is_interrupted_by_a_command_while_others_wait() {
    let fixture = Fixture::new([Reply::text("hello"), Reply::text("after it")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let compact = fixture.send("c", Action::Compact { focus: Some("wait".to_owned()) });
    let (begun, is_described) = (Notify::new(), Cell::new(false));
    let describe = async {
        begun.notified().await;
        let title = Some("named".to_owned());
        let described = fixture.send("d", Action::Describe { title, tags: None }).await;
        is_described.set(true);
        described.unwrap()
    };
    let interrupt = async {
        fixture.agents.compacting.notified().await;
        assert_eq!(fixture.view().await.status, SessionStatus::Running);
        begun.notify_one();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!is_described.get(), "the conversation is being compacted");
        fixture.send("i", Action::Interrupt).await.unwrap()
    };
    let all = async { tokio::join!(compact, describe, interrupt) };
    let all = tokio::time::timeout(Duration::from_secs(20), all).await;
    let (compacted, described, interrupted) = all.expect("the interruption does not wait");
    let compacted = compacted.unwrap();
    assert!(compacted.seq < described.seq && described.seq < interrupted.seq, "in the order of arrival");
    let is_refused = |event: &AgentEvent| matches!(event, AgentEvent::CompactionRefused { reason, .. } if reason == "it was interrupted");
    assert!(fixture.journal().await.iter().any(|event| is_refused(&event.event)));
    assert_eq!(fixture.view().await.status, SessionStatus::Idle);
    // It stops nothing that comes later.
    let problem = fixture.send("j", Action::Interrupt).await.unwrap_err();
    assert!(problem.message.contains("no run is active"), "{problem}");
    fixture.prompt("q", "again", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    assert_eq!(fixture.sent_texts().last().map(String::as_str), Some("again"));
}

#[tokio::test]
async fn rerun_answers_the_same_prompt_again() {
    let fixture = Fixture::new([Reply::text("first"), Reply::text("second")]).await;
    let problem = fixture.send("r", Action::Rerun { run: None }).await.unwrap_err();
    assert!(problem.message.contains("no run"), "{problem}");
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    fixture.send("s", Action::Rerun { run: None }).await.unwrap();
    fixture.until_idle().await;
    let requests = fixture.agents.model.recorded_requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(fixture.sent_texts().last().map(String::as_str), Some("go"));
}

#[tokio::test]
async fn another_answer_can_be_asked_for_only_if_answers_have_a_schema() {
    let retry = || Action::RetryAnswer { problem: "it is not JSON".to_owned() };
    let fixture = Fixture::new([Reply::text("hello")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let events = fixture.journal().await.len();
    let problem = fixture.send("r", retry()).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unsupported);
    assert_eq!(fixture.journal().await.len(), events);

    let write = Arc::new(|problem: &str| AgentMessage::note("schema", format!("Wrong: {problem}.")));
    let with_schema = adopted([Reply::text("x"), Reply::text("{}")], |agent| agent.with_retry_message(write));
    let fixture = with_schema.await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    fixture.send("r", retry()).await.unwrap();
    fixture.until_idle().await;
    assert!(fixture.sent_texts().iter().any(|text| text.contains("Wrong: it is not JSON.")));
}

#[tokio::test]
async fn answer_to_a_plan_that_was_reviewed_in_another_state_is_refused() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let digest = AskDigest::new("plan:blake3:another");
    let answer = Answer::Plan { approved: vec!["c1".into()], rejected: Vec::new() };
    let events = fixture.journal().await.len();
    let action = Action::Answer { ask_id: AskId::new("plan"), digest, answer };
    assert_eq!(fixture.send("a", action).await.unwrap_err().code, ProblemCode::DigestMismatch);
    assert_eq!(fixture.journal().await.len(), events);
    let is_decision = |event: &AgentEvent| matches!(event, AgentEvent::PlanDecided { .. });
    assert!(!fixture.journal().await.iter().any(|event| is_decision(&event.event)));
}
