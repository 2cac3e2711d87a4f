//! Sub-agents through the public API: order of events, links, recovery, budgets, cancellation, limits, approvals.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::budget::BudgetLimits;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, Event, EventRecord, RunOutcome, TurnTrigger};
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks};
use lariat_core::id::SessionId;
use lariat_core::model::{ModelStream, StreamConfig, StreamProvider};
use lariat_core::permission::{
    AllowAll, AskBeforeEffects, PermissionDecision, PermissionPolicy, PolicyQuery, Verdict,
};
use lariat_core::session::Session;
use lariat_core::store::{Append, SessionStore as _};
use lariat_core::usage::Usage;
use lariat_runtime::{BudgetPool, NarrowedPolicy, SubAgent, SubAgentTool};
use lariat_test::{Act, Fault, FaultyStore, Reply, ScriptedModel};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, TokioClock, kinds, rest, starts, until};

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The reply of a parent that delegates.
fn delegate(id: &str, tool: &str) -> Reply {
    Reply::tool_call(id, tool, json!({"task": "count the files"}))
}

/// A tool for sub-agents with a script of their own.
fn helper(replies: impl IntoIterator<Item = Reply>) -> (Arc<ScriptedModel>, SubAgentTool) {
    let model = Arc::new(ScriptedModel::new(replies).with_clock(TokioClock::shared()).with_recording());
    (Arc::clone(&model), SubAgentTool::new("helper", Arc::clone(&model)))
}

fn child_session(events: &[Event]) -> SessionId {
    let spawned = events.iter().find_map(|event| match &event.event {
        AgentEvent::SubAgentSpawned { child_session_id, .. } => Some(child_session_id.clone()),
        _ => None,
    });
    spawned.unwrap()
}

fn ended(events: &[Event]) -> (RunOutcome, Usage) {
    let ended: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::SubAgentCompleted { outcome, usage, .. } => Some((outcome.clone(), *usage)),
            _ => None,
        })
        .collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    ended[0].clone()
}

fn result_text(events: &[Event]) -> String {
    let result = events.iter().find_map(|event| match &event.event {
        AgentEvent::ToolExecutionEnd { message, .. } => {
            Some(message.shared().unwrap().as_llm().unwrap().text())
        }
        _ => None,
    });
    result.unwrap()
}

#[tokio::test(start_paused = true)]
async fn sub_agent_runs_in_its_own_session_and_both_journals_name_each_other() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("There are 3.")]);
    let (child_model, tool) = helper([Reply::text("3 files").with_usage(Usage::new(10, 5))]);
    let agent = fixture.agent().session_id("s").tool(tool.with_system_prompt("You count.")).build().unwrap();
    let mut stream = agent.run_stream("how many files?");
    let events = rest(&mut stream).await;

    let wanted = ["SubAgentSpawned", "ToolExecutionStart", "SubAgentCompleted", "ToolExecutionEnd"];
    let order: Vec<String> =
        kinds(&events).into_iter().filter(|kind| wanted.contains(&kind.as_str())).collect();
    assert_eq!(order, wanted);

    let parent = fixture.journal(&"s".into()).await;
    let child_id = child_session(&parent);
    let child = fixture.journal(&child_id).await;
    let start = &starts(&child)[0];
    assert_eq!(start.loop_id.as_str(), format!("{child_id}.sub.1"));
    assert_eq!(start.parent_loop_id, Some(starts(&parent)[0].loop_id.clone()));
    let spawned_by = start.spawned_by.clone().unwrap();
    assert_eq!((spawned_by.parent_session_id.as_str(), spawned_by.tool_call_id.as_str()), ("s", "c1"));
    assert_eq!(spawned_by.tool_name, "helper");
    assert_ne!(start.agent_id, *agent.agent_id());
    assert!(child.iter().any(|event| matches!(
        event.event,
        AgentEvent::TurnStart { triggered_by: TurnTrigger::SubAgent, .. }
    )));
    let record = Session::of(&parent).unwrap();
    let link = &record.loops[0].child_loop_refs[0];
    assert_eq!((&link.child_session_id, &link.child_loop_id), (&child_id, &start.loop_id));

    assert_eq!(ended(&parent), (RunOutcome::Completed, Usage::new(10, 5)));
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: 3 files");
    let request = &child_model.recorded_requests()[0];
    assert_eq!(super::fixture::sent_messages(request), ["user: count the files"]);
    assert_eq!(request.system_prompt.as_str(), "You count.");
    assert!(request.tools.is_empty());
    fixture.assert_valid();
}

/// Tokens of the first reply of the sub-agent that is killed.
const SPENT_BEFORE_KILL: u64 = 1_200;

/// Runs a parent whose sub-agent uses a tool, and kills the process at the `at`-th request of the child's model.
fn killed_in_child(at: usize) -> (Arc<Fixture>, Arc<ScriptedModel>) {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([delegate("c1", "helper"), Reply::text("done")])));
    let child = Arc::new(ScriptedModel::from_fn(move |n, _| match n {
        n if n == at => Reply::stall_forever(),
        0 => Reply::tool_call("w1", "write", json!({})).with_usage(Usage::new(SPENT_BEFORE_KILL, 0)),
        _ => Reply::text("written"),
    }));
    let first = process();
    first.block_on(async {
        let agent = fixture.agent().session_id("s").tool(child_tool(&fixture, &child)).build().unwrap();
        let stream = agent.run_stream("write it");
        while child.requests() <= at {
            tokio::task::yield_now().await;
        }
        std::mem::forget(stream);
    });
    drop(first);
    (fixture, child)
}

fn child_tool(fixture: &Fixture, model: &Arc<ScriptedModel>) -> SubAgentTool {
    let write = fixture.tool("write", || Act::text("ok"));
    SubAgentTool::new("helper", Arc::clone(model)).with_tools([Arc::new(write) as Arc<_>])
}

#[test]
fn recovered_parent_resumes_the_same_sub_agent_and_repeats_no_tool() {
    for at in [0, 1] {
        let (fixture, _) = killed_in_child(at);
        let before = fixture.ledger.len();
        assert_eq!(before, at, "the child's tool ran before its second request");
        process().block_on(async {
            let rest = if at == 0 { vec![Reply::tool_call("w1", "write", json!({}))] } else { vec![] };
            let model = Arc::new(ScriptedModel::new(rest.into_iter().chain([Reply::text("written")])));
            let agent = fixture.agent().session_id("s").tool(child_tool(&fixture, &model)).build().unwrap();
            let output = agent.recover().await.unwrap().unwrap();
            assert_eq!(output.text, "done");
            let parent = fixture.journal(&"s".into()).await;
            let spawned = kinds(&parent).iter().filter(|kind| *kind == "SubAgentSpawned").count();
            assert_eq!(spawned, 1, "killed at request {at}");
            assert_eq!(ended(&parent).0, RunOutcome::Completed);
            assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: written");
            assert_eq!(fixture.ledger.len(), 1, "the tool of the sub-agent ran once");
            let child = fixture.journal(&child_session(&parent)).await;
            assert_eq!(kinds(&child).iter().filter(|kind| *kind == "AgentStart").count(), 1);
            assert!(parent.iter().any(|event| matches!(
                &event.event,
                AgentEvent::LoopRecovered { interrupted, .. } if interrupted.is_empty()
            )));
            fixture.assert_valid();
        });
    }
}

#[test]
fn sub_agent_that_ended_before_the_crash_is_not_run_again() {
    let (fixture, _) = killed_in_child(1);
    // The child ends in a process of its own; the parent's journal does not know.
    let child_id = process().block_on(async {
        let parent = fixture.journal(&"s".into()).await;
        let child_id = child_session(&parent);
        let model = Arc::new(ScriptedModel::new([Reply::text("written by hand")]));
        let write = fixture.tool("write", || Act::text("ok"));
        let child = lariat_runtime::Agent::builder()
            .provider(model)
            .store(fixture.store.clone())
            .permission_policy(AllowAll)
            .tool(write)
            .session_id(child_id.clone())
            .build()
            .unwrap();
        child.recover().await.unwrap().unwrap();
        child.close().await;
        child_id
    });
    process().block_on(async {
        let model = Arc::new(ScriptedModel::new([]));
        let agent = fixture.agent().session_id("s").tool(child_tool(&fixture, &model)).build().unwrap();
        assert_eq!(agent.recover().await.unwrap().unwrap().text, "done");
        assert_eq!(model.requests(), 0);
        assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: written by hand");
        assert_eq!(starts(&fixture.journal(&child_id).await).len(), 1);
    });
}

#[test]
fn sub_agent_whose_end_is_recorded_does_not_run_again() {
    let (fixture, _) = killed_in_child(1);
    process().block_on(async {
        let id = SessionId::from("s");
        let journal = fixture.journal(&id).await;
        // The first process recorded the end, and died before it recorded the end of the tool call.
        let ended = journal.iter().find_map(|event| match &event.event {
            AgentEvent::SubAgentSpawned { tool_call_id, child_loop_id, .. } => {
                Some(AgentEvent::SubAgentCompleted {
                    tool_call_id: tool_call_id.clone(),
                    child_loop_id: child_loop_id.clone(),
                    outcome: RunOutcome::Failed { error: "refused".to_owned() },
                    usage: Usage::default(),
                })
            }
            _ => None,
        });
        let mut record = EventRecord::clone(journal.last().unwrap());
        (record.seq, record.event) = (record.seq + 1, ended.unwrap());
        let epoch = fixture.store.claim(&id).await.unwrap();
        let expected = record.seq;
        fixture.store.append(Append::new(&id, epoch, expected, &[Event::from(record)])).await.unwrap();
        fixture.store.release(&id, epoch).await.unwrap();
        let model = Arc::new(ScriptedModel::new([Reply::text("again")]));
        let agent = fixture.agent().session_id("s").tool(child_tool(&fixture, &model)).build().unwrap();
        assert_eq!(agent.recover().await.unwrap().unwrap().text, "done");
        assert_eq!(model.requests(), 0, "the sub-agent continued after its end");
    });
}

#[tokio::test(start_paused = true)]
async fn sub_agent_at_its_deadline_receives_a_request_to_report_and_is_then_stopped() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let (child, tool) = helper([
        Reply::text("thinking").then_wait(Duration::from_secs(50)).then_call("w1", "wait", json!({})),
        Reply::text("I found 2 so far."),
    ]);
    let wait = fixture.tool("wait", || Act::text("waited"));
    let tool = tool
        .with_tools([Arc::new(wait) as Arc<_>])
        .with_timeout(Duration::from_secs(60), Duration::from_secs(20));
    let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    let sent = super::fixture::sent_messages(&child.recorded_requests()[1]);
    assert!(sent.last().unwrap().contains("You have 20 seconds left"), "{sent:?}");
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(result_text(&journal), "I found 2 so far.");

    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let (_, tool) = helper([Reply::text("I found 1").then_wait(Duration::from_secs(500))]);
    let tool = tool.with_timeout(Duration::from_secs(60), Duration::from_secs(20));
    let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
    let began = tokio::time::Instant::now();
    agent.run("go").await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(70), "{:?}", began.elapsed());
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(ended(&journal).0, RunOutcome::Aborted);
    let child = fixture.journal(&child_session(&journal)).await;
    assert_eq!(kinds(&child).last().unwrap(), "AgentEnd");
}

#[tokio::test(start_paused = true)]
async fn cancelled_parent_ends_its_sub_agents_and_both_record_it() {
    let fixture = Fixture::new([delegate("c1", "helper")]);
    let (child, tool) = helper([Reply::text("one").then_wait(Duration::from_secs(500))]);
    let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "ToolExecutionStart").await;
    while child.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let began = tokio::time::Instant::now();
    stream.cancel();
    let output = stream.finish().await.unwrap();
    assert_eq!(output.outcome, RunOutcome::Aborted);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let parent = fixture.journal(&"s".into()).await;
    assert_eq!(ended(&parent).0, RunOutcome::Aborted);
    let child = fixture.journal(&child_session(&parent)).await;
    assert_eq!(kinds(&child).last().unwrap(), "AgentEnd");
}

#[tokio::test(start_paused = true)]
async fn cancelled_sub_agent_whose_store_fails_is_recorded_with_what_it_spent() {
    // The store of the sub-agent fails before or after its first reply is saved, or does not answer after it, so that the sub-agent
    // cannot report its end.
    let unanswered = Fault::Late(Duration::from_secs(100_000));
    for (saved, fault) in [(false, Fault::Refuse), (true, Fault::Refuse), (true, unanswered)] {
        let fixture = Fixture::new([delegate("c1", "helper").with_usage(Usage::new(10, 10))]);
        let child = Arc::new(ScriptedModel::new([
            Reply::tool_call("w1", "wait", json!({})).with_usage(Usage::new(1_000, 50))
        ]));
        let wait = fixture.tool("wait", || Act::text("waited").after(Duration::from_secs(500)));
        let tool = SubAgentTool::new("helper", Arc::clone(&child)).with_tools([Arc::new(wait) as Arc<_>]);
        let store = FaultyStore::new(fixture.clock.clone());
        let mut replied = false;
        let store = Arc::new(store.with_plan(move |append| {
            let is_reply = |event: &Event| {
                matches!(&event.event, AgentEvent::MessageEnd { message } if message.shared().is_some_and(|message| message.as_assistant().is_some()))
            };
            let is_child = append.session_id.as_str() != "s";
            let had_replied = replied;
            replied |= is_child && append.events.iter().any(is_reply);
            if is_child && (had_replied || (replied && !saved)) { fault.clone() } else { Fault::None }
        }));
        let pool = BudgetPool::new(BudgetLimits::none().with_tokens(100_000));
        let agent = fixture.agent().store(store.clone()).session_id("s").budget_pool(pool.clone()).tool(tool);
        let agent = agent.build().unwrap();
        let stream = agent.run_stream("go");
        tokio::time::sleep(Duration::from_secs(5)).await;
        stream.cancel();
        assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted);
        let (outcome, usage) = ended(&store.survivors(&"s".into()));
        assert!(matches!(outcome, RunOutcome::Failed { .. }), "saved: {saved}, {outcome:?}");
        assert_eq!((usage.total(), pool.spent().tokens), (1_050, 1_070), "saved: {saved}");
        assert!(pool.is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn sub_agents_spend_from_the_pool_of_their_parent_and_return_what_is_left() {
    let spent = |reply: Reply| reply.with_usage(Usage::new(100, 100));
    let fixture = Fixture::new([
        spent(delegate("c1", "helper")),
        spent(delegate("c2", "helper")),
        spent(Reply::text("fine")),
    ]);
    let (_, tool) = helper([spent(Reply::text("a")), spent(Reply::text("b"))]);
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(100_000));
    let tool = tool.with_budget(BudgetLimits::none().with_tokens(30_000));
    let agent = fixture.agent().session_id("s").budget_pool(pool.clone()).tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(pool.spent().tokens, 1_000);
    assert!(pool.is_idle());
    let journal = fixture.journal(&"s".into()).await;
    let used: u64 = journal
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::SubAgentCompleted { usage, .. } => Some(usage.total()),
            _ => None,
        })
        .sum();
    assert_eq!(used, 400);
    // The pool is not reserved any more: another child can have all of the rest.
    let rest = pool.child(BudgetLimits::none().with_tokens(99_000));
    assert!(rest.try_admit(Default::default()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn limit_of_a_run_covers_what_its_sub_agents_spend() {
    let limits = lariat_core::config::ExecutionLimits::default().with_max_total_tokens(10_000);
    let fixture = Fixture::new([
        delegate("c1", "helper").with_usage(Usage::new(10, 10)),
        delegate("c2", "helper").with_usage(Usage::new(10, 10)),
        Reply::text("fine").with_usage(Usage::new(10, 10)),
    ]);
    let (child, tool) = helper([
        Reply::text("a").with_usage(Usage::new(6_000, 10)),
        Reply::text("b").with_usage(Usage::new(6_000, 10)),
        Reply::text("c"),
    ]);
    let agent = fixture.agent().session_id("s").limits(limits).tool(tool).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!(child.requests(), 2);
    assert!(matches!(output.outcome, RunOutcome::LimitReached { .. }), "{:?}", output.outcome);
}

#[test]
fn resumed_sub_agent_keeps_what_it_spent_before_the_crash() {
    let (fixture, _) = killed_in_child(1);
    process().block_on(async {
        let model = Arc::new(ScriptedModel::new([Reply::text("too much")]));
        let limits = lariat_core::config::ExecutionLimits::default().with_max_total_tokens(1_000);
        let tool = child_tool(&fixture, &model);
        let agent = fixture.agent().session_id("s").limits(limits).tool(tool).build().unwrap();
        agent.recover().await.unwrap().unwrap();
        assert_eq!(model.requests(), 0, "the sub-agent has used up the budget of its parent");
        let (outcome, usage) = ended(&fixture.journal(&"s".into()).await);
        assert!(matches!(outcome, RunOutcome::LimitReached { .. }), "{outcome:?}");
        assert_eq!(usage.total(), SPENT_BEFORE_KILL);
    });
}

#[test]
fn resumed_sub_agent_of_a_sub_agent_keeps_what_it_spent_before_the_crash() {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([delegate("c1", "outer"), Reply::text("done")])));
    let nested = |outer: [Reply; 1], inner: &Arc<ScriptedModel>| {
        let inner = Arc::new(child_tool(&fixture, inner)) as Arc<_>;
        SubAgentTool::new("outer", Arc::new(ScriptedModel::new(outer))).with_tools([inner])
    };
    let inner = Arc::new(ScriptedModel::from_fn(|n, _| match n {
        0 => Reply::tool_call("w1", "write", json!({})).with_usage(Usage::new(SPENT_BEFORE_KILL, 0)),
        _ => Reply::stall_forever(),
    }));
    let first = process();
    first.block_on(async {
        let tool = nested([delegate("c2", "helper")], &inner);
        let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
        let stream = agent.run_stream("write it");
        while inner.requests() <= 1 {
            tokio::task::yield_now().await;
        }
        std::mem::forget(stream);
    });
    drop(first);
    process().block_on(async {
        let inner = Arc::new(ScriptedModel::new([Reply::text("too much")]));
        let limits = lariat_core::config::ExecutionLimits::default().with_max_total_tokens(1_000);
        let tool = nested([Reply::text("too much")], &inner);
        let agent = fixture.agent().session_id("s").limits(limits).tool(tool).build().unwrap();
        agent.recover().await.unwrap().unwrap();
        assert_eq!(inner.requests(), 0, "the limit of the first agent is used up");
        let (_, usage) = ended(&fixture.journal(&"s".into()).await);
        assert!(usage.total() >= SPENT_BEFORE_KILL, "{usage:?}");
    });
}

/// A provider that does not report costs.
struct Unpriced(Arc<ScriptedModel>);

impl StreamProvider for Unpriced {
    fn provider_id(&self) -> &str {
        self.0.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        self.0.stream(request, cancel)
    }
}

#[tokio::test(start_paused = true)]
async fn sub_agent_without_a_price_does_not_run_while_money_is_limited() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let child = Arc::new(ScriptedModel::new([Reply::text("never")]));
    let tool = SubAgentTool::new("helper", Unpriced(Arc::clone(&child)));
    let pool = BudgetPool::new(BudgetLimits::none().with_cost(lariat_core::usage::Cost::from_usd(1.0)));
    let agent = fixture.agent().session_id("s").budget_pool(pool).tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    let journal = fixture.journal(&"s".into()).await;
    assert!(result_text(&journal).contains("price"), "{}", result_text(&journal));
    assert_eq!(child.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn depth_and_number_of_sub_agents_are_limited() {
    // Each sub-agent delegates again until the limit of depth refuses.
    let fixture = Fixture::with_model(ScriptedModel::from_fn(|_, request| {
        match request.messages.iter_back().next().and_then(|message| message.as_tool_result().cloned()) {
            Some(result) => Reply::text(format!("below: {}", result.content[0].as_text().unwrap())),
            None => Reply::tool_call("c", "agent", json!({"task": "go deeper"})),
        }
    }));
    let agent = SubAgentTool::of(SubAgent::new("agent").with_max_depth(3));
    let agent = fixture.agent().session_id("s").tool(agent).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!(output.text.matches("below: ").count(), 4, "{}", output.text);
    assert!(output.text.contains("at most 3 deep"), "{}", output.text);

    let both = delegate("c1", "helper").then_call("c2", "helper", json!({"task": "too"}));
    let fixture = Fixture::new([both, Reply::text("fine")]);
    let (child, tool) = helper([Reply::text("a"), Reply::text("b")]);
    let tool = tool.with(|agent| agent.with_max_running(1));
    let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(child.requests(), 1);
    let sent = fixture.sent_messages(1);
    assert!(sent.iter().any(|message| message.contains("1 sub-agents run already")), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn approval_request_of_a_sub_agent_reaches_the_user_of_the_parent_with_its_path() {
    let fixture = Fixture::new([delegate("c1", "outer"), Reply::text("fine")]);
    let (_, inner) = helper([
        Reply::tool_call("w1", "write", json!({})).then_call("w2", "write", json!({})),
        Reply::text("written"),
    ]);
    let inner = inner.with_tools([Arc::new(fixture.tool("write", || Act::text("ok"))) as Arc<_>]);
    let outer_model = Arc::new(ScriptedModel::new([delegate("c2", "helper"), Reply::text("all written")]));
    let outer = SubAgentTool::new("outer", outer_model).with_tools([Arc::new(inner) as Arc<_>]);
    let agent =
        fixture.agent().permission_policy(AskBeforeEffects).session_id("s").tool(outer).build().unwrap();
    let mut stream = agent.run_stream("go");
    for decision in [PermissionDecision::Allow, PermissionDecision::deny("not that one")] {
        let asked = until(&mut stream, "PermissionRequired").await;
        let AgentEvent::PermissionRequired { request } = &asked.event else { panic!() };
        assert_eq!(
            (request.agents.as_slice(), request.tool_name.as_str()),
            (&["outer".to_owned(), "helper".to_owned()][..], "write")
        );
        assert_eq!(request.tool_call_id.as_str(), "c1");
        stream.respond_permission(request.id, decision);
    }
    rest(&mut stream).await;
    assert_eq!(fixture.ledger.len(), 1, "one of two writes was approved");
    let parent = fixture.journal(&"s".into()).await;
    let outer = fixture.journal(&child_session(&parent)).await;
    let inner = fixture.journal(&child_session(&outer)).await;
    for (journal, name) in [(&parent, "parent"), (&outer, "outer"), (&inner, "inner")] {
        let decided = kinds(journal).iter().filter(|kind| *kind == "PermissionDecided").count();
        assert_eq!(decided, 2, "{name}");
    }
    assert_eq!(result_text(&parent), "all written");
}

#[tokio::test(start_paused = true)]
async fn cancelled_sub_agent_withdraws_its_question_at_the_parent() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let (_, tool) = helper([Reply::tool_call("w1", "write", json!({})), Reply::text("written")]);
    let tool = tool
        .with_tools([Arc::new(fixture.tool("write", || Act::text("ok"))) as Arc<_>])
        .with_timeout(Duration::from_secs(60), Duration::from_secs(20));
    let agent =
        fixture.agent().permission_policy(AskBeforeEffects).session_id("s").tool(tool).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "PermissionRequired").await;
    let decided = until(&mut stream, "PermissionDecided").await;
    assert!(matches!(
        &decided.event,
        AgentEvent::PermissionDecided { decision: PermissionDecision::Withdrawn, .. }
    ));
    rest(&mut stream).await;
    assert!(agent.pending_permissions().is_empty());
    assert_eq!(fixture.ledger.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn tool_outside_the_list_is_neither_offered_nor_run() {
    let fixture = Fixture::with_model(ScriptedModel::from_fn(|n, _| match n {
        0 => Reply::tool_call("c1", "agent", json!({"task": "write"})),
        1 => Reply::tool_call("w1", "write", json!({})),
        _ => Reply::text("done"),
    }));
    let sub_agent = SubAgent::new("agent").with_tools_of_parent(["look"]);
    let agent = fixture
        .agent()
        .session_id("s")
        .tool(SubAgentTool::of(sub_agent))
        .tool(fixture.tool("write", || Act::text("ok")))
        .tool(fixture.tool("look", || Act::text("ok")))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let offered: Vec<_> =
        fixture.model.recorded_requests()[1].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["look", "recall"]);
    assert_eq!(fixture.ledger.len(), 0);
    let policy = NarrowedPolicy::new(Arc::new(AllowAll)).with_tools(["look".to_owned()]);
    assert!(policy.has_tool("look") && !policy.has_tool("write"));
}

#[tokio::test(start_paused = true)]
async fn failure_that_another_agent_met_is_reported_to_the_next_one() {
    let fixture = Fixture::new([delegate("c1", "helper"), delegate("c2", "helper"), Reply::text("fine")]);
    let look = |id: &str| Reply::tool_call(id, "look", json!({"path": "a"}));
    let (child, tool) = helper([look("l1"), Reply::text("no"), look("l2"), Reply::text("no")]);
    let failing = fixture.tool("look", || Act::fail("no such file"));
    let tool = tool.with_tools([Arc::new(failing) as Arc<_>]);
    let agent = fixture.agent().session_id("s").tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    let result = |request: usize| {
        let sent = super::fixture::sent_messages(&child.recorded_requests()[request]);
        sent.last().unwrap().clone()
    };
    assert_eq!(result(1), "tool: no such file");
    assert!(result(3).contains("Another agent that works on this task"), "{}", result(3));
    assert!(result(3).contains("2 times in all"), "{}", result(3));
}

/// Allows everything, records the moments of hooks with their sessions, and keeps a sub-agent from ending once.
#[derive(Default)]
struct Hooked(Mutex<Vec<(SessionId, LifecycleEvent)>>);

impl PermissionPolicy for Hooked {
    fn check<'a>(&'a self, _query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        Some(self)
    }
}

impl SessionHooks for Hooked {
    fn wants(&self, _kind: LifecycleEventKind) -> bool {
        true
    }

    fn notify<'a>(&'a self, session_id: &'a SessionId, moment: LifecycleEvent) -> BoxFuture<'a, HookAnswer> {
        let answer = match &moment {
            LifecycleEvent::SubagentStart { .. } => HookAnswer::add_context("be quick"),
            LifecycleEvent::SubagentStop { continued: false, .. } => HookAnswer::block("check again"),
            _ => HookAnswer::default(),
        };
        self.0.lock().unwrap().push((session_id.clone(), moment));
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_see_a_sub_agent_start_and_can_keep_it_from_ending() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let (child, tool) = helper([Reply::text("one"), Reply::text("two")]);
    let hooks = Arc::new(Hooked::default());
    let agent =
        fixture.agent().permission_policy(Arc::clone(&hooks)).session_id("s").tool(tool).build().unwrap();
    agent.run("go").await.unwrap();
    let first = super::fixture::sent_messages(&child.recorded_requests()[0]).join("\n");
    assert!(first.contains("be quick"), "{first}");
    let second = super::fixture::sent_messages(&child.recorded_requests()[1]).join("\n");
    assert!(second.contains("check again"), "{second}");
    let journal = fixture.journal(&"s".into()).await;
    assert_eq!(result_text(&journal), "two");
    let session = child_session(&journal);
    let seen = hooks.0.lock().unwrap();
    let of_child: Vec<_> =
        seen.iter().filter(|(of, _)| *of == session).map(|(_, moment)| moment.kind()).collect();
    use LifecycleEventKind::{SubagentStart, SubagentStop};
    assert_eq!(of_child, [SubagentStart, SubagentStop, SubagentStop]);
    assert!(seen.iter().any(
        |(_, moment)| matches!(moment, LifecycleEvent::SubagentStart { agent_type, .. } if agent_type == "helper")
    ));
}

#[tokio::test(start_paused = true)]
async fn usage_of_a_sub_agent_whose_journal_another_writer_takes_is_recorded() {
    let fixture = Fixture::new([delegate("c1", "helper"), Reply::text("fine")]);
    let spent = Usage::new(1_200, 30);
    let (_, tool) =
        helper([Reply::tool_call("w1", "write", json!({})).with_usage(spent), Reply::text("written")]);
    let write = fixture.tool("write", || Act::text("ok"));
    // The sub-agent's reply is saved; what its tool did is not.
    let store = FaultyStore::new(TokioClock::shared()).with_plan(|append| {
        let is_result = |event: &Event| matches!(event.event, AgentEvent::ToolExecutionEnd { .. });
        let is_child = append.session_id.as_str() != "s";
        if is_child && append.events.iter().any(is_result) { Fault::Fence } else { Fault::None }
    });
    let store = Arc::new(store);
    let tool = tool.with_tools([Arc::new(write) as Arc<_>]);
    let agent = fixture.agent().store(store.clone()).session_id("s").tool(tool).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "fine");
    let (outcome, usage) = ended(&store.survivors(&"s".into()));
    assert!(matches!(outcome, RunOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(usage, spent);
}
