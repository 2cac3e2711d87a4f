//! Tests of limits on turns, tokens, cost and time. A limit ends the run with a typed outcome, never with an
//! artificial message.

use std::time::Duration;

use super::super::ModelSignal;
use super::harness::{BEGIN, Harness};
use super::story::*;
use super::truths::{self, own};
use crate::budget::BudgetScope;
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, LimitKind, RunOutcome};
use crate::message::StopReason;
use crate::model::StreamEvent;
use crate::usage::{Cost, Usage};

fn reached(harness: &Harness) -> LimitKind {
    truths::check(harness);
    let noted: Vec<LimitKind> = own(&harness.journal)
        .filter_map(|event| match event {
            AgentEvent::LimitReached { limit, note, .. } => {
                assert!(!note.is_empty());
                Some(*limit)
            }
            _ => None,
        })
        .collect();
    let RunOutcome::LimitReached { limit, scope: BudgetScope::Run } = harness.outcome() else {
        panic!("{:?}", harness.outcome())
    };
    assert_eq!(noted, [*limit], "recorded once, before the end");
    assert!(!harness.conversation().iter().any(|line| line.contains("stopped")), "no artificial message");
    *limit
}

fn spending(id: &'static str, usage: Usage) -> Reply {
    let mut reply = calls(&[id]);
    reply.pop();
    reply.push(ModelSignal::Event(StreamEvent::Done { stop_reason: StopReason::ToolUse, usage }));
    reply
}

#[test]
pub(super) fn turn_limit_allows_exactly_that_many_model_calls() {
    for turns in [1, 2, 5] {
        let story = super::catalogue::busy(8).limited(ExecutionLimits::default().with_max_turns(turns));
        let harness = story.play();
        assert_eq!(reached(&harness), LimitKind::Turns);
        assert_eq!(harness.count("effect CallModel"), turns);
        assert_eq!(harness.run.turns() as usize, turns);
    }
}

#[test]
fn turn_limit_of_zero_calls_no_model() {
    let harness = Story::new("hi").limited(ExecutionLimits::default().with_max_turns(0)).play();
    assert_eq!(reached(&harness), LimitKind::Turns);
    assert_eq!(harness.count("effect CallModel"), 0);
}

#[test]
fn run_that_finishes_at_its_limit_is_completed() {
    let harness =
        Story::new("hi").reply(text("hello")).limited(ExecutionLimits::default().with_max_turns(1)).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
pub(super) fn token_limit_includes_all_turns() {
    // Each reply uses 15 tokens.
    let story = super::catalogue::busy(8).limited(ExecutionLimits::default().with_max_total_tokens(40));
    let harness = story.play();
    assert_eq!(reached(&harness), LimitKind::Tokens);
    assert_eq!(harness.count("effect CallModel"), 3);
    assert_eq!(harness.run.usage().total(), 45);
}

#[test]
fn usage_includes_compaction() {
    let usage = |story: Story| {
        let harness = story.play();
        truths::check(&harness);
        harness.run.usage().total()
    };
    assert_eq!(usage(super::catalogue::compacted()), 15 + 4, "one reply and one summary");
}

#[test]
fn cost_limit_ends_the_run() {
    let cents = |n| Usage { cost: Cost::from_nano_usd(n), ..Usage::new(1, 1) };
    let story = Story::new("go").reply(spending("a", cents(300))).reply(spending("b", cents(300)));
    let story = story.reply(spending("c", cents(300)));
    let harness = story.limited(ExecutionLimits::default().with_max_cost(Cost::from_nano_usd(500))).play();
    assert_eq!(reached(&harness), LimitKind::Cost);
    assert_eq!(harness.count("effect CallModel"), 2);
}

#[test]
fn deadline_cancels_running_tools() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let harness = Story::new("go").reply(calls(&["a", "b"])).held("b").limited(limits).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert!(harness.logged("effect CancelTool b"));
    assert_eq!(harness.result_of("b"), "The call was cancelled.");
    let elapsed = harness.now - BEGIN;
    assert!((60_000..60_100).contains(&elapsed), "after {elapsed} ms");
}

#[test]
fn deadline_ends_a_model_call_and_keeps_partial_text() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let harness = Story::new("go").reply(vec![piece("half a ")]).limited(limits).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert_eq!(harness.conversation(), ["user: go", "assistant: half a "]);
}

#[test]
fn time_limit_is_checked_between_turns() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let story = Story::new("go").reply(calls(&["a"])).limited(limits);
    // The timer is late, but the limit is checked before the next turn.
    let harness = story.when("effect RunTool a", Say::Wait(Duration::from_secs(61))).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert_eq!(harness.count("effect CallModel"), 1);
}

#[test]
fn no_limits_means_no_deadline() {
    let harness = super::catalogue::busy(3).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    // One stall timer per model call and no other.
    assert_eq!(harness.timers_started.len(), harness.count("effect CallModel"));
}
