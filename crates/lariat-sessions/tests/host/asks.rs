//! Questions: visible to every client, answered once, never forgotten.

use lariat_api::{Action, Answer, Ask, AskDigest, AskPolicy, Delivery, ProblemCode, SessionStatus};
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::permission::PermissionDecision;
use lariat_test::Reply;
use serde_json::json;

use super::fixture::{Fixture, accepted, call};

fn allow(ask: &Ask) -> Action {
    let answer = Answer::Approval { decision: PermissionDecision::Allow };
    Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer }
}

async fn asking(fixture: &Fixture) -> Ask {
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    let view = fixture.until(|view| view.status == SessionStatus::RequiresAction).await;
    assert_eq!(view.asks.len(), 1);
    view.asks[0].clone()
}

#[tokio::test]
async fn first_answer_wins_and_the_second_learns_who_did() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]).await;
    let ask = asking(&fixture).await;
    assert!(fixture.agents.ledger.is_empty());
    let receipt = fixture.send("a", allow(&ask)).await.unwrap();
    let journal = fixture.journal().await;
    let effect = &journal[usize::try_from(receipt.seq).unwrap() + 1].event;
    assert!(matches!(effect, AgentEvent::PermissionDecided { .. }), "{effect:?}");
    let problem = fixture.send("b", allow(&ask)).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::AlreadyAnswered);
    assert!(problem.message.contains("user:ada"), "{problem}");
    let view = fixture.until_idle().await;
    assert_eq!((view.outcome, view.asks.len()), (Some(RunOutcome::Completed), 0));
    assert_eq!(fixture.agents.ledger.len(), 1);
}

fn allow_changed(ask: &Ask, args: serde_json::Value) -> Action {
    let answer = Answer::Approval { decision: PermissionDecision::allow_changed(args) };
    Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer }
}

#[tokio::test]
async fn approval_with_other_arguments_is_judged_and_recorded_with_its_command() {
    for (args, runs) in [(json!({ "path": "b" }), true), (json!({ "path": "b", "deny": 1 }), false)] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]).await;
        let ask = asking(&fixture).await;
        let receipt = fixture.send("a", allow_changed(&ask, args.clone())).await.unwrap();
        let journal = fixture.journal().await;
        let effect = &journal[usize::try_from(receipt.seq).unwrap() + 1].event;
        let AgentEvent::PermissionDecided { decision, .. } = effect else { panic!("{effect:?}") };
        assert_eq!(matches!(decision, PermissionDecision::AllowChanged { .. }), runs, "{decision:?}");
        fixture.until_idle().await;
        let ran: Vec<_> = fixture.agents.ledger.all().into_iter().map(|execution| execution.args).collect();
        assert_eq!(ran, if runs { vec![args] } else { Vec::new() });
        let retried = fixture.send("a", allow_changed(&ask, json!({ "path": "c" }))).await.unwrap_err();
        assert_eq!(retried.code, ProblemCode::CommandConflict);
    }
}

#[tokio::test]
async fn interrupt_does_not_wait_for_an_answer_that_is_judged() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]).await;
    let ask = asking(&fixture).await;
    let (changed, later) = (allow_changed(&ask, json!({ "wait": 1 })), allow(&ask));
    let stop = async {
        fixture.agents.judging.notified().await;
        // The first answer wins, although the permission check has not judged it yet.
        let problem = fixture.send("b", later).await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::AlreadyAnswered, "{problem}");
        fixture.send("i", Action::Interrupt).await.unwrap();
    };
    let (judged, ()) = tokio::join!(fixture.send("a", changed), stop);
    assert_eq!(judged.unwrap_err().code, ProblemCode::AlreadyAnswered);
    let view = fixture.until_idle().await;
    assert_eq!((view.outcome, view.asks.len()), (Some(RunOutcome::Aborted), 0));
    assert!(fixture.agents.ledger.is_empty());
    assert_eq!(accepted(&fixture.journal().await), ["p", "i"], "the judged answer is not recorded");
}

#[tokio::test]
async fn answer_to_another_version_of_the_question_is_refused() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]).await;
    let mut ask = asking(&fixture).await;
    ask.digest = AskDigest::new("blake3:00");
    assert_eq!(fixture.send("a", allow(&ask)).await.unwrap_err().code, ProblemCode::DigestMismatch);
    assert_eq!(fixture.view().await.asks.len(), 1);
    assert!(fixture.agents.ledger.is_empty());
}

#[tokio::test]
async fn declined_question_denies_the_tool_call() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]).await;
    let ask = asking(&fixture).await;
    let answer = Answer::Decline { reason: Some("not today".to_owned()) };
    fixture.send("a", Action::Answer { ask_id: ask.id, digest: ask.digest, answer }).await.unwrap();
    fixture.until_idle().await;
    assert!(fixture.agents.ledger.is_empty());
}

#[tokio::test]
async fn question_is_denied_when_no_client_is_attached() {
    let replies = [call("c1", "write"), Reply::text("I see")];
    let fixture = Fixture::with_policy(replies, AskPolicy::Deny).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    let view = fixture.until(|view| view.outcome.is_some()).await;
    assert_eq!(view.outcome, Some(RunOutcome::Completed));
    assert!(fixture.agents.ledger.is_empty());
}
