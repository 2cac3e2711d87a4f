//! The scenarios that the tests interrupt at every point. Other tests check each one in detail.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::super::{FallbackModel, Filtered, ModelSignal};
use super::harness::Harness;
use super::story::*;
use super::truths;
use crate::budget::{Admission, BudgetLimits, BudgetScope, Standing};
use crate::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use crate::context::Note;
use crate::event::{AgentEvent, ContinuationKind, LimitKind, QueueKind, RunOutcome};
use crate::hooks::{HookAnswer, MomentKind};
use crate::message::StopReason;
use crate::model::{ErrorDetail, ProviderError, StreamEvent};
use crate::permission::{PermissionDecision, Verdict};
use crate::tool::{ToolError, ToolResult};
use crate::usage::{Cost, Usage};

/// A scenario with its name, which can be played any number of times.
pub(super) type Told = (&'static str, fn() -> Story);

pub(super) fn catalogue() -> Vec<Told> {
    vec![
        ("a reply in words", words),
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
        ("a hook blocks the end", kept_going),
        ("a hook blocks the end too often", kept_going_for_ever),
        ("halted at the end", halted_at_its_end),
        ("halted while a tool runs", halted),
        ("hook after a compaction", told_of_compaction),
        ("notes", noted),
        ("notes and a compaction", noted_and_compacted),
        ("steering between tools", steered),
        ("steering all at once", steered_all),
        ("follow-ups", followed_up),
        ("queued before the start", queued_before_start),
        ("approved", approved),
        ("denied by a person", denied),
        ("denied by the gate", denied_by_gate),
        ("answered by two", answered_twice),
        ("asked while others run", asked_beside),
        ("skipped by a hook", skipped),
        ("plan mode", planned),
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
        ("overflow without room", overflowed_without_room),
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
        ("repeating a cycle", circling),
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
pub(super) fn session_budget() -> Story {
    let limits = BudgetLimits::none().with_tokens(400);
    let story = ["a", "b", "c", "d", "e"]
        .into_iter()
        .fold(Story::new("spend"), |story, id| story.reply(spending(id, if id == "d" { 85 } else { 100 })));
    story.configured(move |config| config.budget.session = limits)
}

pub(super) fn extended() -> Story {
    let mut story = session_budget().configured(|config| config.budget.asks = true);
    story.script.more.push_back(Some(BudgetLimits::none().with_tokens(1_000)));
    story
}

pub(super) fn not_extended() -> Story {
    let mut story = session_budget().configured(|config| config.budget.asks = true);
    story.script.more.push_back(None);
    story
}

pub(super) fn extended_unasked() -> Story {
    let more = Say::Extend(BudgetScope::Session, BudgetLimits::none().with_tokens(1_000));
    session_budget().when("event ToolExecutionEnd b", more)
}

fn in_pool(used: u64) -> Admission {
    let standing = Standing::new(BudgetScope::Pool, LimitKind::Tokens, used, 1_000);
    Admission { standings: vec![standing], refused: (used >= 1_000).then_some(standing) }
}

pub(super) fn shared_budget() -> Story {
    let mut story = Story::new("spend").reply(calls(&["a", "b"])).reply(calls(&["c"])).reply(calls(&["d"]));
    story.script.admissions = [100, 750, 960, 990].map(in_pool).into();
    story.configured(|config| config.budget.is_shared = true)
}

pub(super) fn shared_refusal() -> Story {
    let mut story = Story::new("spend").reply(calls(&["a"])).reply(text("never"));
    story.script.admissions = [100, 1_000].map(in_pool).into();
    story.configured(|config| config.budget.is_shared = true)
}

pub(super) fn shared_tool_refusal() -> Story {
    let mut story = Story::new("spend").reply(calls(&["a", "b"])).reply(text("done"));
    let used_up = Standing::new(BudgetScope::Pool, LimitKind::ToolCalls, 9, 9);
    story.script.refused_calls.insert("b", used_up);
    story.configured(|config| config.budget.is_shared = true)
}

fn shared_overflow() -> Story {
    overflowed().configured(|config| config.budget.is_shared = true)
}

pub(super) fn no_calls_left() -> Story {
    let limits = ExecutionLimits::default().with_max_tool_calls(2);
    let story = Story::new("do").reply(calls(&["a", "b", "c"])).reply(calls(&["d"])).reply(text("never"));
    story.configured(|config| config.limits = Some(limits))
}

pub(super) fn circling() -> Story {
    let mut story = Story::new("again");
    for id in ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4", "a5", "b5", "a6", "b6", "a7"] {
        story = story.reply(call_with(id, json!({ "path": &id[..1] }))).output(id, Ok(ToolResult::text("x")));
    }
    story
}

fn words() -> Story {
    Story::new("hi").with_hooks().reply(text("hello"))
}

fn tool_cycle() -> Story {
    Story::new("look").with_hooks().reply(calls(&["a"])).reply(text("seen"))
}

pub(super) fn parallel_tools() -> Story {
    Story::new("look")
        .with_hooks()
        .reply(calls(&["a", "b list", "c"]))
        .late(&["c", "a", "b"])
        .reply(text("seen"))
}

fn sequential_tools() -> Story {
    let story = Story::new("look").reply(calls(&["a", "b", "c"])).reply(text("seen"));
    story.configured(|config| config.tool_execution = ToolExecutionStrategy::Sequential)
}

fn batched_tools() -> Story {
    let story =
        Story::new("look").reply(calls(&["a", "b", "c", "d", "e"])).late(&["b", "a"]).reply(text("seen"));
    story.configured(|config| config.tool_execution = ToolExecutionStrategy::Batched { size: 2 })
}

fn unsafe_tools() -> Story {
    Story::new("do")
        .reply(calls(&["a", "b write", "c write", "d", "e"]))
        .late(&["e", "d"])
        .reply(text("done"))
}

fn failing_tool() -> Story {
    let story = Story::new("do").reply(calls(&["a", "b"])).reply(text("sorry"));
    story.output("a", Err(ToolError::Failed("no such file".into()))).output("b", Ok(ToolResult::default()))
}

fn unknown_tool() -> Story {
    Story::new("do").reply(calls(&["a fly", "b"])).reply(text("sorry"))
}

fn stopped_before_loop() -> Story {
    words().scripted(|script| script.before_loop.push_back(false))
}

fn stopped_before_turn() -> Story {
    words().scripted(|script| script.before_turn.push_back(false))
}

fn stopped_before_second_turn() -> Story {
    tool_cycle().scripted(|script| script.before_turn.extend([true, false]))
}

fn filter_warns() -> Story {
    words().filtered(Filtered::Pass {
        context: vec!["today is Monday".into()],
        warnings: vec!["odd".into(), "very".into()],
    })
}

fn filter_rejects() -> Story {
    words().filtered(Filtered::Reject { reason: "no".into() })
}

/// Hooks block the end twice.
pub(super) fn kept_going() -> Story {
    let answers = ["the tests fail", "the docs are missing"].map(HookAnswer::blocks);
    words().reply(calls(&["a"])).reply(text("fixed")).told(MomentKind::Stop, answers)
}

pub(super) fn kept_going_for_ever() -> Story {
    words().told(MomentKind::Stop, (0..20).map(|_| HookAnswer::blocks("never enough")))
}

pub(super) fn halted_at_its_end() -> Story {
    words().told(MomentKind::Stop, [HookAnswer::stops("enough")])
}

pub(super) fn halted() -> Story {
    tool_cycle().when("effect RunTool a", Say::Halt("not in this repository"))
}

pub(super) fn told_of_compaction() -> Story {
    overflowed().told(MomentKind::PostCompact, [HookAnswer::tells("use tabs")])
}

pub(super) fn noted() -> Story {
    let notes = vec![Note::new("date", "It is Monday."), Note::new("empty", " ")];
    tool_cycle().scripted(|script| script.notes = notes).configured(|config| config.has_notes = true)
}

pub(super) fn noted_and_compacted() -> Story {
    let notes = vec![Note::new("date", "It is Monday.")];
    overflowed()
        .scripted(|script| script.notes = notes)
        .configured(|config| config.has_notes = true)
        .reply(calls(&["a"]))
}

pub(super) fn steered() -> Story {
    sequential_tools()
        .when("effect RunTool a", Say::Steer("rather this"))
        .when("effect RunTool a", Say::Steer("and that"))
}

fn steered_all() -> Story {
    steered().configured(|config| config.steering_mode = QueueMode::All)
}

fn followed_up() -> Story {
    tool_cycle()
        .when("effect RunTool a", Say::FollowUp("then this"))
        .when("effect RunTool a", Say::FollowUp("then that"))
}

fn queued_before_start() -> Story {
    words().when("hook before_loop", Say::Steer("first")).when("hook before_turn", Say::FollowUp("last"))
}

fn approved() -> Story {
    tool_cycle().asked("a", Some(PermissionDecision::AllowSession))
}

fn denied() -> Story {
    tool_cycle().asked("a", Some(PermissionDecision::deny("not today")))
}

fn denied_by_gate() -> Story {
    tool_cycle().verdict("a", Verdict::Deny("never".into()))
}

fn answered_twice() -> Story {
    approved().when("effect Ask a", Say::Answer("a", PermissionDecision::deny("I was first")))
}

pub(super) fn asked_beside() -> Story {
    let story = Story::new("look").reply(calls(&["a", "b", "c"])).asked("b", None).reply(text("seen"));
    story.when("event ToolExecutionEnd c", Say::Answer("b", PermissionDecision::Allow))
}

fn skipped() -> Story {
    tool_cycle().verdict("a", Verdict::Skip)
}

fn planned() -> Story {
    tool_cycle().verdict("a", Verdict::Queue { summary: "would read".into() })
}

fn rewritten() -> Story {
    tool_cycle().verdict("a", Verdict::Rewrite(Arc::new(json!({"of": "else"}))))
}

/// Tool calls in every turn.
pub(super) fn busy(turns: usize) -> Story {
    let names = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
    names.iter().take(turns).fold(Story::new("go"), |story, name| story.reply(calls(&[name])))
}

fn turn_limit() -> Story {
    busy(6).limited(ExecutionLimits::default().with_max_turns(2))
}

fn token_limit() -> Story {
    busy(6).limited(ExecutionLimits::default().with_max_total_tokens(40))
}

fn cost_limit() -> Story {
    let usage = Usage { cost: Cost::from_nano_usd(600), ..Usage::new(1, 1) };
    let mut reply = calls(&["a"]);
    reply.pop();
    reply.push(super::super::ModelSignal::Event(crate::model::StreamEvent::Done {
        stop_reason: StopReason::ToolUse,
        usage,
    }));
    Story::new("go").reply(reply).limited(ExecutionLimits::default().with_max_cost(Cost::from_nano_usd(500)))
}

pub(super) fn deadline() -> Story {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    Story::new("go").reply(calls(&["a", "b"])).held("b").limited(limits)
}

fn retried() -> Story {
    let limited =
        ProviderError::RateLimited(ErrorDetail::new("slow").with_retry_after(Some(Duration::from_secs(9))));
    Story::new("hi").reply(fails(network())).reply(fails(limited)).reply(text("hello"))
}

fn retries_exhausted() -> Story {
    let story = Story::new("hi")
        .with_hooks()
        .configured(|config| config.retry = RetryConfig::default().with_max_retries(1));
    story.reply(fails(network())).reply(fails(network()))
}

fn broken_after_delivery() -> Story {
    let mut reply = vec![piece("half a ")];
    reply.extend(fails(network()));
    Story::new("hi").with_hooks().reply(reply)
}

fn cut_stream() -> Story {
    Story::new("hi").reply(vec![super::super::ModelSignal::Ended]).reply(text("hello"))
}

fn stalled() -> Story {
    Story::new("hi").reply(Vec::new()).reply(text("hello"))
}

/// A conversation in a window of 1,000 tokens.
pub(super) fn in_small_window(turns: u128) -> Story {
    let story = Story::new("and now?").after(long_talk(turns));
    story.configured(|config| {
        let mut context = ContextConfig::with_window(1_000);
        context.system_prompt_tokens = 0;
        (context.keep_first, context.keep_recent) = (0, 1);
        config.context = Some(context);
    })
}

/// Two models report the size of their requests, each in its own tokens.
pub(super) fn counted() -> Story {
    let story =
        Story::new("count the words of this sentence, and then count them again").configured(|config| {
            config.context = Some(ContextConfig::with_window(100_000));
            config.retry = RetryConfig::none();
            config.fallbacks = vec![FallbackModel { provider: "q".to_owned(), model: "n-1".to_owned() }];
        });
    let output = || Ok(ToolResult::text("a word, another word, and the next one after it ".repeat(20)));
    let story = ["a", "b", "c", "d"].into_iter().fold(story, |story, call| story.output(call, output()));
    story
        .reply(using(calls(&["a"]), 5_000))
        .reply(using(calls(&["b"]), 5_400))
        .reply(using(calls(&["c"]), 5_800))
        .reply(fails(network()))
        .reply(using(calls(&["d"]), 9_000))
        .reply(using(text("sixty"), 9_700))
}

/// A conversation that fills its window to 86 %, and to more than 90 % after the first turn.
fn filling() -> Story {
    let story = in_small_window(1).configured(|config| {
        config.context.as_mut().unwrap().max_context_tokens = 490;
    });
    let story = story.output("a", Ok(ToolResult::text("seen ".repeat(30))));
    story.reply(unreported(calls(&["a"]))).reply(unreported(text("fine")))
}

pub(super) fn prepared() -> Story {
    filling().scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn prepared_at_the_end() -> Story {
    let story = in_small_window(1).configured(|config| {
        config.context.as_mut().unwrap().max_context_tokens = 490;
    });
    story.reply(unreported(text("fine"))).scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn prepared_too_late() -> Story {
    prepared().scripted(|script| script.slow_room = true)
}

pub(super) fn prepared_for_nothing() -> Story {
    filling().scripted(|script| script.compactor = Compactor::Words)
}

pub(super) fn overflowed() -> Story {
    let story = in_small_window(1).reply(overflow()).reply(text("better"));
    story.scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn overflowed_twice() -> Story {
    let story = in_small_window(1).with_hooks().reply(overflow()).reply(overflow());
    story.scripted(|script| script.compactor = Compactor::Replies)
}

fn overflowed_without_room() -> Story {
    in_small_window(1).with_hooks().reply(overflow())
}

pub(super) fn compacted() -> Story {
    in_small_window(3).reply(text("fine")).scripted(|script| script.compactor = Compactor::Replies)
}

pub(super) fn compaction_refused() -> Story {
    let story = in_small_window(3).scripted(|script| script.compactor = Compactor::Nonsense);
    let story = ["a", "b", "c"].iter().fold(story, |story, call| story.reply(unreported(calls(&[call]))));
    story.reply(text("fine"))
}

fn repeated_ids() -> Story {
    Story::new("go").reply(calls(&["a", "a", " read"])).reply(calls(&["a"])).reply(text("done"))
}

fn cut_off_calls() -> Story {
    Story::new("go").reply(calls_stopping(&["a", "b write"], StopReason::Length)).reply(text("done"))
}

fn paused() -> Story {
    Story::new("go").reply(vec![piece("wait"), done(StopReason::Pause)]).reply(text("done"))
}

fn repeating() -> Story {
    let same = |id| call_with(id, json!({"path": "x"}));
    let story = ["a", "b", "c", "d", "e"].into_iter().fold(Story::new("go"), |story, id| {
        story.reply(same(id)).output(id, Ok(ToolResult::text("nothing")))
    });
    story.configured(|config| config.repetition = Some(RepetitionConfig::new(2, 4)))
}

fn continued() -> Story {
    let mut story = Story::continuing(vec![old_prompt(1, "hi")]).with_hooks().reply(text("hello"));
    story.start.parent_loop_id = Some("s.c.0".into());
    story.start.continuation_kind = Some(ContinuationKind::Default);
    story
}

fn branched() -> Story {
    let mut story = continued().reply(calls(&["a"]));
    story.start.continuation_kind = Some(ContinuationKind::Branch { tag: "2025-11-15T00:00:00Z".into() });
    story
}

fn empty_reply() -> Story {
    Story::new("hi").reply(vec![done(StopReason::Stop)])
}

/// An earlier loop ended before it delivered its queued messages.
pub(super) fn carried_over() -> Story {
    let left = [
        (QueueKind::Steering, old_prompt(7, "one more thing")),
        (QueueKind::FollowUp, old_prompt(8, "and then")),
    ];
    let earlier = "s.c.0";
    let start = crate::event::LoopStart::new("agent".into(), "s".into(), earlier.into());
    let mut story = tool_cycle().journaled(Some(earlier), AgentEvent::AgentStart(Box::new(start)));
    for (queue, message) in &left {
        let queued = AgentEvent::MessageQueued { queue: *queue, message: Arc::clone(message) };
        story = story.journaled(Some(earlier), queued);
    }
    let end = AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: RunOutcome::Aborted,
        rejection: None,
    };
    story = story.journaled(Some(earlier), end);
    story.carried = left.into();
    story
}

fn cancelled_tool() -> Story {
    Story::new("go")
        .with_hooks()
        .reply(calls(&["a", "b", "c write"]))
        .held("b")
        .when("event ToolExecutionEnd a", Say::Cancel)
}

fn cancelled_question() -> Story {
    Story::new("go").reply(calls(&["a", "b"])).asked("b", None).when("effect Ask b", Say::Cancel)
}

#[test]
fn every_scenario_ends() {
    for (name, story) in catalogue() {
        let harness: Harness = story().play();
        assert!(harness.ending.is_some(), "{name} does not end:\n{}", harness.log.join("\n"));
        truths::check(&harness);
    }
}
