//! Tests of the session's hooks: before the end, after a compaction, at a prompt.

use super::super::FilterOutcome;
use super::catalogue;
use super::harness::Harness;
use super::invariants::{self, own};
use super::scenario::*;
use crate::event::{AgentEvent, RunOutcome};
use crate::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind};

fn stops(harness: &Harness) -> Vec<(bool, &str)> {
    let stop = |moment| match moment {
        &LifecycleEvent::Stop { continued, ref last_message } => Some((continued, last_message.as_str())),
        _ => None,
    };
    harness.moments.iter().filter_map(stop).collect()
}

#[test]
fn hook_that_blocks_the_end_continues_with_its_reason() {
    let harness = catalogue::stop_blocked().play();
    assert_eq!(stops(&harness), [(false, "hello"), (true, "fixed"), (true, "done")]);
    assert_eq!(
        harness.conversation(),
        [
            "user: hi",
            "assistant: hello",
            "user: [Hook: the tests fail]",
            "assistant: <a>",
            "a: output of a",
            "assistant: fixed",
            "user: [Hook: the docs are missing]",
            "assistant: done",
        ]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert!(harness.is_before("event StopBlocked", "event MessageQueued"));
    invariants::check(&harness);
}

#[test]
fn hooks_are_called_before_the_end_only_if_wanted() {
    let mut asked =
        Scenario::new("hi").reply(text("hello")).with_session_hooks(LifecycleEventKind::Stop, []).play();
    let alone = Scenario::new("hi").reply(text("hello")).play();
    assert_eq!((asked.moments.len(), alone.moments.len()), (1, 0));
    let line = asked.log.iter().position(|line| line == "effect Tell Stop").unwrap();
    asked.log.remove(line);
    assert_eq!(asked.log, alone.log, "an empty answer leaves no trace");
}

#[test]
fn hooks_can_block_the_end_at_most_eight_times_in_a_row() {
    let harness = catalogue::stop_blocked_for_ever().play();
    assert_eq!(harness.count("event StopBlocked"), 8);
    assert_eq!(harness.count("effect CallModel"), 9);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    // A user message resets the count.
    let scenario =
        catalogue::stop_blocked_for_ever().when("event StopBlocked", TestAction::FollowUp("and this"));
    let harness = scenario.play();
    assert_eq!(harness.count("event StopBlocked"), 9);
    assert_eq!(stops(&harness)[1], (false, "done"));
    invariants::check(&harness);
}

#[test]
fn limits_apply_even_if_hooks_block_the_end() {
    let limits = crate::config::ExecutionLimits::default().with_max_turns(3);
    let harness = catalogue::stop_blocked_for_ever().limited(limits).play();
    assert_eq!(harness.count("effect CallModel"), 3);
    assert!(matches!(harness.outcome(), RunOutcome::LimitReached { .. }));
}

#[test]
fn hook_stop_ends_the_run_and_records_the_reason() {
    for scenario in [catalogue::halted_at_its_end(), catalogue::halted()] {
        let harness = scenario.play();
        assert_eq!(harness.outcome(), &RunOutcome::StoppedByHook);
        let reason = own(&harness.journal).find_map(|event| match event {
            AgentEvent::HookStopped { reason } => Some(reason.as_str()),
            _ => None,
        });
        assert!(matches!(reason, Some("enough" | "not in this repository")));
        assert_eq!(harness.count("effect CallModel"), 1);
        invariants::check(&harness);
    }
    assert_eq!(catalogue::halted().held("a").play().cancelled_tools.len(), 1);
}

#[test]
fn hook_stop_before_the_start_is_applied_at_the_start() {
    let mut harness = Scenario::new("hi").begin();
    harness.inject(TestAction::Halt("no sessions today"));
    harness.drive();
    assert_eq!(
        harness.lines(&["event", "effect CallModel"]),
        ["event AgentStart", "event HookStopped", "event AgentEnd"]
    );
    assert_eq!(harness.outcome(), &RunOutcome::StoppedByHook);
    invariants::check(&harness);
}

#[test]
fn hook_text_after_a_compaction_is_in_the_next_request() {
    let harness = catalogue::hook_after_compaction().play();
    assert!(harness.is_before("event Compaction", "effect Tell PostCompact"));
    assert_eq!(harness.count("effect Tell PostCompact"), 1);
    let expected = ["user: question 0", "user: and now?", "user: [Hook: use tabs]", "assistant: better"];
    assert_eq!(harness.conversation(), expected);
    assert_eq!(harness.sent[1].len(), 3);
    invariants::check(&harness);
}

#[test]
fn compaction_forbidden_by_a_hook_is_refused() {
    let scenario = catalogue::overflowed().scripted(|script| script.compaction_forbidden = true);
    let harness = scenario.with_session_hooks(LifecycleEventKind::PostCompact, []).play();
    assert!(harness.moments.is_empty(), "nothing was compacted");
    assert!(matches!(harness.outcome(), RunOutcome::ContextFull(full) if full.reason == "not now"));
    invariants::check(&harness);
}

#[test]
fn hook_text_about_a_prompt_is_marked_and_appended() {
    let pass = FilterOutcome::Pass { context: vec!["it rains".into()], warnings: vec!["odd".into()] };
    let harness = Scenario::new("hi").filtered(pass).reply(text("hello")).play();
    assert_eq!(harness.conversation()[0], "user: hi\n[Hook: it rains]\n[Warning: odd]");
    assert_eq!(harness.count("event InputWarned"), 1);
}

#[test]
fn run_can_be_cancelled_while_hooks_hang() {
    for moment in ["effect Filter", "effect Tell Stop", "effect Tell PostCompact"] {
        let mut scenario = catalogue::hook_after_compaction()
            .with_session_hooks(LifecycleEventKind::Stop, [HookAnswer::block("no")]);
        scenario = scenario
            .filtered(FilterOutcome::Reject { reason: "late".into() })
            .when(moment, TestAction::Cancel);
        if moment != "effect Filter" {
            scenario = scenario.filtered(FilterOutcome::Pass { context: Vec::new(), warnings: Vec::new() });
        }
        let harness = scenario.play();
        assert_eq!(harness.outcome(), &RunOutcome::Aborted, "{moment}");
        assert!(!harness.logged("event InputRejected") && !harness.logged("event StopBlocked"), "{moment}");
        invariants::check(&harness);
    }
}
