//! Budgets of an embedding program: over several runs, several agents and several days.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::budget::{BudgetLimits, BudgetRequest, BudgetScope, SpentAmounts};
use lariat_core::event::{AgentEvent, LimitKind, RunOutcome};
use lariat_core::ledger::Source;
use lariat_core::permission::{Approver, PermissionDecision, PermissionRequest};
use lariat_core::usage::Usage;
use lariat_runtime::{Agent, AgentBuilder, BudgetPool, DailyBudget, MemorySpending};
use lariat_test::{Act, Reply};
use serde_json::json;

use super::fixture::Fixture;

fn spending(tokens: u64) -> Reply {
    Reply::text("ok").with_usage(Usage::new(tokens - 1, 1))
}

fn working(id: &str, tokens: u64) -> Reply {
    Reply::tool_call(id, "write", json!({ "id": id })).with_usage(Usage::new(tokens - 1, 1))
}

fn limited(limit: LimitKind, scope: BudgetScope) -> RunOutcome {
    RunOutcome::LimitReached { limit, scope }
}

fn built(builder: AgentBuilder) -> Agent {
    builder.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn session_limit_applies_over_several_runs_and_a_restart() {
    let fixture = Fixture::new((0..9).map(|_| spending(40)));
    let agent = || {
        let limits = BudgetLimits::none().with_tokens(100);
        built(fixture.agent().session_id("s").session_budget(limits))
    };
    let first = agent();
    assert_eq!(first.run("one").await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(first.run("two").await.unwrap().outcome, RunOutcome::Completed);
    let second = agent();
    assert_eq!(
        second.run("three").await.unwrap().outcome,
        RunOutcome::Completed,
        "the last call may exceed the limit"
    );
    let session = limited(LimitKind::Tokens, BudgetScope::Session);
    assert_eq!(second.run("four").await.unwrap().outcome, session);
    assert_eq!(fixture.model.requests(), 3);
    second.extend_budget(BudgetScope::Session, BudgetLimits::none().with_tokens(100));
    assert_eq!(second.run("five").await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(agent().ledger().await.unwrap().spent().tokens, 160);
    let third = agent();
    assert_eq!(third.run("six").await.unwrap().outcome, RunOutcome::Completed, "the extension is journaled");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn agents_share_the_budget_of_a_pool() {
    let fixture = Fixture::new([working("a", 60), spending(30), spending(20), spending(20)]);
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(100).with_tool_calls(1));
    let agent = || {
        let tool = fixture.tool("write", || Act::text("done"));
        built(fixture.agent().tool(tool).budget_pool(pool.child(BudgetLimits::none())))
    };
    assert_eq!(agent().run("one").await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(agent().run("two").await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(agent().run("three").await.unwrap().outcome, limited(LimitKind::Tokens, BudgetScope::Pool));
    assert_eq!((pool.spent().tokens, pool.spent().tool_calls, pool.is_idle()), (110, 1, true));
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn daily_budget_applies_across_agents() {
    let fixture = Fixture::new((0..9).map(|_| spending(60)));
    let log = Arc::new(MemorySpending::default());
    let agent = || {
        let limits = BudgetLimits::none().with_tokens(100);
        built(fixture.agent().daily_budget(DailyBudget::new(limits, log.clone())))
    };
    assert!(agent().run("one").await.unwrap().outcome.is_completed());
    assert!(agent().run("two").await.unwrap().outcome.is_completed());
    assert_eq!(agent().run("three").await.unwrap().outcome, limited(LimitKind::Tokens, BudgetScope::Day));
    tokio::time::advance(std::time::Duration::from_secs(24 * 60 * 60)).await;
    assert!(agent().run("the next day").await.unwrap().outcome.is_completed());
}

/// Grants the first extension it is asked for.
struct ApproveOneExtension(std::sync::atomic::AtomicBool);

impl Approver for ApproveOneExtension {
    fn ask<'a>(&'a self, _: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(std::future::ready(PermissionDecision::Allow))
    }

    fn extend_budget<'a>(&'a self, request: &'a BudgetRequest) -> BoxFuture<'a, Option<BudgetLimits>> {
        let again = self.0.swap(true, std::sync::atomic::Ordering::SeqCst);
        Box::pin(std::future::ready((!again).then_some(request.proposed)))
    }
}

#[tokio::test(start_paused = true)]
async fn approver_is_asked_before_a_pool_stops_a_run() {
    let fixture = Fixture::new((0..9).map(|n| working(&format!("c{n}"), 60)));
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(100));
    let tool = fixture.tool("write", || Act::text("done"));
    let builder = fixture.agent().tool(tool).repetition(None).budget_pool(pool.clone());
    let agent = built(builder.approver(ApproveOneExtension(false.into())));
    let output = agent.run("go").await.unwrap();
    assert_eq!(output.outcome, limited(LimitKind::Tokens, BudgetScope::Pool));
    assert_eq!(pool.spent().tokens, 240, "100 and one extension");
    let events = fixture.journal(&agent.session_id()).await;
    let asked = |event: &AgentEvent| matches!(event, AgentEvent::BudgetExtensionRequested { .. });
    assert_eq!(events.iter().filter(|event| asked(&event.event)).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn ledger_lists_spending_by_source() {
    let fixture = Fixture::new([working("a", 60), working("b", 30), spending(20)]);
    let tool = fixture.tool("write", || Act::text("done"));
    let agent = built(fixture.agent().tool(tool));
    agent.run("go").await.unwrap();
    let ledger = agent.ledger().await.unwrap();
    let sources: Vec<(&Source, u64, u64)> =
        ledger.sources().map(|(source, entry)| (source, entry.calls, entry.usage.total())).collect();
    assert_eq!(sources.len(), 2);
    assert_eq!((sources[0].1, sources[0].2), (3, 110));
    assert_eq!((sources[1].0, sources[1].1), (&Source::Tool("write".into()), 2));
    assert_eq!(SpentAmounts::usage(ledger.usage()).tokens, 110);
}
