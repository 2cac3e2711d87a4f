//! Running prompts one after the other.

use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::budget::BudgetScope;
use lariat_core::config::ExecutionLimits;
use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, ContinuationKind, LimitKind, LoopStart, RunOutcome, TurnTrigger};
use lariat_core::message::{ExtensionMessage, StopReason};
use lariat_core::run::StartError;
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_core::usage::{Cost, Usage};
use lariat_runtime::{Agent, AgentError, BuildError, ChangeKind};
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::fixture::{Fixture, call, formatted, kinds, rest, starts, until};

#[tokio::test(start_paused = true)]
async fn run_returns_text_usage_outcome_turns_and_messages() {
    let fixture = Fixture::new([call("c1", "write").with_usage(Usage::new(100, 20)), Reply::text("done")]);
    let agent = fixture.agent().tool(fixture.tool("write", || Act::text("written"))).build().unwrap();
    let output = agent.run("write it").await.unwrap();
    assert_eq!(output.text, "done");
    assert_eq!(output.outcome, RunOutcome::Completed);
    assert_eq!(output.stop_reason, Some(StopReason::Stop));
    assert_eq!((output.usage.input, output.usage.output), (110, 25));
    assert_eq!(output.turns, 2);
    let formatted: Vec<String> = output.messages.iter().map(|message| formatted(message)).collect();
    assert_eq!(formatted, ["user: write it", "assistant: ", "tool: written", "assistant: done"]);
    assert_eq!(fixture.ledger.len(), 1);
    fixture.assert_valid();
}

#[test]
fn building_without_a_model_fails() {
    assert_eq!(Agent::builder().build().map(drop).unwrap_err(), BuildError::NoModel);
}

#[tokio::test(start_paused = true)]
async fn second_prompt_continues_the_conversation() {
    let fixture = Fixture::new([Reply::text("hello Ada"), Reply::text("you are Ada")]);
    let agent = fixture.agent().build().unwrap();
    agent.run("I am Ada").await.unwrap();
    assert_eq!(agent.run("who am I?").await.unwrap().text, "you are Ada");
    assert_eq!(fixture.sent_messages(1), ["user: I am Ada", "assistant: hello Ada", "user: who am I?"]);
    assert_eq!(agent.messages().len(), 4);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn busy_agent_refuses_a_prompt_and_the_run_continues() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let slow = fixture.tool("write", || Act::text("ok").after(Duration::from_secs(5)));
    let agent = fixture.agent().tool(slow).build().unwrap();
    let mut stream = agent.prompt("go").unwrap();
    until(&mut stream, "ToolExecutionStart").await;
    assert!(agent.is_streaming());
    assert!(matches!(agent.prompt("again"), Err(AgentError::Busy)));
    assert!(matches!(agent.run("again").await, Err(AgentError::Busy)));
    assert!(matches!(agent.continue_loop(), Err(AgentError::Busy)));
    assert!(matches!(agent.new_session(), Err(AgentError::Busy)));
    assert!(matches!(agent.restore_messages("[]"), Err(AgentError::Busy)));
    let mut refused = agent.run_stream("again");
    assert!(refused.next().await.is_none());
    assert!(matches!(refused.finish().await, Err(AgentError::Busy)));
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert!(!agent.is_streaming());
}

#[tokio::test(start_paused = true)]
async fn messages_stay_those_before_the_run_until_it_ends() {
    let fixture = Fixture::new([Reply::text("one"), call("c1", "write"), Reply::text("two")]);
    let slow = fixture.tool("write", || Act::text("ok").after(Duration::from_secs(5)));
    let agent = fixture.agent().agent_id("ada").tool(slow).build().unwrap();
    agent.run("first").await.unwrap();
    let mut stream = agent.prompt("second").unwrap();
    until(&mut stream, "ToolExecutionStart").await;
    let formatted: Vec<String> = agent.messages().iter().map(|message| formatted(message)).collect();
    assert_eq!(formatted, ["user: first", "assistant: one"]);
    stream.finish().await.unwrap();
    assert_eq!(agent.messages().len(), 6);
    assert_eq!(agent.agent_id().as_str(), "ada");
    assert!(
        starts(&fixture.journal(&agent.session_id()).await)
            .iter()
            .all(|one| one.agent_id == *agent.agent_id())
    );
}

/// Reports the ids that its context carries, as its result, its progress and its update.
struct ContextTool;

impl AgentTool for ContextTool {
    fn name(&self) -> &str {
        "context"
    }

    fn description(&self) -> &str {
        "Reports its context."
    }

    fn parameters_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    fn execute<'a>(
        &'a self,
        _params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            context.progress("half");
            context.update(ToolResult::text("part"));
            // The run takes both before the tool ends.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let ToolContext { tool_call_id, tool_name, session_id, loop_id, .. } = context;
            Ok(ToolResult::text(format!("{tool_name} {tool_call_id} {session_id} {loop_id}")))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn tool_receives_its_ids_and_its_reports_become_events() {
    let fixture = Fixture::new([call("c1", "context"), Reply::text("done")]);
    let agent = fixture.agent().session_id("s").config_id("main").tool(ContextTool).build().unwrap();
    let mut stream = agent.run_stream("go");
    let events = rest(&mut stream).await;
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: context c1 s s.main.0");
    let reports: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::ProgressMessage { tool_call_id, text, .. } => Some(format!("{tool_call_id} {text}")),
            AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                Some(format!("{tool_call_id} {}", joined_text(&partial_result.content)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(reports, ["c1 half", "c1 part"]);
}

#[tokio::test(start_paused = true)]
async fn agent_has_the_default_limits_unless_they_are_removed() {
    let replies = || {
        let calls = (0..60).map(|n| Reply::tool_call(format!("c{n}"), "write", json!({ "n": n })));
        calls.chain([Reply::text("done")])
    };
    let fixture = Fixture::new(replies());
    let agent = fixture.agent().tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
    let outcome = agent.run("go").await.unwrap().outcome;
    assert_eq!(outcome, RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run });
    assert_eq!(fixture.model.requests(), 50);

    let fixture = Fixture::new(replies());
    let agent =
        fixture.agent().without_limits().tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(fixture.model.requests(), 61);
}

#[tokio::test(start_paused = true)]
async fn reply_without_tool_calls_completes_and_the_output_says_why_it_stopped() {
    for reason in [StopReason::Stop, StopReason::Length, StopReason::Refusal, StopReason::ContextExceeded] {
        let fixture = Fixture::new([Reply::text("as far as I got").stop(reason)]);
        let output = fixture.agent().build().unwrap().run("go").await.unwrap();
        assert_eq!((output.outcome, output.stop_reason), (RunOutcome::Completed, Some(reason)));
        assert_eq!(output.text, "as far as I got");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_prompts_are_refused_and_change_nothing() {
    let fixture = Fixture::new([Reply::text("hi")]);
    let agent = fixture.agent().build().unwrap();
    assert!(matches!(agent.run(" ").await, Err(AgentError::Start(StartError::EmptyPrompt))));
    let replied = agent.run("hello").await.unwrap().messages[1].clone();
    let reply = agent.prompt_messages(vec![(*replied).clone()]).unwrap().finish().await;
    assert!(matches!(reply, Err(AgentError::Start(StartError::NotAPrompt))));
    assert_eq!(agent.messages().len(), 2);
    assert_eq!(starts(&fixture.journal(&agent.session_id()).await).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn extension_message_is_stored_and_never_sent() {
    let fixture = Fixture::new([Reply::text("hi")]);
    let agent = fixture.agent().build().unwrap();
    let note = ExtensionMessage::new("ui", json!({"tab": 3}));
    agent.prompt_messages(vec![note.into(), "hello".into()]).unwrap().finish().await.unwrap();
    assert_eq!(fixture.sent_messages(0).last().unwrap(), "user: hello");
    assert_eq!(agent.messages().len(), 3);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn continuing_after_a_reply_is_a_typed_error() {
    let fixture = Fixture::new([Reply::text("hi"), Reply::text("again")]);
    let agent = fixture.agent().build().unwrap();
    let nothing = agent.continue_loop().unwrap().finish().await;
    assert!(matches!(nothing, Err(AgentError::Start(StartError::NotSendable(_)))), "{nothing:?}");
    agent.run("hello").await.unwrap();
    let answered = agent.continue_loop().unwrap().finish().await;
    assert!(matches!(answered, Err(AgentError::Start(StartError::NotSendable(_)))), "{answered:?}");
    assert_eq!(agent.run("hello again").await.unwrap().text, "again");
    let begun = starts(&fixture.journal(&agent.session_id()).await);
    assert_eq!(begun.len(), 2);
    assert_eq!(begun[1].continuation_kind, None);
}

#[tokio::test(start_paused = true)]
async fn rerun_and_branch_start_from_the_last_prompt() {
    let fixture =
        Fixture::new([Reply::text("one"), Reply::text("two"), Reply::text("three"), Reply::text("four")]);
    let agent = fixture.agent().build().unwrap();
    let prompt = agent.run("hello").await.unwrap().messages[0].id();
    let rerun = ContinuationKind::Rerun { tag: "2025-01-01T00:00:00Z".into() };
    let branch = ContinuationKind::Branch { tag: "2025-01-02T00:00:00Z".into() };
    assert_eq!(agent.continue_loop_with_sender(|_| {}, rerun.clone()).await.unwrap().text, "two");
    assert_eq!(agent.continue_loop_with_sender(|_| {}, branch.clone()).await.unwrap().text, "three");
    assert_eq!(fixture.sent_messages(1), ["user: hello"]);
    assert_eq!(fixture.sent_messages(2), ["user: hello"]);

    let events = fixture.journal(&agent.session_id()).await;
    let begun = starts(&events);
    assert_eq!(begun[1].continuation_kind, Some(rerun));
    assert_eq!(begun[1].parent_loop_id.as_ref(), Some(&begun[0].loop_id));
    assert_eq!(begun[2].continuation_kind, Some(branch));
    assert_eq!(begun[2].parent_loop_id.as_ref(), Some(&begun[1].loop_id));
    assert_eq!([begun[1].base, begun[2].base], [Some(prompt); 2]);
    let triggers: Vec<TurnTrigger> = events
        .iter()
        .filter_map(|event| match event.event {
            AgentEvent::TurnStart { triggered_by, .. } => Some(triggered_by),
            _ => None,
        })
        .collect();
    assert_eq!(triggers, [TurnTrigger::User, TurnTrigger::Continuation, TurnTrigger::Branch]);

    agent.run("and now?").await.unwrap();
    assert_eq!(fixture.sent_messages(3), ["user: hello", "assistant: three", "user: and now?"]);
    let begun = starts(&fixture.journal(&agent.session_id()).await);
    assert_eq!(begun[3].parent_loop_id, None, "a prompt continues no other loop");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn rerun_repeats_the_newest_run_or_the_one_with_a_number() {
    let replies = ["one", "two", "two again", "one again"].map(Reply::text);
    let fixture = Fixture::new(replies);
    let agent = fixture.agent().build().unwrap();
    assert!(matches!(agent.rerun(None).await, Err(AgentError::UnknownRun(None))), "there is no run");
    agent.run("first").await.unwrap();
    agent.run("second").await.unwrap();
    assert_eq!(agent.rerun(None).await.unwrap().finish().await.unwrap().text, "two again");
    assert_eq!(fixture.sent_messages(2), ["user: first", "assistant: one", "user: second"]);
    assert_eq!(agent.rerun(Some(0)).await.unwrap().finish().await.unwrap().text, "one again");
    assert_eq!(fixture.sent_messages(3), ["user: first"]);
    assert!(matches!(agent.rerun(Some(9)).await, Err(AgentError::UnknownRun(Some(9)))));
    let begun = starts(&fixture.journal(&agent.session_id()).await);
    let is_rerun = |start: &&LoopStart| matches!(&start.continuation_kind, Some(ContinuationKind::Rerun { tag }) if tag.ends_with('Z'));
    assert_eq!(begun.iter().filter(is_rerun).count(), 2);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn limit_ends_the_run_with_a_typed_outcome() {
    let model = ScriptedModel::from_fn(|n, _| call(&format!("c{n}"), "write"));
    let fixture = Fixture::with_model(model);
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", || Act::text("ok")))
        .limits(ExecutionLimits::default().with_max_turns(3))
        .repetition(None)
        .build()
        .unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!(output.outcome, RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run });
    assert_eq!((output.turns, fixture.model.requests()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn time_limit_also_ends_a_run_while_a_tool_runs() {
    let fixture = Fixture::new([call("c1", "write")]);
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", Act::never))
        .limits(ExecutionLimits::default().with_max_duration(Duration::from_secs(60)))
        .build()
        .unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!(
        output.outcome,
        RunOutcome::LimitReached { limit: LimitKind::Duration, scope: BudgetScope::Run }
    );
    assert_eq!(fixture.ledger.running(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agent_accepts_the_next_prompt_after_agent_end() {
    let fixture = Fixture::without_time(ScriptedModel::from_fn(|_, _| Reply::text("again")).with_yields());
    let agent = fixture.agent().on_event(|_| {}).build().unwrap();
    for _ in 0..200 {
        let mut stream = agent.prompt("go").unwrap();
        until(&mut stream, "AgentEnd").await;
        assert!(!agent.is_streaming());
    }
    for _ in 0..200 {
        let events = rest(&mut agent.prompt("go").unwrap()).await;
        assert_eq!(kinds(&events).last().unwrap(), "AgentEnd");
    }
    assert_eq!(starts(&fixture.journal(&agent.session_id()).await).len(), 400);
}

#[tokio::test(start_paused = true)]
async fn output_reports_changes_cost_and_duration_also_as_json() {
    let usage = Usage { cost: Cost::from_nano_usd(7), ..Usage::new(100, 20) };
    let fixture =
        Fixture::new([call("c1", "write").with_usage(usage), call("c2", "write"), Reply::text("done")]);
    let files =
        |change: &str| json!({"files": [{"path": "a.txt", "change": change}, {"path": "b", "bytes": 1}]});
    let mut changes = ["modified", "added"];
    let tool = lariat_test::LedgerTool::new("write", fixture.ledger.clone(), fixture.clock.clone())
        .with_script(move |_| {
            changes.reverse();
            let result = ToolResult::text("ok").with_details(files(changes[0]));
            Act::answer(Ok(result)).after(Duration::from_millis(1_500))
        });
    let agent = fixture.agent().tool(tool).build().unwrap();
    let output = agent.run("write it").await.unwrap();
    assert_eq!((output.cost, output.duration.as_secs()), (Cost::from_nano_usd(7), 3));
    let changed: Vec<_> = output.files_changed.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(changed, [("a.txt", ChangeKind::Added)]);

    let written = serde_json::to_value(&output).unwrap();
    assert_eq!(written["text"], "done");
    assert_eq!((&written["cost_nano_usd"], &written["turns"]), (&json!(7), &json!(3)));
    assert_eq!(written["files_changed"], json!([{"path": "a.txt", "change": "added"}]));
    assert_eq!((&written["stop_reason"], &written["outcome"]["kind"]), (&json!("stop"), &json!("completed")));
    assert!(written["duration_ms"].as_u64().is_some_and(|ms| ms >= 3_000));
    assert_eq!(written.get("structured"), None);
}
