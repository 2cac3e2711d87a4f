//! Tests that crash every scenario after each of its durable events and resume it from the journal.

use std::sync::Arc;

use super::super::{RecoverError, Run};
use super::catalogue::{self, catalogue};
use super::harness::{BEGIN, Harness};
use super::invariants::{self, own, through_json};
use super::scenario::*;
use crate::budget::BudgetScope;
use crate::config::{ExecutionLimits, RepetitionConfig};
use crate::event::{AgentEvent, Event, LimitKind, RunOutcome};
use crate::id::{LoopId, ToolCallId};
use crate::permission::{PermissionDecision, Verdict};
use crate::run::SessionSnapshot;

/// Long after any scenario has ended, so that a wrongly included pause between crash and resume is visible.
const LATER: u64 = BEGIN + 1_000_000_000;

/// What a truncated journal says about the loop.
struct RemainingState {
    started: bool,
    ended: bool,
    aborted: bool,
    limit: Option<(LimitKind, BudgetScope)>,
    /// Calls that were started and have not ended.
    running: Vec<ToolCallId>,
    /// Calls that ended without a recorded result.
    lost: Vec<ToolCallId>,
    /// Requests without an answer.
    asking: Vec<(ToolCallId, crate::id::RequestId)>,
}

fn left(journal: &[Event]) -> RemainingState {
    let mut left = RemainingState {
        started: false,
        ended: false,
        aborted: false,
        limit: None,
        running: Vec::new(),
        lost: Vec::new(),
        asking: Vec::new(),
    };
    for event in own(journal) {
        match event {
            AgentEvent::AgentStart(_) => left.started = true,
            AgentEvent::AgentEnd { .. } => left.ended = true,
            AgentEvent::AbortRequested => left.aborted = true,
            AgentEvent::LimitReached { limit, scope, .. } => left.limit = Some((*limit, *scope)),
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => left.running.push(tool_call_id.clone()),
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                left.running.retain(|call| call != tool_call_id);
                left.lost.push(tool_call_id.clone());
            }
            AgentEvent::MessageEnd { message } => {
                let result = message.shared().and_then(|message| message.as_tool_result());
                left.lost.retain(|call| result.is_none_or(|result| result.tool_call_id != *call));
            }
            AgentEvent::PermissionRequired { request } => {
                left.asking.push((request.tool_call_id.clone(), request.id));
            }
            AgentEvent::PermissionDecided { request_id, .. } => {
                left.asking.retain(|(_, request)| request != request_id);
            }
            _ => {}
        }
    }
    left
}

/// Resumes from the journal, in memory and from JSON, and checks the outcome.
fn recover_and_check(name: &str, scenario: &Harness, prefix: &[Event]) -> Option<Harness> {
    let left = left(prefix);
    let loop_id = LoopId::from(LOOP);
    let recover = |journal: &[Event]| Run::recover(Arc::clone(&scenario.config), journal, &loop_id);
    if !left.started {
        assert_eq!(recover(prefix).unwrap_err(), RecoverError::UnknownLoop(loop_id.clone()));
        return None;
    }
    if left.ended {
        assert_eq!(recover(prefix).unwrap_err(), RecoverError::Ended(loop_id.clone()));
        return None;
    }
    let now = LATER + 1_000_000 * prefix.len() as u64;
    let mut harness = Harness::recovered(&scenario.config, prefix, now);
    harness.drive();
    invariants::check(&harness);
    let context = format!("{name}, crashed after {} events:\n{}", prefix.len(), harness.log.join("\n"));

    let mut reread = Harness::recovered(&scenario.config, &through_json(prefix), now);
    reread.drive();
    assert_eq!(reread.log, harness.log, "{context}");
    assert_eq!(reread.journal, harness.journal, "{context}");

    match (left.limit, left.aborted) {
        (Some((limit, scope)), _) => {
            assert_eq!(harness.outcome(), &RunOutcome::LimitReached { limit, scope }, "{context}")
        }
        (None, true) => assert_eq!(harness.outcome(), &RunOutcome::Aborted, "{context}"),
        (None, false) => {}
    }
    let recovered = harness.journal.iter().rev().find_map(|event| match &event.event {
        AgentEvent::LoopRecovered { interrupted, .. } => Some(interrupted.clone()),
        _ => None,
    });
    assert_eq!(recovered, Some(left.running.clone()), "{context}");
    for call in &left.running {
        assert!(harness.result_of(call.as_str()).contains("outcome is unknown"), "{context}");
        assert!(!harness.logged(&format!("effect RunTool {call}")), "{context}");
    }
    for call in &left.lost {
        assert!(harness.result_of(call.as_str()).contains("output was lost"), "{context}");
    }
    let stopping = left.aborted || left.limit.is_some();
    for (call, request) in &left.asking {
        let decided = harness.journal.iter().any(|event| {
            matches!(&event.event, AgentEvent::PermissionDecided { request_id, .. } if request_id == request)
        });
        assert!(decided, "the request keeps its id: {context}");
        // No tool waits for the answer to a question of a tool that the crash ended.
        let is_asked_again = !stopping && !left.running.contains(call);
        assert_eq!(harness.logged(&format!("effect Ask {call}")), is_asked_again, "{context}");
        let required = harness.count(&format!("event PermissionRequired {call}"));
        assert_eq!(
            required,
            usize::from(is_asked_again),
            "new observers receive the request once: {context}"
        );
    }
    Some(harness)
}

#[test]
fn resumes_after_a_crash_at_any_point() {
    for (name, scenario) in catalogue() {
        let original = scenario().play();
        for crash in 0..=original.journal.len() {
            recover_and_check(name, &original, &original.journal[..crash]);
        }
    }
}

#[test]
fn resume_from_any_snapshot_equals_resume_from_the_journal() {
    let mut compared = 0;
    for (name, scenario) in catalogue() {
        let original = scenario().play();
        let journal = &original.journal;
        let recover =
            |prefix: &[Event]| Run::recover(Arc::clone(&original.config), prefix, &LoopId::from(LOOP));
        for at in 0..=journal.len() {
            let made = recover(&journal[..at]).ok().and_then(|recovered| recovered.run().snapshot());
            let Some(bytes) = made.and_then(|snapshot| snapshot.to_bytes()) else { continue };
            let snapshot = SessionSnapshot::from_bytes(&bytes).unwrap();
            for crash in at..=journal.len() {
                let prefix = &journal[..crash];
                if recover(prefix).is_err() {
                    continue;
                }
                let mut whole = Harness::recovered(&original.config, prefix, LATER);
                let mut resumed = Harness::resumed_from(&snapshot, at, &original.config, prefix, LATER);
                let tracked =
                    |of: &Harness| of.run.state.tracker.as_ref().map(|tracker| tracker.state().clone());
                assert_eq!(
                    tracked(&resumed),
                    tracked(&whole),
                    "{name}, snapshot of {at}, crashed after {crash}"
                );
                whole.drive();
                resumed.drive();
                assert_eq!(resumed.log, whole.log, "{name}, snapshot of {at}, crashed after {crash}");
                assert_eq!(resumed.journal, whole.journal, "{name}, snapshot of {at}, crashed after {crash}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn token_calibration_is_restored_from_the_journal() {
    let original = catalogue::counted().play();
    let tracked = |run: &Run| run.state.tracker.as_ref().map(|tracker| tracker.state().clone()).unwrap();
    let mut reported = 0;
    for crash in 0..original.journal.len() {
        let prefix = &original.journal[..crash];
        let Ok(recovered) = Run::recover(Arc::clone(&original.config), prefix, &LoopId::from(LOOP)) else {
            continue;
        };
        let mut tracker = original.config.tracker().unwrap();
        for event in own(prefix) {
            if let AgentEvent::MessageEnd { message } = event {
                tracker.add(message.shared().unwrap());
            }
        }
        assert_eq!(tracked(recovered.run()), *tracker.state(), "crashed after {crash}");
        reported += usize::from(tracker.is_reported());
    }
    assert!(reported > 10, "{reported}");
    // The last report of the fallback model plus its reply, in its own tokens.
    assert_eq!(original.run.context_tokens(), Some(9_705), "{:?}", tracked(&original.run));
}

#[test]
fn resumes_after_a_crash_during_recovery() {
    for (name, scenario) in catalogue() {
        let original = scenario().play();
        for crash in 0..original.journal.len() {
            let Some(recovered) = recover_and_check(name, &original, &original.journal[..crash]) else {
                continue;
            };
            for second in crash + 1..recovered.journal.len() {
                recover_and_check(name, &original, &recovered.journal[..second]);
            }
        }
    }
}

#[test]
fn crash_of_a_cancelled_run_still_ends_it() {
    for (name, scenario) in [
        ("parallel", catalogue::parallel_tools as fn() -> Scenario),
        ("asked", catalogue::asked_beside),
        ("steered", catalogue::steered),
    ] {
        let inputs = scenario().play().inputs;
        for n in 0..inputs {
            let mut original = scenario().begin();
            (0..n).for_each(|_| {
                original.step();
            });
            original.inject(TestAction::Cancel);
            original.drive();
            for crash in 0..=original.journal.len() {
                recover_and_check(name, &original, &original.journal[..crash]);
            }
        }
    }
}

#[test]
fn tool_running_at_the_crash_does_not_run_again() {
    let original = Scenario::new("go").reply(calls(&["a write", "b"])).held("a").play();
    let mut harness = Harness::recovered(&original.config, &original.journal, LATER);
    harness.drive();
    assert_eq!(
        harness.log[..7],
        [
            "event LoopRecovered",
            "event ToolExecutionEnd a",
            "event MessageStart result",
            "event MessageEnd result",
            "effect Authorize b",
            "event ToolExecutionStart b",
            "effect RunTool b",
        ]
    );
    assert!(
        harness.result_of("a").starts_with("Interrupted: this call was started, but its outcome is unknown")
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn request_open_at_the_crash_is_sent_again() {
    let original = Scenario::new("go").reply(calls(&["a"])).asked("a", None).play();
    assert!(original.ending.is_none());
    let asked: Vec<_> = original.run.pending_permissions().map(|request| request.id).collect();
    let mut harness = Harness::recovered(&original.config, &original.journal, LATER);
    assert_eq!(harness.run.pending_permissions().map(|request| request.id).collect::<Vec<_>>(), asked);
    harness.drive();
    assert_eq!(
        harness.lines(&["effect"]),
        ["effect Ask a", "effect Withdraw a", "effect RunTool a", "effect CallModel", "effect Finish"]
    );
}

#[test]
fn decision_from_before_the_crash_still_applies() {
    let decided = |decision: PermissionDecision| {
        let original = Scenario::new("go").reply(calls(&["a"])).asked("a", Some(decision)).play();
        let after = original
            .journal
            .iter()
            .position(|event| matches!(event.event, AgentEvent::PermissionDecided { .. }));
        let mut harness = Harness::recovered(&original.config, &original.journal[..=after.unwrap()], LATER);
        harness.drive();
        assert!(!harness.logged("effect Ask a"));
        harness
    };
    assert!(decided(PermissionDecision::Allow).logged("effect RunTool a"));
    let denied = decided(PermissionDecision::deny("not today"));
    assert!(!denied.logged("effect RunTool a"));
    assert_eq!(denied.result_of("a"), "Denied: not today");
}

#[test]
fn plan_change_queued_before_the_crash_stays_queued() {
    let verdict = crate::permission::Verdict::Queue { summary: "write x".into() };
    let original = Scenario::new("go").reply(calls(&["a write"])).verdict("a", verdict).play();
    let queued =
        original.journal.iter().position(|event| matches!(event.event, AgentEvent::PlanChangeQueued { .. }));
    let mut harness = Harness::recovered(&original.config, &original.journal[..=queued.unwrap()], LATER);
    harness.drive();
    // In a resumed run, the permission check would allow it.
    assert!(!harness.logged("effect Authorize a") && !harness.logged("event PlanChangeQueued"));
    assert_eq!(harness.result_of("a"), original.result_of("a"));
}

#[test]
fn call_blocked_before_the_crash_stays_blocked() {
    for (by, verdict) in [("gate", Verdict::Deny("never".into())), ("callback", Verdict::Skip)] {
        let original = Scenario::new("go").reply(calls(&["a"])).verdict("a", verdict).play();
        let is_blocked = |event: &Event| matches!(event.event, AgentEvent::ToolBlocked { .. });
        let blocked = original.journal.iter().position(is_blocked).unwrap();
        let mut harness = Harness::recovered(&original.config, &original.journal[..=blocked], LATER);
        harness.drive();
        // In a resumed run, the permission check would allow it.
        assert!(!harness.logged("effect Authorize a") && !harness.logged("event ToolBlocked"), "{by}");
        assert_eq!(harness.result_of("a"), original.result_of("a"), "{by}");
    }
}

#[test]
fn interrupted_call_is_not_a_repetition() {
    let scenario = Scenario::new("go").reply(calls(&["a"])).held("a");
    // Any other result would end the run.
    let scenario = scenario.configured(|config| config.repetition = Some(RepetitionConfig::new(1, 1)));
    let mut original = scenario.begin();
    while !original.logged("effect RunTool a") {
        assert!(original.step());
    }
    let mut harness = Harness::recovered(&original.config, &original.journal, LATER);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert!(harness.result_of("a").ends_with("Check the state before repeating it."), "without a note");
}

#[test]
fn model_call_pending_at_the_crash_is_repeated() {
    let original = Scenario::new("hi").reply(vec![piece("half a ")]);
    let mut original = original.begin();
    (0..2).for_each(|_| {
        original.step();
    });
    let mut harness = Harness::recovered(&original.config, &original.journal, LATER);
    harness.drive();
    assert_eq!(harness.count("effect CallModel"), 1);
    assert_eq!(harness.conversation(), ["user: hi", "assistant: done"]);
}

#[test]
fn time_between_crash_and_resume_is_not_counted() {
    let limits = || ExecutionLimits::default().with_max_duration(std::time::Duration::from_secs(60));
    let scenario = Scenario::new("go").reply(calls(&["a"])).held("a").limited(limits());
    let mut original =
        scenario.when("effect RunTool a", TestAction::Wait(std::time::Duration::from_secs(20))).begin();
    (0..4).for_each(|_| {
        original.step();
    });
    original.inject(TestAction::Steer("said after 20 seconds"));
    let mut harness = Harness::recovered(&original.config, &original.journal, LATER);
    let deadline = harness.timers_started[0].as_millis();
    let left = deadline - LATER;
    assert!((39_000..=40_000).contains(&left), "{left} ms are left of 60,000 after 20,000");
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn usage_and_turns_continue_after_a_crash() {
    let original = catalogue::busy(4).limited(ExecutionLimits::default().with_max_turns(3)).play();
    assert_eq!(
        original.outcome(),
        &RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run }
    );
    let second =
        original.journal.iter().rposition(|event| matches!(event.event, AgentEvent::TurnEnd { .. })).unwrap();
    let harness = {
        let mut harness = Harness::recovered(&original.config, &original.journal[..second], LATER);
        harness.drive();
        harness
    };
    assert_eq!(harness.outcome(), original.outcome());
    assert_eq!(harness.ending.as_ref().unwrap().usage, original.ending.as_ref().unwrap().usage);
    assert_eq!(harness.run.turns(), 3);
}

#[test]
fn unknown_or_ended_loop_cannot_be_resumed() {
    let original = Scenario::new("hi").play();
    let recover =
        |id: &str| Run::recover(Arc::clone(&original.config), &original.journal, &id.into()).unwrap_err();
    assert_eq!(recover("s.c.9"), RecoverError::UnknownLoop("s.c.9".into()));
    assert_eq!(recover(LOOP), RecoverError::Ended(LOOP.into()));
}

#[test]
fn messages_of_an_earlier_loop_survive_a_crash() {
    let original = catalogue::carried_over().play();
    assert!(original.conversation().contains(&"user: one more thing".to_owned()));
    let start = original.journal.iter().position(
        |event| matches!(&event.event, AgentEvent::AgentStart(start) if start.loop_id.as_str() == LOOP),
    );
    for crash in start.unwrap() + 1..original.journal.len() {
        let mut harness =
            Harness::recovered(&original.config, &through_json(&original.journal[..crash]), LATER);
        harness.drive();
        let said = harness.conversation();
        for words in ["user: one more thing", "user: and then"] {
            let times = said.iter().filter(|line| *line == words).count();
            assert_eq!(times, 1, "crashed after {crash} events: {said:#?}");
        }
    }
}

#[test]
fn call_is_checked_again_only_if_the_crash_lost_its_check() {
    let original = Scenario::new("go").reply(calls(&["a"])).play();
    let start = original
        .journal
        .iter()
        .position(|event| matches!(event.event, AgentEvent::ToolExecutionStart { .. }))
        .unwrap();
    let mut lost = Harness::recovered(&original.config, &original.journal[..start], LATER);
    lost.drive();
    assert_eq!(lost.count("effect Authorize a"), 1);
    let mut kept = Harness::recovered(&original.config, &original.journal[..=start], LATER);
    kept.drive();
    assert_eq!(kept.count("effect Authorize a"), 0);
}
