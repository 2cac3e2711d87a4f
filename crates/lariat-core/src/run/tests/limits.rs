//! Tests of limits on turns, tokens, cost and time. A limit ends the run with a typed outcome, never with an
//! artificial message.

use std::time::Duration;

use super::super::ModelSignal;
use super::harness::{BEGIN, Harness};
use super::invariants::{self, own};
use super::scenario::*;
use crate::budget::BudgetScope;
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, LimitKind, RunOutcome};
use crate::message::StopReason;
use crate::model::StreamEvent;
use crate::usage::{Cost, Usage};

fn reached(harness: &Harness) -> LimitKind {
    invariants::check(harness);
    let notes_sent: Vec<LimitKind> = own(&harness.journal)
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
    assert_eq!(notes_sent, [*limit], "recorded once, before the end");
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
fn turn_limit_allows_exactly_that_many_model_calls() {
    for turns in [1, 2, 5] {
        let scenario = super::catalogue::busy(8).limited(ExecutionLimits::default().with_max_turns(turns));
        let harness = scenario.play();
        assert_eq!(reached(&harness), LimitKind::Turns);
        assert_eq!(harness.count("effect CallModel"), turns);
        assert_eq!(harness.run.turns() as usize, turns);
    }
}

#[test]
fn turn_limit_of_zero_calls_no_model() {
    let harness = Scenario::new("hi").limited(ExecutionLimits::default().with_max_turns(0)).play();
    assert_eq!(reached(&harness), LimitKind::Turns);
    assert_eq!(harness.count("effect CallModel"), 0);
}

#[test]
fn run_that_finishes_at_its_limit_is_completed() {
    let harness =
        Scenario::new("hi").reply(text("hello")).limited(ExecutionLimits::default().with_max_turns(1)).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn token_limit_includes_all_turns() {
    // Each reply uses 15 tokens.
    let scenario = super::catalogue::busy(8).limited(ExecutionLimits::default().with_max_total_tokens(40));
    let harness = scenario.play();
    assert_eq!(reached(&harness), LimitKind::Tokens);
    assert_eq!(harness.count("effect CallModel"), 3);
    assert_eq!(harness.run.usage().total(), 45);
}

#[test]
fn usage_includes_compaction() {
    let usage = |scenario: Scenario| {
        let harness = scenario.play();
        invariants::check(&harness);
        harness.run.usage().total()
    };
    assert_eq!(usage(super::catalogue::compacted()), 15 + 4, "one reply and one summary");
}

#[test]
fn cost_limit_ends_the_run() {
    let cents = |n| Usage { cost: Cost::from_nano_usd(n), ..Usage::new(1, 1) };
    let scenario = Scenario::new("go").reply(spending("a", cents(300))).reply(spending("b", cents(300)));
    let scenario = scenario.reply(spending("c", cents(300)));
    let harness = scenario.limited(ExecutionLimits::default().with_max_cost(Cost::from_nano_usd(500))).play();
    assert_eq!(reached(&harness), LimitKind::Cost);
    assert_eq!(harness.count("effect CallModel"), 2);
}

#[test]
fn deadline_cancels_running_tools() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let harness = Scenario::new("go").reply(calls(&["a", "b"])).held("b").limited(limits).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert!(harness.logged("effect CancelTool b"));
    assert_eq!(harness.result_of("b"), "The call was cancelled.");
    let elapsed = harness.now - BEGIN;
    assert!((60_000..60_100).contains(&elapsed), "after {elapsed} ms");
}

#[test]
fn deadline_ends_a_model_call_and_keeps_partial_text() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let harness = Scenario::new("go").reply(vec![piece("half a ")]).limited(limits).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert_eq!(harness.conversation(), ["user: go", "assistant: half a "]);
}

#[test]
fn time_limit_is_checked_between_turns() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let scenario = Scenario::new("go").reply(calls(&["a"])).limited(limits);
    // The timer is late, but the limit is checked before the next turn.
    let harness = scenario.when("effect RunTool a", TestAction::Wait(Duration::from_secs(61))).play();
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

#[test]
fn time_limit_ends_a_run_that_waits_for_approval() {
    let limits = ExecutionLimits::default().with_max_duration(Duration::from_secs(60));
    let harness = Scenario::new("go").reply(calls(&["a"])).asked("a", None).limited(limits).play();
    assert_eq!(reached(&harness), LimitKind::Duration);
    assert!(harness.logged("effect Ask a") && harness.logged("effect Withdraw a"));
    assert!(!harness.logged("effect RunTool a"));
    let elapsed = harness.now - BEGIN;
    assert!((60_000..60_100).contains(&elapsed), "after {elapsed} ms");
}
