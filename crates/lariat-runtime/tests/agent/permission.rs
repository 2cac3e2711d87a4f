//! Approval requests: answered through the stream, answered by an approver, unanswered.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::permission::{
    AskBeforeEffects, PermissionDecision, PermissionPolicy, PolicyQuery, UserQuestion, Verdict,
};
use lariat_core::question::UserAnswer;
use lariat_core::tool::{Tool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_runtime::{Agent, RunStream};
use lariat_test::{Act, Answer, Reply, ScriptedApprover};
use serde_json::{Value, json};

use super::fixture::{Fixture, call, kinds, until};

fn asking(fixture: &Fixture) -> Agent {
    fixture
        .agent()
        .permission_policy(AskBeforeEffects)
        .tool(fixture.tool("write", || Act::text("ok")))
        .build()
        .unwrap()
}

async fn question(stream: &mut RunStream) -> lariat_core::id::RequestId {
    let AgentEvent::PermissionRequired { request } = &until(stream, "PermissionRequired").await.event else {
        panic!()
    };
    assert_eq!(request.tool_name, "write");
    request.id
}

#[tokio::test(start_paused = true)]
async fn tool_call_runs_after_approval_through_the_stream() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let mut stream = asking(&fixture).run_stream("go");
    let request = question(&mut stream).await;
    assert!(fixture.ledger.is_empty(), "nothing runs before the answer");
    stream.respond_permission(request, PermissionDecision::Allow);
    stream.respond_permission(request, PermissionDecision::deny("too late: the first answer is used"));
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert_eq!(fixture.ledger.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn denied_tool_call_does_not_run_and_the_model_receives_the_reason() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let agent = asking(&fixture);
    let mut stream = agent.run_stream("go");
    let request = question(&mut stream).await;
    agent.respond_permission(request, PermissionDecision::deny("not on a Friday"));
    assert_eq!(stream.finish().await.unwrap().text, "I see");
    assert!(fixture.ledger.is_empty());
    assert!(fixture.sent_messages(1)[2].contains("not on a Friday"), "{:?}", fixture.sent_messages(1));
}

#[tokio::test(start_paused = true)]
async fn unanswered_approval_request_is_withdrawn_when_the_run_is_cancelled() {
    let fixture = Fixture::new([call("c1", "write")]);
    let agent = asking(&fixture);
    let mut stream = agent.run_stream("go");
    question(&mut stream).await;
    stream.cancel();
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
    assert!(fixture.ledger.is_empty());
    let journal = fixture.journal(&agent.session_id()).await;
    let withdrawn = journal.iter().any(|event| {
        matches!(&event.event, AgentEvent::PermissionDecided { decision: PermissionDecision::Withdrawn, .. })
    });
    assert!(withdrawn, "{:?}", kinds(&journal));
}

#[tokio::test(start_paused = true)]
async fn read_only_tool_runs_without_approval_and_an_approver_answers_for_the_rest() {
    let fixture = Fixture::new([call("c1", "read"), call("c2", "write"), Reply::text("done")]);
    let approver = ScriptedApprover::new(fixture.clock.clone(), |_| PermissionDecision::Allow.into());
    let agent = fixture
        .agent()
        .permission_policy(AskBeforeEffects)
        .tool(fixture.tool("read", || Act::text("r")).with_effects(ToolEffects::READS))
        .tool(fixture.tool("write", || Act::text("w")))
        .approver(approver)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(fixture.ledger.len(), 2);
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    assert_eq!(journal.iter().filter(|kind| *kind == "PermissionRequired").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn panicking_approver_denies() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let agent = fixture
        .agent()
        .permission_policy(AskBeforeEffects)
        .tool(fixture.tool("write", || Act::text("w")))
        .approver(ScriptedApprover::new(fixture.clock.clone(), |_| Answer::Panic))
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "I see");
    assert!(fixture.ledger.is_empty());
}

#[tokio::test(start_paused = true)]
async fn run_without_an_approver_denies_at_once_and_says_why() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let agent = asking(&fixture);
    let begun = tokio::time::Instant::now();
    let output = agent.run("go").await.unwrap();
    assert_eq!(output.text, "I see");
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "waited {:?}", begun.elapsed());
    assert!(fixture.ledger.is_empty(), "the tool did not run");
    assert!(fixture.sent_messages(1)[2].contains("has no approver"), "{:?}", fixture.sent_messages(1));
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    assert!(journal.contains(&"PermissionDecided".to_owned()), "{journal:?}");
}

#[tokio::test(start_paused = true)]
async fn run_that_waits_for_answers_takes_one_from_another_task() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let agent = fixture
        .agent()
        .permission_policy(AskBeforeEffects)
        .tool(fixture.tool("write", || Act::text("ok")))
        .wait_for_answers()
        .build()
        .unwrap();
    let mut events = agent.subscribe();
    let answering = async {
        while let Ok(event) = events.recv().await {
            if let AgentEvent::PermissionRequired { request } = &event.event {
                return agent.respond_permission(request.id, PermissionDecision::Allow);
            }
        }
    };
    let (output, ()) = futures_util::future::join(agent.run("go"), answering).await;
    assert_eq!((output.unwrap().text.as_str(), fixture.ledger.len()), ("done", 1));
}

/// A tool that asks the user while it runs, and returns what it learned.
struct AskingTool;

impl Tool for AskingTool {
    fn name(&self) -> &str {
        "asking"
    }

    fn description(&self) -> &str {
        "Asks the user."
    }

    fn parameters_schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::READS
    }

    async fn execute(&self, _params: Value, context: ToolContext) -> Result<ToolResult, ToolError> {
        let question = UserQuestion::new("Which one?", vec!["this".to_owned()]);
        Ok(ToolResult::text(match context.ask(question).await {
            UserAnswer::Text(text) => format!("answered: {text}"),
            UserAnswer::Declined { reason } => format!("declined: {}", reason.unwrap_or_default()),
            UserAnswer::Withdrawn => "withdrawn".to_owned(),
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn running_tool_receives_the_answer_of_the_user_once_it_is_recorded() {
    let fixture = Fixture::new([call("c1", "asking"), Reply::text("done")]);
    let agent = fixture.agent().tool(AskingTool).build().unwrap();
    let mut stream = agent.run_stream("go");
    let AgentEvent::PermissionRequired { request } =
        &until(&mut stream, "PermissionRequired").await.event.clone()
    else {
        panic!()
    };
    assert_eq!(request.question.as_ref().unwrap().text, "Which one?");
    stream.respond_permission(request.id, PermissionDecision::Answered { text: "that".to_owned() });
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert!(fixture.sent_messages(1)[2].contains("answered: that"), "{:?}", fixture.sent_messages(1));
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    let of_call: Vec<&str> = journal
        .iter()
        .map(String::as_str)
        .filter(|kind| kind.starts_with("Permission") || kind.starts_with("ToolExecution"))
        .collect();
    assert_eq!(
        of_call,
        ["ToolExecutionStart", "PermissionRequired", "PermissionDecided", "ToolExecutionEnd"]
    );
}

#[tokio::test(start_paused = true)]
async fn question_of_a_running_tool_is_declined_at_once_without_a_user() {
    let fixture = Fixture::new([call("c1", "asking"), Reply::text("done")]);
    let agent = fixture.agent().tool(AskingTool).build().unwrap();
    agent.run("go").await.unwrap();
    assert!(fixture.sent_messages(1)[2].contains("declined: "), "{:?}", fixture.sent_messages(1));
}

/// A policy that permits everything and never asks the user.
struct SilentPolicy;

impl PermissionPolicy for SilentPolicy {
    fn check<'a>(&'a self, _query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }

    fn allows_questions(&self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn policy_without_questions_declines_them_without_asking() {
    let fixture = Fixture::new([call("c1", "asking"), Reply::text("done")]);
    let agent = fixture.agent().permission_policy(Arc::new(SilentPolicy)).tool(AskingTool).build().unwrap();
    let stream = agent.run_stream("go");
    stream.finish().await.unwrap();
    let sent = fixture.sent_messages(1);
    assert!(sent[2].contains("declined: no user is available to answer"), "{sent:?}");
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    assert!(!journal.iter().any(|kind| kind == "PermissionRequired"), "{journal:?}");
}
