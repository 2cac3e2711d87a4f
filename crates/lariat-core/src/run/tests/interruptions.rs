//! Tests that interrupt every scenario after each of its inputs: with a cancel, the deadline, or steering.

use super::catalogue::catalogue;
use super::harness::Harness;
use super::invariants::{self, own};
use super::scenario::{Scenario, TestAction};
use crate::budget::BudgetScope;
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, LimitKind, QueueKind, RunOutcome};
use crate::message::Message;

/// Plays a scenario and injects an action after its n-th input, for every n. `check` receives the state
/// before and the finished harness.
fn at_every_point(
    scenario: fn() -> Scenario,
    say: TestAction,
    mut check: impl FnMut(JournalBefore, Harness),
) {
    let inputs = scenario().play().inputs;
    for n in 0..=inputs {
        let mut harness = scenario().begin();
        (0..n).for_each(|_| {
            harness.step();
        });
        let before = JournalBefore {
            n,
            outcome: harness.ending.as_ref().map(|ending| ending.outcome.clone()),
            limit: limit_reached(&harness),
            halted: harness.logged("event HookStopped"),
            running: running(&harness),
        };
        harness.inject(say.clone());
        harness.drive();
        check(before, harness);
    }
}

struct JournalBefore {
    n: usize,
    outcome: Option<RunOutcome>,
    limit: Option<(LimitKind, BudgetScope)>,
    halted: bool,
    running: Vec<String>,
}

fn limit_reached(harness: &Harness) -> Option<(LimitKind, BudgetScope)> {
    own(&harness.journal).find_map(|event| match event {
        AgentEvent::LimitReached { limit, scope, .. } => Some((*limit, *scope)),
        _ => None,
    })
}

/// Returns the tool calls that were started and have not ended.
fn running(harness: &Harness) -> Vec<String> {
    let started = harness.log.iter().filter_map(|line| line.strip_prefix("event ToolExecutionStart "));
    started
        .filter(|call| !harness.logged(&format!("event ToolExecutionEnd {call}")))
        .map(str::to_owned)
        .collect()
}

#[test]
fn cancel_at_any_point_ends_the_run() {
    for (name, scenario) in catalogue() {
        at_every_point(scenario, TestAction::Cancel, |before, harness| {
            invariants::check(&harness);
            let expected = match (before.outcome.clone(), before.limit) {
                (Some(outcome), _) => outcome,
                (None, Some((limit, scope))) => RunOutcome::LimitReached { limit, scope },
                (None, None) if before.halted => RunOutcome::StoppedByHook,
                (None, None) => RunOutcome::Aborted,
            };
            let log = harness.log.join("\n");
            assert_eq!(harness.outcome(), &expected, "{name}, cancelled after input {}:\n{log}", before.n);
            let cancelled: Vec<_> = harness.cancelled_tools.iter().map(ToString::to_string).collect();
            assert!(before.running.iter().all(|call| cancelled.contains(call)), "{name}: {log}");
        });
    }
}

#[test]
fn cancelled_run_calls_no_model_and_starts_no_tool() {
    for (name, scenario) in catalogue() {
        at_every_point(scenario, TestAction::Cancel, |before, harness| {
            let Some(at) = harness.log.iter().position(|line| line == "event AbortRequested") else { return };
            for line in &harness.log[at..] {
                let acts = [
                    "effect CallModel",
                    "effect RunTool",
                    "effect Ask",
                    "effect Authorize",
                    "effect Compact",
                ];
                let acts = acts.iter().any(|act| line.starts_with(act));
                assert!(!acts, "{name}, cancelled after input {}: {line}", before.n);
            }
        });
    }
}

#[test]
fn deadline_at_any_point_ends_the_run() {
    for (name, scenario) in catalogue() {
        // Limits as far away as possible, so that the scenario does not change.
        let probe = scenario();
        if probe.config.limits.is_some() {
            continue;
        }
        let inputs = scenario().limited(ExecutionLimits::default()).play().inputs;
        for n in 1..=inputs {
            let mut harness = scenario().limited(ExecutionLimits::default()).begin();
            (0..n).for_each(|_| {
                harness.step();
            });
            let before = harness.ending.as_ref().map(|ending| ending.outcome.clone());
            let aborted = harness.logged("event AbortRequested");
            let halted = harness.logged("event HookStopped");
            let started = harness.logged("event AgentStart");
            harness.inject(TestAction::Deadline);
            harness.drive();
            invariants::check(&harness);
            if before.is_some() || !started {
                continue;
            }
            let limit = RunOutcome::LimitReached { limit: LimitKind::Duration, scope: BudgetScope::Run };
            let expected = match (aborted, halted) {
                (true, _) => RunOutcome::Aborted,
                (_, true) => RunOutcome::StoppedByHook,
                _ => limit,
            };
            assert_eq!(harness.outcome(), &expected, "{name}, out of time after input {n}");
        }
    }
}

#[test]
fn message_at_any_point_is_delivered_or_queued_once() {
    for (name, scenario) in catalogue() {
        for (queue, say) in [
            (QueueKind::Steering, TestAction::Steer("by the way")),
            (QueueKind::FollowUp, TestAction::FollowUp("by the way")),
        ] {
            at_every_point(scenario, say, |before, harness| {
                let log = harness.log.join("\n");
                invariants::check(&harness);
                let said = |message: &Message| message.text() == "by the way";
                let recorded = harness.events.iter().filter(|event| match &event.event {
                    AgentEvent::MessageEnd { message } => {
                        message.shared().and_then(|message| message.as_llm()).is_some_and(said)
                    }
                    _ => false,
                });
                let recorded = recorded.count();
                let parts = harness.run.into_parts();
                let waiting = match queue {
                    QueueKind::Steering => parts.steering,
                    QueueKind::FollowUp => parts.follow_up,
                };
                let waiting = waiting.iter().filter(|message| message.as_llm().is_some_and(said)).count();
                let expected = usize::from(before.outcome.is_none());
                assert_eq!(recorded + waiting, expected, "{name}, said after input {}:\n{log}", before.n);
            });
        }
    }
}
