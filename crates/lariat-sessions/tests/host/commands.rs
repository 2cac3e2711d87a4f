//! Commands: prompts and their delivery, retries, conflicts, interruptions, the queue.

use lariat_api::{Action, CreateSession, Delivery, Edit, ProblemCode, SessionStatus, Sessions};
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::id::MessageId;
use lariat_test::Reply;

use super::fixture::{Fixture, accepted, call};

#[tokio::test]
async fn prompt_is_recorded_before_the_run_and_answered() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    let receipt = fixture.prompt("c1", "hi", Delivery::Queue).await.unwrap();
    let view = fixture.until_idle().await;
    assert_eq!(view.outcome, Some(RunOutcome::Completed));
    assert_eq!((view.title.as_deref(), view.directory.as_deref()), (Some("hi"), Some("/project")));
    let journal = fixture.journal().await;
    let at = usize::try_from(receipt.seq).unwrap();
    assert!(matches!(&journal[at].event, AgentEvent::CommandAccepted(command)
        if command.command_id == "c1" && command.by == "user:ada" && command.action == "prompt"));
    let start = journal.iter().position(|event| matches!(event.event, AgentEvent::AgentStart(_))).unwrap();
    assert!(at < start);
}

#[tokio::test]
async fn retry_returns_the_same_receipt_and_adds_nothing() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    let first = fixture.prompt("c1", "hi", Delivery::Queue).await.unwrap();
    let events = fixture.until_idle().await.seq;
    assert_eq!(fixture.prompt("c1", "hi", Delivery::Queue).await.unwrap(), first);
    assert_eq!(fixture.view().await.seq, events);
    let problem = fixture.prompt("c1", "something else", Delivery::Queue).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::CommandConflict);
    assert_eq!(fixture.view().await.seq, events);
}

#[tokio::test]
async fn unknown_action_is_refused_and_adds_nothing() {
    let fixture = Fixture::new([]).await;
    let before = fixture.view().await.seq;
    let unknown = serde_json::from_value(serde_json::json!({"type": "teleport"})).unwrap();
    assert_eq!(fixture.send("c1", unknown).await.unwrap_err().code, ProblemCode::Unsupported);
    assert_eq!(fixture.view().await.seq, before);
}

#[tokio::test]
async fn command_for_an_unknown_session_is_not_found() {
    let fixture = Fixture::new([]).await;
    let problem = fixture.host.view(&"nosuch".into()).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::NotFound);
}

#[tokio::test]
async fn creating_a_session_again_returns_it_and_another_directory_is_a_conflict() {
    let fixture = Fixture::new([]).await;
    let before = fixture.view().await;
    let again = CreateSession::new(fixture.session_id.clone(), "/project");
    assert_eq!(fixture.host.create(again).await.unwrap().seq, before.seq);
    let other = CreateSession::new(fixture.session_id.clone(), "/elsewhere");
    assert_eq!(fixture.host.create(other).await.unwrap_err().code, ProblemCode::CommandConflict);
}

#[tokio::test]
async fn steering_reaches_the_run_after_the_tool_and_a_queued_message_at_its_end() {
    let fixture = Fixture::new([call("c1", "slow"), Reply::text("one"), Reply::text("two")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Running).await;
    fixture.prompt("q", "afterwards", Delivery::Queue).await.unwrap();
    let receipt = fixture.prompt("s", "be quick", Delivery::Steer).await.unwrap();
    let view = fixture.view().await;
    assert_eq!(
        view.queue.iter().map(|queued| queued.delivery).collect::<Vec<_>>(),
        [Delivery::Steer, Delivery::Queue]
    );
    assert_eq!(view.queue[0].by.as_ref().unwrap().as_str(), "user:ada");
    let journal = fixture.journal().await;
    let effect = &journal[usize::try_from(receipt.seq).unwrap() + 1].event;
    assert!(matches!(effect, AgentEvent::MessageQueued { .. }), "{effect:?}");
    fixture.until_idle().await;
    assert_eq!(fixture.sent_texts(), ["go", "be quick", "afterwards"]);
    assert_eq!(accepted(&fixture.journal().await), ["p", "q", "s"]);
    assert!(fixture.view().await.queue.is_empty());
}

#[tokio::test]
async fn prompt_that_rejects_a_busy_session_fails_and_adds_nothing() {
    let fixture = Fixture::new([call("c1", "slow"), Reply::text("one")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Running).await;
    let problem = fixture.prompt("q", "no", Delivery::Reject).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::WrongStatus);
    fixture.until_idle().await;
    assert_eq!(accepted(&fixture.journal().await), ["p"]);
}

#[tokio::test]
async fn interruption_ends_the_run_and_pauses_the_queue_until_it_is_resumed() {
    let fixture = Fixture::new([call("c1", "slow"), Reply::text("later")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Running).await;
    fixture.prompt("q", "afterwards", Delivery::Queue).await.unwrap();
    let receipt = fixture.send("i", Action::Interrupt).await.unwrap();
    let view = fixture.until_idle().await;
    assert_eq!(view.outcome, Some(RunOutcome::Aborted));
    assert!(view.is_queue_paused);
    assert_eq!(view.queue.len(), 1);
    let journal = fixture.journal().await;
    let effect = &journal[usize::try_from(receipt.seq).unwrap() + 1].event;
    assert!(matches!(effect, AgentEvent::AbortRequested), "{effect:?}");
    fixture.send("r", Action::EditQueue { edit: Edit::Resume }).await.unwrap();
    let view = fixture.until(|view| view.outcome == Some(RunOutcome::Completed)).await;
    assert!(view.queue.is_empty());
    assert_eq!(fixture.sent_texts().last().unwrap(), "afterwards");
}

/// For clients, a session is idle once the journal has the end of its run. The task of the run may take a moment longer.
#[tokio::test(flavor = "multi_thread")]
async fn message_right_after_the_end_of_an_interrupted_run_starts_the_next() {
    for _ in 0..20 {
        let fixture = Fixture::new([call("c1", "slow"), Reply::text("new")]).await;
        fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
        fixture.until(|view| view.status == SessionStatus::Running).await;
        fixture.prompt("q", "afterwards", Delivery::Queue).await.unwrap();
        fixture.send("i", Action::Interrupt).await.unwrap();
        while fixture.view().await.status != SessionStatus::Idle {
            tokio::task::yield_now().await;
        }
        fixture.prompt("n", "now", Delivery::Queue).await.unwrap();
        fixture.until(|view| view.outcome == Some(RunOutcome::Completed)).await;
        assert!(fixture.sent_texts().contains(&"now".to_owned()));
    }
}

#[tokio::test]
async fn prompt_that_interrupts_stops_the_run_and_starts_the_next() {
    let fixture = Fixture::new([call("c1", "slow"), Reply::text("new")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Running).await;
    fixture.prompt("n", "no, this", Delivery::Interrupt).await.unwrap();
    let view = fixture.until(|view| view.outcome == Some(RunOutcome::Completed)).await;
    assert_eq!(view.status, SessionStatus::Idle);
    assert_eq!(fixture.sent_texts().last().unwrap(), "no, this");
}

#[tokio::test]
async fn interrupting_an_idle_session_is_refused() {
    let fixture = Fixture::new([]).await;
    assert_eq!(fixture.send("i", Action::Interrupt).await.unwrap_err().code, ProblemCode::WrongStatus);
}

#[tokio::test]
async fn queue_can_be_edited_while_the_run_works() {
    let fixture =
        Fixture::new([call("c1", "slow"), Reply::text("one"), Reply::text("two"), Reply::text("three")])
            .await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Running).await;
    for (id, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
        fixture.prompt(id, text, Delivery::Queue).await.unwrap();
    }
    let ids = |view: &lariat_api::SessionView| {
        view.queue.iter().map(|queued| queued.message_id).collect::<Vec<_>>()
    };
    let queued = ids(&fixture.view().await);
    fixture.send("x", Action::EditQueue { edit: Edit::Remove { message_id: queued[1] } }).await.unwrap();
    let left = ids(&fixture.view().await);
    assert_eq!(left, [queued[0], queued[2]]);
    let message_ids = vec![left[1], left[0]];
    fixture.send("y", Action::EditQueue { edit: Edit::Reorder { message_ids } }).await.unwrap();
    let unknown = Edit::Remove { message_id: MessageId::default() };
    let problem = fixture.send("z", Action::EditQueue { edit: unknown }).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::NotFound);
    fixture.until_idle().await;
    assert_eq!(fixture.sent_texts(), ["go", "third", "first"]);
}

#[tokio::test]
async fn closed_session_opens_again_for_the_next_command() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    fixture.send("close", Action::Close).await.unwrap();
    assert_eq!(fixture.view().await.status, SessionStatus::Closed);
    fixture.prompt("q", "again", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    assert_eq!(fixture.sent_texts(), ["go", "again"]);
}

#[tokio::test]
async fn describing_rewinding_and_pinning_are_recorded() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    let title = Action::Describe { title: Some("A title".to_owned()), tags: None };
    fixture.send("t", title).await.unwrap();
    assert_eq!(fixture.view().await.title.as_deref(), Some("A title"));
    let unknown = Action::Pin { message_id: MessageId::default(), pinned: true };
    assert_eq!(fixture.send("u", unknown).await.unwrap_err().code, ProblemCode::NotFound);
    fixture.send("r", Action::Rewind { to: None }).await.unwrap();
    fixture.prompt("q", "anew", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    assert_eq!(fixture.sent_texts(), ["anew"]);
}
