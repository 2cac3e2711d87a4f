//! Sub-agents in the background through the public API: the report, a kill, cancellation, budgets, approvals.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::budget::BudgetLimits;
use lariat_core::config::ExecutionLimits;
use lariat_core::event::{AgentEvent, Event, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::permission::{AskBeforeEffects, PermissionDecision};
use lariat_core::usage::Usage;
use lariat_runtime::{BudgetPool, SubAgentTool};
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, TokioClock, call, kinds, rest, until};

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The reply of a parent that delegates in the background.
fn delegate(id: &str) -> Reply {
    Reply::tool_call(id, "helper", json!({"task": "count the files", "run_in_background": true}))
}

fn helper(fixture: &Fixture, replies: impl IntoIterator<Item = Reply>) -> (Arc<ScriptedModel>, SubAgentTool) {
    let model = Arc::new(ScriptedModel::new(replies).with_clock(TokioClock::shared()).with_recording());
    (Arc::clone(&model), tool(fixture, &model))
}

fn tool(fixture: &Fixture, model: &Arc<ScriptedModel>) -> SubAgentTool {
    let write = fixture.tool("write", || Act::text("ok"));
    SubAgentTool::new("helper", Arc::clone(model)).with_tools([Arc::new(write) as Arc<_>]).with_background()
}

fn children(events: &[Event]) -> Vec<SessionId> {
    let spawned = events.iter().filter_map(|event| match &event.event {
        AgentEvent::SubAgentSpawned { child_session_id, .. } => Some(child_session_id.clone()),
        _ => None,
    });
    spawned.collect()
}

fn ended(events: &[Event]) -> Vec<(RunOutcome, Usage)> {
    let ended = events.iter().filter_map(|event| match &event.event {
        AgentEvent::SubAgentCompleted { outcome, usage, .. } => Some((outcome.clone(), *usage)),
        _ => None,
    });
    ended.collect()
}

fn count(events: &[Event], wanted: &str) -> usize {
    kinds(events).iter().filter(|kind| *kind == wanted).count()
}

#[tokio::test(start_paused = true)]
async fn parent_continues_and_receives_the_report_as_a_message() {
    let fixture = Fixture::new([
        delegate("c1"),
        call("l1", "look"),
        Reply::text("I wait."),
        Reply::text("There are 3."),
    ]);
    let (child, helper) =
        helper(&fixture, [Reply::text("3 files").then_wait(SECONDS(50)).with_usage(Usage::new(10, 5))]);
    let look = fixture.tool("look", || Act::text("seen"));
    let agent = fixture.agent().session_id("s").tool(helper).tool(look).build().unwrap();
    let output = agent.run("how many files?").await.unwrap();
    assert_eq!((output.text.as_str(), output.outcome), ("There are 3.", RunOutcome::Completed));
    assert_eq!(child.requests(), 1);
    assert!(fixture.sent_messages(1).last().unwrap().contains("works in the background"));
    assert_eq!(fixture.sent_messages(2).last().unwrap(), "tool: seen");
    let sent = fixture.sent_messages(3);
    assert!(
        sent.last().unwrap().contains("<report task=\"count the files\">\n3 files\n</report>"),
        "{sent:?}"
    );
    let journal = fixture.journal(&"s".into()).await;
    let wanted =
        ["SubAgentSpawned", "ToolExecutionStart", "ToolExecutionEnd", "SubAgentCompleted", "MessageQueued"];
    let order: Vec<String> =
        kinds(&journal).into_iter().filter(|kind| wanted.contains(&kind.as_str())).collect();
    assert_eq!(
        order,
        [
            "SubAgentSpawned",
            "ToolExecutionStart",
            "ToolExecutionEnd",
            "ToolExecutionStart",
            "ToolExecutionEnd",
            "SubAgentCompleted",
            "MessageQueued",
        ]
    );
    assert_eq!(ended(&journal), [(RunOutcome::Completed, Usage::new(10, 5))]);
    assert_eq!(kinds(&fixture.journal(&children(&journal)[0]).await).last().unwrap(), "AgentEnd");
    fixture.assert_valid();
}

#[test]
fn killed_parent_continues_the_same_sub_agent_and_delivers_its_report_once() {
    for at in [0, 1] {
        let parent = ScriptedModel::new([delegate("c1"), Reply::text("I wait."), Reply::text("done")]);
        let fixture = Arc::new(Fixture::without_time(parent));
        let child = Arc::new(ScriptedModel::from_fn(move |n, _| match n {
            n if n == at => Reply::stall_forever(),
            0 => call("w1", "write"),
            _ => Reply::text("written"),
        }));
        let first = process();
        first.block_on(async {
            let agent = fixture.agent().session_id("s").tool(tool(&fixture, &child)).build().unwrap();
            let stream = agent.run_stream("write it");
            while child.requests() <= at || count(&fixture.journal(&"s".into()).await, "TurnEnd") < 2 {
                tokio::task::yield_now().await;
            }
            std::mem::forget(stream);
        });
        drop(first);
        assert_eq!(fixture.ledger.len(), at);
        process().block_on(async {
            let rest = if at == 0 { vec![call("w1", "write")] } else { vec![] };
            let model = Arc::new(ScriptedModel::new(rest.into_iter().chain([Reply::text("written")])));
            let agent = fixture.agent().session_id("s").tool(tool(&fixture, &model)).build().unwrap();
            assert_eq!(agent.recover().await.unwrap().unwrap().text, "done", "killed at request {at}");
            let journal = fixture.journal(&"s".into()).await;
            assert_eq!(children(&journal).len(), 1);
            assert_eq!(ended(&journal).len(), 1);
            assert_eq!(count(&journal, "MessageQueued"), 1);
            assert!(fixture.sent_messages(2).last().unwrap().contains("\nwritten\n</report>"));
            assert_eq!(fixture.ledger.len(), 1, "the tool of the sub-agent ran once");
            let child = fixture.journal(&children(&journal)[0]).await;
            assert_eq!(count(&child, "AgentStart"), 1);
            assert!(agent.recover().await.unwrap().is_none(), "nothing is left");
            fixture.assert_valid();
        });
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_run_ends_its_sub_agents_in_the_background_and_the_next_run_knows() {
    let fixture = Fixture::new([delegate("c1"), Reply::text("I wait."), Reply::text("Too bad.")]);
    let (child, helper) = helper(&fixture, [Reply::text("one").then_wait(SECONDS(500))]);
    let agent = fixture.agent().session_id("s").tool(helper).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "TurnEnd").await;
    until(&mut stream, "TurnEnd").await;
    while child.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let began = tokio::time::Instant::now();
    stream.cancel();
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
    assert!(began.elapsed() < SECONDS(5), "{:?}", began.elapsed());
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(ended(&journal)[0].0, RunOutcome::Aborted);
    assert_eq!(kinds(&journal).last().unwrap(), "AgentEnd");
    assert_eq!(kinds(&fixture.journal(&children(&journal)[0]).await).last().unwrap(), "AgentEnd");
    agent.run("and now?").await.unwrap();
    let sent = fixture.sent_messages(2).join("\n");
    assert!(sent.contains("<report task=\"count the files\">\nThe call was cancelled."), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn limit_of_a_run_includes_what_background_sub_agents_spend_meanwhile() {
    let limits = ExecutionLimits::default().with_max_total_tokens(10_000);
    let slow = Reply::text("hm").then_wait(SECONDS(10)).then_call("l1", "look", json!({}));
    let fixture = Fixture::new([
        delegate("c1").with_usage(Usage::new(10, 10)),
        slow.with_usage(Usage::new(2_000, 10)),
        Reply::text("never"),
    ]);
    let replies =
        [call("w1", "write").with_usage(Usage::new(9_000, 10)), Reply::text("x").then_wait(SECONDS(500))];
    let (child, helper) = helper(&fixture, replies);
    let look = fixture.tool("look", || Act::text("seen"));
    let agent = fixture.agent().session_id("s").limits(limits).tool(helper).tool(look).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert!(matches!(output.outcome, RunOutcome::LimitReached { .. }), "{:?}", output.outcome);
    assert_eq!((fixture.model.requests(), child.requests()), (2, 2));
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(ended(&journal)[0].1.total(), 9_010);

    // What the parent spends meanwhile is not left for the sub-agent.
    let limits = ExecutionLimits::default().with_max_total_tokens(10_000);
    let fixture = Fixture::new([
        delegate("c1").with_usage(Usage::new(10, 10)),
        call("l1", "look").with_usage(Usage::new(9_000, 0)),
        Reply::text("fine").with_usage(Usage::new(1, 1)),
        Reply::text("never"),
    ]);
    let slow = call("w1", "write").with_usage(Usage::new(500, 0));
    let late = Reply::text("hm").then_wait(SECONDS(20)).then_call("w2", "write", json!({}));
    let (child, helper) =
        self::helper(&fixture, [slow, late.with_usage(Usage::new(600, 0)), Reply::text("never")]);
    let look = fixture.tool("look", || Act::text("seen"));
    let agent = fixture.agent().session_id("s").limits(limits).tool(helper).tool(look).build().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(child.requests(), 2);
    let journal = fixture.journal(&"s".into()).await;
    assert!(matches!(ended(&journal)[0].0, RunOutcome::LimitReached { .. }), "{:?}", ended(&journal));
}

#[tokio::test(start_paused = true)]
async fn sub_agents_in_the_background_spend_from_the_pool_and_occupy_a_place() {
    let both = delegate("c1").then_call("c2", "helper", json!({"task": "too", "run_in_background": true}));
    let spent = |reply: Reply| reply.with_usage(Usage::new(100, 100));
    let fixture = Fixture::new([
        spent(both),
        spent(Reply::text("I wait.")),
        spent(Reply::text("one failed")),
        spent(Reply::text("fine")),
    ]);
    let (child, helper) = helper(&fixture, [spent(Reply::text("a").then_wait(SECONDS(5)))]);
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(100_000));
    let helper = helper.with(|agent| agent.with_max_running(1));
    let agent = fixture.agent().session_id("s").budget_pool(pool.clone()).tool(helper).build().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(child.requests(), 1);
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(ended(&journal).len(), 2);
    let model_calls = fixture.model.requests() as u64 + 1;
    assert_eq!(pool.spent().tokens, model_calls * 200);
    assert!(pool.is_idle());
    let all: String = (0..fixture.model.requests()).map(|n| fixture.sent_messages(n).join("\n")).collect();
    assert!(all.contains("1 sub-agents run already"), "{all}");
}

#[tokio::test(start_paused = true)]
async fn approval_request_of_a_sub_agent_in_the_background_reaches_the_user() {
    let fixture = Fixture::new([delegate("c1"), Reply::text("I wait."), Reply::text("fine")]);
    let (_, helper) =
        helper(&fixture, [call("w1", "write").then_call("w2", "write", json!({})), Reply::text("written")]);
    let agent =
        fixture.agent().permission_policy(AskBeforeEffects).session_id("s").tool(helper).build().unwrap();
    let mut stream = agent.run_stream("go");
    for decision in [PermissionDecision::Allow, PermissionDecision::deny("not that one")] {
        let asked = until(&mut stream, "PermissionRequired").await;
        let AgentEvent::PermissionRequired { request } = &asked.event else { panic!() };
        assert_eq!(
            (request.agents.as_slice(), request.tool_call_id.as_str()),
            (&["helper".to_owned()][..], "c1")
        );
        stream.respond_permission(request.id, decision);
    }
    rest(&mut stream).await;
    assert_eq!(fixture.ledger.len(), 1, "one of two writes was approved");
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(count(&journal, "PermissionDecided"), 2);
    assert!(fixture.sent_messages(2).last().unwrap().contains("\nwritten\n"));
    assert!(agent.pending_permissions().is_empty());
}
