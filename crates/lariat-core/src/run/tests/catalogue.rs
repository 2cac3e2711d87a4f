//! The scenarios that the tests interrupt at every point. Other tests check each one in detail.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::super::{FallbackModel, FilterOutcome, ModelSignal};
use super::harness::Harness;
use super::invariants;
use super::scenario::*;
use crate::budget::{Admission, BudgetLimits, BudgetScope, BudgetStatus};
use crate::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use crate::context::Note;
use crate::event::{AgentEvent, ContinuationKind, LimitKind, QueueKind, RunOutcome};
use crate::hooks::{HookAnswer, LifecycleEventKind};
use crate::message::StopReason;
use crate::model::{ErrorDetail, ProviderError, StreamEvent};
use crate::permission::{PermissionDecision, Verdict};
use crate::tool::{ToolError, ToolResult};
use crate::usage::{Cost, Usage};

/// A scenario with its name, which can be played any number of times.
pub(super) type NamedScenario = (&'static str, fn() -> Scenario);

pub(super) fn catalogue() -> Vec<NamedScenario> {
    vec![
        ("a text reply", text_reply),
        ("a tool cycle", tool_cycle),
        ("parallel tools", parallel_tools),
        ("sequential tools", sequential_tools),
        ("batched tools", batched_tools),
        ("tools that may not run together", unsafe_tools),
        ("a tool that fails", failing_tool),
        ("an unknown tool", unknown_tool),
        ("before_loop says no", stopped_before_loop),
        ("before_turn says no", stopped_before_turn),
        ("before_turn says no later", stopped_before_second_turn),
        ("filters warn", filter_warns),
        ("filters reject", filter_rejects),
        ("a hook blocks the end", stop_blocked),
        ("a hook blocks the end too often", stop_blocked_for_ever),
        ("halted at the end", halted_at_its_end),
        ("halted while a tool runs", halted),
        ("hook after a compaction", hook_after_compaction),
        ("notes", notes_sent),
        ("notes and a compaction", notes_and_compaction),
        ("counted: less than estimated", || counted_by_provider(Some(300))),
        ("counted: more than estimated", || counted_by_provider(Some(485))),
        ("a provider that cannot count", || counted_by_provider(None)),
        ("steering between tools", steered),
        ("steering all at once", steered_all),
        ("follow-ups", followed_up),
        ("queued before the start", queued_before_start),
        ("approved", approved),
        ("denied by the user", denied),
        ("denied by the gate", denied_by_gate),
        ("answered by two", answered_twice),
        ("asked while others run", asked_beside),
        ("a running tool asks the user", tool_asks),
        ("a running tool asks and ends first", tool_asks_and_ends),
        ("skipped by a hook", skipped),
        ("plan mode", planned),
        ("a task list", task_list),
        ("rewritten arguments", rewritten),
        ("turn limit", turn_limit),
        ("token limit", token_limit),
        ("cost limit", cost_limit),
        ("deadline", deadline),
        ("retries", retried),
        ("retries run out", retries_exhausted),
        ("broken after delivery", broken_after_delivery),
        ("ends without being done", cut_stream),
        ("stalls", stalled),
        ("overflow", overflowed),
        ("overflow twice", overflowed_twice),
        ("overflow without compaction", overflowed_without_compaction),
        ("compaction in an emergency", compacted),
        ("compaction prepared", prepared),
        ("compaction prepared for the next prompt", prepared_at_the_end),
        ("compaction prepared too late", prepared_too_late),
        ("prepared compaction removes user messages", prepared_for_nothing),
        ("compaction refused", compaction_refused),
        ("counted by two models", counted),
        ("ids that repeat", repeated_ids),
        ("calls cut off", cut_off_calls),
        ("a pause", paused),
        ("repetition", repeating),
        ("repeating a cycle", cycling),
        ("a session's budget", session_budget),
        ("budget extension granted", extended),
        ("budget extension refused", not_extended),
        ("budget extension without a request", extended_unasked),
        ("a shared budget", shared_budget),
        ("a shared budget that refuses", shared_refusal),
        ("a shared budget that refuses a tool", shared_tool_refusal),
        ("a shared budget and an overflow", shared_overflow),
        ("no tool calls left", no_calls_left),
        ("a continuation", continued),
        ("a branch", branched),
        ("an empty reply", empty_reply),
        ("left over by an earlier loop", carried_over),
        ("cancelled while a tool runs", cancelled_tool),
        ("cancelled while asking", cancelled_question),
    ]
}

fn spending(id: &'static str, tokens: u64) -> Reply {
    let mut reply = calls(&[id]);
    reply.pop();
    let usage = Usage::new(tokens - 1, 1);
    reply.push(ModelSignal::Event(StreamEvent::Done { stop_reason: StopReason::ToolUse, usage }));
    reply
}

/// Turns of about 100 tokens each, in a session that has spent nothing.
pub(super) fn session_budget() -> Scenario {
    let limits = BudgetLimits::none().with_tokens(400);
    let scenario = ["a", "b", "c", "d", "e"].into_iter().fold(Scenario::new("spend"), |scenario, id| {
        scenario.reply(spending(id, if id == "d" { 85 } else { 100 }))
    });
    scenario.configured(move |config| config.budget.session = limits)
}

pub(super) fn extended() -> Scenario {
    let mut scenario = session_budget().configured(|config| config.budget.asks = true);
    scenario.script.more.push_back(Some(BudgetLimits::none().with_tokens(1_000)));
    scenario
}

pub(super) fn not_extended() -> Scenario {
    let mut scenario = session_budget().configured(|config| config.budget.asks = true);
    scenario.script.more.push_back(None);
    scenario
}

pub(super) fn extended_unasked() -> Scenario {
    let more = TestAction::Extend(BudgetScope::Session, BudgetLimits::none().with_tokens(1_000));
    session_budget().when("event ToolExecutionEnd b", more)
}

fn in_pool(used: u64) -> Admission {
    let standing = BudgetStatus::new(BudgetScope::Pool, LimitKind::Tokens, used, 1_000);
    Admission { statuses: vec![standing], refused: (used >= 1_000).then_some(standing) }
}

pub(super) fn shared_budget() -> Scenario {
    let mut scenario =
        Scenario::new("spend").reply(calls(&["a", "b"])).reply(calls(&["c"])).reply(calls(&["d"]));
    scenario.script.admissions = [100, 750, 960, 990].map(in_pool).into();
    scenario.configured(|config| config.budget.is_shared = true)
}

pub(super) fn shared_refusal() -> Scenario {
    let mut scenario = Scenario::new("spend").reply(calls(&["a"])).reply(text("never"));
    scenario.script.admissions = [100, 1_000].map(in_pool).into();
    scenario.configured(|config| config.budget.is_shared = true)
}

pub(super) fn shared_tool_refusal() -> Scenario {
    let mut scenario = Scenario::new("spend").reply(calls(&["a", "b"])).reply(text("done"));
    let used_up = BudgetStatus::new(BudgetScope::Pool, LimitKind::ToolCalls, 9, 9);
    scenario.script.refused_calls.insert("b", used_up);
    scenario.configured(|config| config.budget.is_shared = true)
}

fn shared_overflow() -> Scenario {
    overflowed().configured(|config| config.budget.is_shared = true)
}

pub(super) fn no_calls_left() -> Scenario {
    let limits = ExecutionLimits::default().with_max_tool_calls(2);
    let scenario =
        Scenario::new("do").reply(calls(&["a", "b", "c"])).reply(calls(&["d"])).reply(text("never"));
    scenario.configured(|config| config.limits = Some(limits))
}

pub(super) fn cycling() -> Scenario {
    let mut scenario = Scenario::new("again");
    for id in ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4", "a5", "b5", "a6", "b6", "a7"] {
        scenario =
            scenario.reply(call_with(id, json!({ "path": &id[..1] }))).output(id, Ok(ToolResult::text("x")));
    }
    scenario
}

fn text_reply() -> Scenario {
    Scenario::new("hi").with_hooks().reply(text("hello"))
}

fn tool_cycle() -> Scenario {
    Scenario::new("look").with_hooks().reply(calls(&["a"])).reply(text("seen"))
}

pub(super) fn parallel_tools() -> Scenario {
    Scenario::new("look")
        .with_hooks()
        .reply(calls(&["a", "b list", "c"]))
        .late(&["c", "a", "b"])
        .reply(text("seen"))
}

fn sequential_tools() -> Scenario {
    let scenario = Scenario::new("look").reply(calls(&["a", "b", "c"])).reply(text("seen"));
    scenario.configured(|config| config.tool_execution = ToolExecutionStrategy::Sequential)
}

fn batched_tools() -> Scenario {
    let scenario =
        Scenario::new("look").reply(calls(&["a", "b", "c", "d", "e"])).late(&["b", "a"]).reply(text("seen"));
    scenario.configured(|config| config.tool_execution = ToolExecutionStrategy::Batched { size: 2 })
}

fn unsafe_tools() -> Scenario {
    Scenario::new("do")
        .reply(calls(&["a", "b write", "c write", "d", "e"]))
        .late(&["e", "d"])
        .reply(text("done"))
}

fn failing_tool() -> Scenario {
    let scenario = Scenario::new("do").reply(calls(&["a", "b"])).reply(text("sorry"));
    scenario.output("a", Err(ToolError::Failed("no such file".into()))).output("b", Ok(ToolResult::default()))
}

fn unknown_tool() -> Scenario {
    Scenario::new("do").reply(calls(&["a fly", "b"])).reply(text("sorry"))
}

fn stopped_before_loop() -> Scenario {
    text_reply().scripted(|script| script.before_loop.push_back(false))
}

fn stopped_before_turn() -> Scenario {
    text_reply().scripted(|script| script.before_turn.push_back(false))
}

fn stopped_before_second_turn() -> Scenario {
    tool_cycle().scripted(|script| script.before_turn.extend([true, false]))
}

fn filter_warns() -> Scenario {
    text_reply().filtered(FilterOutcome::Pass {
        context: vec!["today is Monday".into()],
        warnings: vec!["odd".into(), "very".into()],
    })
}

fn filter_rejects() -> Scenario {
    text_reply().filtered(FilterOutcome::Reject { reason: "no".into() })
}

/// Hooks block the end twice.
pub(super) fn stop_blocked() -> Scenario {
    let answers = ["the tests fail", "the docs are missing"].map(HookAnswer::block);
    text_reply()
        .reply(calls(&["a"]))
        .reply(text("fixed"))
        .with_session_hooks(LifecycleEventKind::Stop, answers)
}

pub(super) fn stop_blocked_for_ever() -> Scenario {
    text_reply()
        .with_session_hooks(LifecycleEventKind::Stop, (0..20).map(|_| HookAnswer::block("never enough")))
}

pub(super) fn halted_at_its_end() -> Scenario {
    text_reply().with_session_hooks(LifecycleEventKind::Stop, [HookAnswer::stop("enough")])
}

pub(super) fn halted() -> Scenario {
    tool_cycle().when("effect RunTool a", TestAction::Halt("not in this repository"))
}

pub(super) fn hook_after_compaction() -> Scenario {
    overflowed().with_session_hooks(LifecycleEventKind::PostCompact, [HookAnswer::add_context("use tabs")])
}

pub(super) fn notes_sent() -> Scenario {
    let notes = vec![Note::new("date", "It is Monday."), Note::new("empty", " ")];
    tool_cycle().scripted(|script| script.notes = notes).configured(|config| config.has_notes = true)
}

pub(super) fn notes_and_compaction() -> Scenario {
    let notes = vec![Note::new("date", "It is Monday.")];
    overflowed()
        .scripted(|script| script.notes = notes)
        .configured(|config| config.has_notes = true)
        .reply(calls(&["a"]))
}

pub(super) fn steered() -> Scenario {
    sequential_tools()
        .when("effect RunTool a", TestAction::Steer("rather this"))
        .when("effect RunTool a", TestAction::Steer("and that"))
}

fn steered_all() -> Scenario {
    steered().configured(|config| config.steering_mode = QueueMode::All)
}

fn followed_up() -> Scenario {
    tool_cycle()
        .when("effect RunTool a", TestAction::FollowUp("then this"))
        .when("effect RunTool a", TestAction::FollowUp("then that"))
}

fn queued_before_start() -> Scenario {
    text_reply()
        .when("hook before_loop", TestAction::Steer("first"))
        .when("hook before_turn", TestAction::FollowUp("last"))
}

fn approved() -> Scenario {
    tool_cycle().asked("a", Some(PermissionDecision::AllowSession))
}

fn denied() -> Scenario {
    tool_cycle().asked("a", Some(PermissionDecision::deny("not today")))
}

fn denied_by_gate() -> Scenario {
    tool_cycle().verdict("a", Verdict::Deny("never".into()))
}

fn answered_twice() -> Scenario {
    approved().when("effect Ask a", TestAction::Answer("a", PermissionDecision::deny("I was first")))
}

fn tool_asks() -> Scenario {
    let scenario = Scenario::new("do").reply(calls(&["a", "b"])).late(&["a"]).reply(text("done"));
    scenario.when("effect RunTool a", TestAction::Question("a"))
}

fn tool_asks_and_ends() -> Scenario {
    let scenario = Scenario::new("do").reply(calls(&["a"])).late(&["a"]).unanswered("a").reply(text("done"));
    scenario.when("effect RunTool a", TestAction::Question("a"))
}

pub(super) fn asked_beside() -> Scenario {
    let scenario = Scenario::new("look").reply(calls(&["a", "b", "c"])).asked("b", None).reply(text("seen"));
    scenario.when("event ToolExecutionEnd c", TestAction::Answer("b", PermissionDecision::Allow))
}

fn skipped() -> Scenario {
    tool_cycle().verdict("a", Verdict::Skip)
}

fn planned() -> Scenario {
    tool_cycle().verdict("a", Verdict::Queue { summary: "would read".into() })
}

/// Three task lists, of which the second changes nothing.
pub(super) fn task_list() -> Scenario {
    let list = |status: [&str; 2]| json!({"items": [{"content": "look", "status": status[0]}, {"content": "write", "status": status[1]}]});
    Scenario::new("do")
        .reply(call_with("a", list(["in_progress", "pending"])))
        .reply(call_with("b", list(["in_progress", "pending"])))
        .reply(call_with("c", list(["completed", "in_progress"])))
        .reply(text("done"))
}

fn rewritten() -> Scenario {
    tool_cycle().verdict("a", Verdict::Rewrite(Arc::new(json!({"of": "else"}))))
}

/// Tool calls in every turn.
pub(super) fn busy(turns: usize) -> Scenario {
    let names = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
    names.iter().take(turns).fold(Scenario::new("go"), |scenario, name| scenario.reply(calls(&[name])))
}

fn turn_limit() -> Scenario {
    busy(6).limited(ExecutionLimits::default().with_max_turns(2))
}

fn token_limit() -> Scenario {
    busy(6).limited(ExecutionLimits::default().with_max_total_tokens(40))
}

fn cost_limit() -> Scenario {
    let usage = Usage { cost: Cost::from_nano_usd(600), ..Usage::new(1, 1) };
    let mut reply = calls(&["a"]);
    reply.pop();
    reply.push(super::super::ModelSignal::Event(crate::model::StreamEvent::Done {
        stop_reason: StopReason::ToolUse,
        usage,
    }));
    Scenario::new("go")
        .reply(reply)
        .limited(ExecutionLimits::default().with_max_cost(Cost::from_nano_usd(500)))
}

pub(super) fn deadline() -> Scenario {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    Scenario::new("go").reply(calls(&["a", "b"])).held("b").limited(limits)
}

fn retried() -> Scenario {
    let limited =
        ProviderError::RateLimited(ErrorDetail::new("slow").with_retry_after(Some(Duration::from_secs(9))));
    Scenario::new("hi").reply(fails(network())).reply(fails(limited)).reply(text("hello"))
}

fn retries_exhausted() -> Scenario {
    let scenario = Scenario::new("hi")
        .with_hooks()
        .configured(|config| config.retry = RetryConfig::default().with_max_retries(1));
    scenario.reply(fails(network())).reply(fails(network()))
}

fn broken_after_delivery() -> Scenario {
    let mut reply = vec![piece("half a ")];
    reply.extend(fails(network()));
    Scenario::new("hi").with_hooks().reply(reply)
}

fn cut_stream() -> Scenario {
    Scenario::new("hi").reply(vec![super::super::ModelSignal::Ended]).reply(text("hello"))
}

fn stalled() -> Scenario {
    Scenario::new("hi").reply(Vec::new()).reply(text("hello"))
}

/// A conversation in a window of 1,000 tokens.
pub(super) fn in_small_window(turns: u128) -> Scenario {
    let scenario = Scenario::new("and now?").after(long_talk(turns));
    scenario.configured(|config| {
        let mut context = ContextConfig::with_window(1_000);
        context.system_prompt_tokens = 0;
        (context.keep_first, context.keep_recent) = (0, 1);
        config.context = Some(context);
    })
}

/// Two models report the size of their requests, each in its own tokens.
pub(super) fn counted() -> Scenario {
    let scenario =
        Scenario::new("count the words of this sentence, and then count them again").configured(|config| {
            config.context = Some(ContextConfig::with_window(100_000));
            config.retry = RetryConfig::none();
            config.fallbacks = vec![FallbackModel { provider: "q".to_owned(), model: "n-1".to_owned() }];
        });
    let output = || Ok(ToolResult::text("a word, another word, and the next one after it ".repeat(20)));
    let scenario =
        ["a", "b", "c", "d"].into_iter().fold(scenario, |scenario, call| scenario.output(call, output()));
    scenario
        .reply(using(calls(&["a"]), 5_000))
        .reply(using(calls(&["b"]), 5_400))
        .reply(using(calls(&["c"]), 5_800))
        .reply(fails(network()))
        .reply(using(calls(&["d"]), 9_000))
        .reply(using(text("sixty"), 9_700))
}

/// A conversation that fills its window to 86 %, and to more than 90 % after the first turn.
fn filling() -> Scenario {
    let scenario = in_small_window(1).configured(|config| {
        config.context.as_mut().unwrap().max_context_tokens = 490;
    });
    let scenario = scenario.output("a", Ok(ToolResult::text("seen ".repeat(30))));
    scenario.reply(unreported(calls(&["a"]))).reply(unreported(text("fine")))
}

pub(super) fn prepared() -> Scenario {
    filling().scripted(|script| script.compactor = Compactor::Replies)
}

/// The estimate is 86 % of the window, and the provider counts this many tokens.
pub(super) fn counted_by_provider(tokens: Option<u64>) -> Scenario {
    let scenario = prepared().configured(|config| config.counts_tokens = true);
    scenario.scripted(|script| script.count = tokens)
}

pub(super) fn prepared_at_the_end() -> Scenario {
    let scenario = in_small_window(1).configured(|config| {
        config.context.as_mut().unwrap().max_context_tokens = 490;
    });
    scenario.reply(unreported(text("fine"))).scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn prepared_too_late() -> Scenario {
    prepared().scripted(|script| script.slow_compaction = true)
}

pub(super) fn prepared_for_nothing() -> Scenario {
    filling().scripted(|script| script.compactor = Compactor::Words)
}

pub(super) fn overflowed() -> Scenario {
    let scenario = in_small_window(1).reply(overflow()).reply(text("better"));
    scenario.scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn overflowed_twice() -> Scenario {
    let scenario = in_small_window(1).with_hooks().reply(overflow()).reply(overflow());
    scenario.scripted(|script| script.compactor = Compactor::Replies)
}

fn overflowed_without_compaction() -> Scenario {
    in_small_window(1).with_hooks().reply(overflow())
}

pub(super) fn compacted() -> Scenario {
    in_small_window(3).reply(text("fine")).scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn compaction_refused() -> Scenario {
    let scenario = in_small_window(3).scripted(|script| script.compactor = Compactor::Nonsense);
    let scenario =
        ["a", "b", "c"].iter().fold(scenario, |scenario, call| scenario.reply(unreported(calls(&[call]))));
    scenario.reply(text("fine"))
}

fn repeated_ids() -> Scenario {
    Scenario::new("go").reply(calls(&["a", "a", " read"])).reply(calls(&["a"])).reply(text("done"))
}

fn cut_off_calls() -> Scenario {
    Scenario::new("go").reply(calls_stopping(&["a", "b write"], StopReason::Length)).reply(text("done"))
}

fn paused() -> Scenario {
    Scenario::new("go").reply(vec![piece("wait"), done(StopReason::Pause)]).reply(text("done"))
}

fn repeating() -> Scenario {
    let same = |id| call_with(id, json!({"path": "x"}));
    let scenario = ["a", "b", "c", "d", "e"].into_iter().fold(Scenario::new("go"), |scenario, id| {
        scenario.reply(same(id)).output(id, Ok(ToolResult::text("nothing")))
    });
    scenario.configured(|config| config.repetition = Some(RepetitionConfig::new(2, 4)))
}

fn continued() -> Scenario {
    let mut scenario = Scenario::continuing(vec![old_prompt(1, "hi")]).with_hooks().reply(text("hello"));
    scenario.start.parent_loop_id = Some("s.c.0".into());
    scenario.start.continuation_kind = Some(ContinuationKind::Default);
    scenario
}

fn branched() -> Scenario {
    let mut scenario = continued().reply(calls(&["a"]));
    scenario.start.continuation_kind = Some(ContinuationKind::Branch { tag: "2025-11-15T00:00:00Z".into() });
    scenario
}

fn empty_reply() -> Scenario {
    Scenario::new("hi").reply(vec![done(StopReason::Stop)])
}

/// An earlier loop ended before it delivered its queued messages.
pub(super) fn carried_over() -> Scenario {
    let left = [
        (QueueKind::Steering, old_prompt(7, "one more thing")),
        (QueueKind::FollowUp, old_prompt(8, "and then")),
    ];
    let earlier = "s.c.0";
    let start = crate::event::LoopStart::new("agent".into(), "s".into(), earlier.into());
    let mut scenario = tool_cycle().journaled(Some(earlier), AgentEvent::AgentStart(Box::new(start)));
    for (queue, message) in &left {
        let queued = AgentEvent::MessageQueued { queue: *queue, message: Arc::clone(message) };
        scenario = scenario.journaled(Some(earlier), queued);
    }
    let end = AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: RunOutcome::Aborted,
        rejection: None,
    };
    scenario = scenario.journaled(Some(earlier), end);
    scenario.carried = left.into();
    scenario
}

fn cancelled_tool() -> Scenario {
    Scenario::new("go")
        .with_hooks()
        .reply(calls(&["a", "b", "c write"]))
        .held("b")
        .when("event ToolExecutionEnd a", TestAction::Cancel)
}

fn cancelled_question() -> Scenario {
    Scenario::new("go").reply(calls(&["a", "b"])).asked("b", None).when("effect Ask b", TestAction::Cancel)
}

#[test]
fn every_scenario_ends() {
    for (name, scenario) in catalogue() {
        let harness: Harness = scenario().play();
        assert!(harness.ending.is_some(), "{name} does not end:\n{}", harness.log.join("\n"));
        invariants::check(&harness);
    }
}
