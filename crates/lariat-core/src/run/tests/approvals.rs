//! Tests of approvals: other calls continue meanwhile, the first answer wins, and no request stays open.

use super::harness::Harness;
use super::invariants::{self, own};
use super::scenario::*;
use crate::event::{AgentEvent, RunOutcome};
use crate::permission::PermissionDecision;

fn decisions(harness: &Harness) -> Vec<PermissionDecision> {
    let decided = |event: &AgentEvent| match event {
        AgentEvent::PermissionDecided { decision, .. } => Some(decision.clone()),
        _ => None,
    };
    own(&harness.journal).filter_map(decided).collect()
}

#[test]
fn request_is_recorded_before_asking_and_decided_before_the_tool_runs() {
    let scenario = Scenario::new("do").reply(calls(&["a"])).asked("a", Some(PermissionDecision::AllowAlways));
    let harness = scenario.play();
    assert_eq!(
        harness.lines(&[
            "effect Authorize",
            "effect Ask",
            "effect Withdraw",
            "effect RunTool",
            "event Permission",
            "event ToolExecutionStart"
        ]),
        [
            "effect Authorize a",
            "event PermissionRequired a",
            "effect Ask a",
            "event PermissionDecided a",
            "effect Withdraw a",
            "event ToolExecutionStart a",
            "effect RunTool a",
        ]
    );
    assert_eq!(decisions(&harness), [PermissionDecision::AllowAlways]);
    invariants::check(&harness);
}

#[test]
fn other_calls_continue_while_an_approval_is_pending() {
    let scenario = Scenario::new("do").reply(calls(&["a", "b", "c"])).asked("b", None).reply(text("done"));
    let mut harness = scenario.play();
    assert!(harness.ending.is_none());
    assert!(harness.logged("event ToolExecutionEnd a") && harness.logged("event ToolExecutionEnd c"));
    assert_eq!(harness.count("effect CallModel"), 1, "the model is called only with all results");
    assert_eq!(harness.run.pending_permissions().count(), 1);
    harness.inject(TestAction::Answer("b", PermissionDecision::Allow));
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.run.pending_permissions().count(), 0);
    assert_eq!(harness.conversation()[2..5], ["a: output of a", "b: output of b", "c: output of c"]);
}

#[test]
fn exclusive_call_waits_for_the_approval_before_it() {
    let scenario = Scenario::new("do").reply(calls(&["a", "b write"])).asked("a", None);
    let mut harness = scenario.play();
    assert!(!harness.logged("effect Authorize b"));
    harness.inject(TestAction::Answer("a", PermissionDecision::Allow));
    harness.drive();
    assert!(harness.is_before("event ToolExecutionEnd a", "effect Authorize b"));
}

#[test]
fn model_receives_the_reason_of_a_denial() {
    for (decision, expected) in [
        (PermissionDecision::deny("not today"), "Denied: not today"),
        (PermissionDecision::Deny { reason: None }, "Denied: this call was not approved."),
    ] {
        let harness =
            Scenario::new("do").reply(calls(&["a"])).asked("a", Some(decision)).reply(text("ok")).play();
        assert_eq!(harness.result_of("a"), expected);
        assert!(!harness.logged("event ToolExecutionStart a"));
        assert_eq!(harness.outcome(), &RunOutcome::Completed);
    }
}

#[test]
fn first_answer_wins() {
    let allow = || Some(PermissionDecision::Allow);
    let scenario = Scenario::new("do").reply(calls(&["a"])).asked("a", allow()).reply(text("ok"));
    let harness =
        scenario.when("effect Ask a", TestAction::Answer("a", PermissionDecision::deny("first"))).play();
    assert_eq!(decisions(&harness), [PermissionDecision::deny("first")]);
    assert!(!harness.logged("effect RunTool a"));
    assert_eq!(harness.count("effect Withdraw a"), 1, "the other approver is notified");

    let scenario = Scenario::new("do").reply(calls(&["a"])).asked("a", allow()).reply(text("ok"));
    let late = PermissionDecision::deny("late");
    let harness = scenario.when("effect RunTool a", TestAction::Answer("a", late)).play();
    assert_eq!(decisions(&harness), [PermissionDecision::Allow]);
    assert_eq!(harness.result_of("a"), "output of a");
}

#[test]
fn cancel_withdraws_open_requests() {
    let scenario =
        Scenario::new("do").reply(calls(&["a", "b", "c"])).asked("a", None).asked("b", None).held("c");
    let mut harness = scenario.play();
    assert_eq!(harness.run.pending_permissions().count(), 2);
    harness.inject(TestAction::Cancel);
    assert_eq!(harness.run.pending_permissions().count(), 0);
    assert!(harness.logged("effect Withdraw a") && harness.logged("effect Withdraw b"));
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert_eq!(decisions(&harness), [PermissionDecision::Withdrawn, PermissionDecision::Withdrawn]);
    assert_eq!(harness.result_of("a"), "The run was cancelled before this call was started.");
    invariants::check(&harness);
    let before = harness.log.clone();
    harness.inject(TestAction::Answer("a", PermissionDecision::Allow));
    assert_eq!(harness.log, before, "a later answer changes nothing");
}

#[test]
fn cancel_ends_a_running_tool_and_waits_for_it() {
    let mut harness = Scenario::new("do").reply(calls(&["a", "b write"])).held("a").play();
    harness.inject(TestAction::Cancel);
    assert!(harness.logged("effect CancelTool a"));
    assert!(harness.ending.is_none(), "the tool is still running");
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert_eq!(harness.result_of("a"), "The call was cancelled.");
    assert_eq!(harness.result_of("b"), "The run was cancelled before this call was started.");
    assert!(!harness.logged("effect Authorize b"));
}

#[test]
fn tool_that_finishes_despite_cancel_keeps_its_result() {
    let mut harness = Scenario::new("do").reply(calls(&["a"])).late(&["a"]).begin();
    while !harness.logged("effect RunTool a") {
        harness.step();
    }
    harness.inject(TestAction::Cancel);
    harness.drive();
    assert_eq!(harness.result_of("a"), "output of a");
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
}

#[test]
fn approved_call_runs_with_the_rewritten_arguments_shown() {
    let args = std::sync::Arc::new(serde_json::json!({"path": "shown"}));
    let question = crate::permission::PermissionRequest::new(&tool_call("a", "read"), "read `shown`?");
    let scenario = Scenario::new("do")
        .reply(calls(&["a"]))
        .verdict("a", crate::permission::Verdict::Ask(question.with_args(args)))
        .scripted(|script| {
            script.decisions.insert("a", PermissionDecision::Allow);
        });
    let harness = scenario.play();
    assert!(harness.logged("effect RunTool a {\"path\":\"shown\"}"));
    invariants::check(&harness);
}

#[test]
fn answer_to_a_question_is_the_result_and_the_tool_does_not_run() {
    let answered = PermissionDecision::Answered { text: "blue".into() };
    let scenario =
        || Scenario::new("do").reply(calls(&["a"])).asked("a", Some(answered.clone())).reply(text("ok"));
    let harness = scenario().play();
    assert_eq!(harness.result_of("a"), "blue");
    assert!(!harness.logged("event ToolExecutionStart a") && !harness.logged("effect RunTool a"));
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    invariants::check(&harness);

    // A crash right after the answer was recorded does not lose it.
    let is_answer = |event: &AgentEvent| matches!(event, AgentEvent::PermissionDecided { .. });
    let at = harness.journal.iter().position(|event| is_answer(&event.event)).unwrap();
    let mut recovered = Harness::recovered(&harness.config, &harness.journal[..=at], harness.now);
    recovered.drive();
    assert_eq!(recovered.result_of("a"), "blue");
    assert!(!recovered.logged("event ToolExecutionStart a"));
}

#[test]
fn running_tool_asks_and_continues_with_the_answer() {
    let mut harness = Scenario::new("do").reply(calls(&["a"])).held("a").unanswered("a").play();
    harness.inject(TestAction::Question("a"));
    assert_eq!(harness.run.pending_permissions().count(), 1);
    assert_eq!(
        harness.lines(&["effect Ask", "effect RunTool", "event Permission", "event ToolExecution"]),
        ["event ToolExecutionStart a", "effect RunTool a", "event PermissionRequired a", "effect Ask a"]
    );
    let before = harness.log.clone();
    harness.inject(TestAction::Question("a"));
    assert_eq!(harness.log, before, "a tool asks one question at a time");
    let answer = PermissionDecision::Answered { text: "this".to_owned() };
    harness.inject(TestAction::Answer("a", answer.clone()));
    assert_eq!(decisions(&harness), [answer]);
    assert_eq!(harness.run.pending_permissions().count(), 0);
    assert!(!harness.logged("event ToolExecutionEnd a"), "the tool still runs");
    harness.inject(TestAction::Question("a"));
    assert_eq!(harness.count("effect Ask a"), 2, "it may ask again");
}

#[test]
fn question_of_a_running_tool_is_withdrawn_when_it_ends_or_is_cancelled() {
    let mut harness = Scenario::new("do").reply(calls(&["a"])).held("a").unanswered("a").play();
    harness.inject(TestAction::Question("a"));
    harness.inject(TestAction::Cancel);
    assert_eq!(decisions(&harness), [PermissionDecision::Withdrawn]);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    invariants::check(&harness);

    let scenario = Scenario::new("do").reply(calls(&["a"])).late(&["a"]).unanswered("a").reply(text("done"));
    let harness = scenario.when("effect RunTool a", TestAction::Question("a")).play();
    assert_eq!(decisions(&harness), [PermissionDecision::Withdrawn]);
    assert_eq!(harness.result_of("a"), "output of a");
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn question_of_a_tool_that_a_crash_ended_is_withdrawn() {
    let mut original = Scenario::new("do").reply(calls(&["a"])).held("a").unanswered("a").play();
    original.inject(TestAction::Question("a"));
    let mut harness = Harness::recovered(&original.config, &original.journal, 1_000_000_000);
    assert_eq!(harness.count("effect Ask a"), 0, "no tool waits for the answer");
    assert_eq!(harness.count("event PermissionRequired a"), 0);
    harness.drive();
    assert_eq!(decisions(&harness), [PermissionDecision::Withdrawn]);
    assert!(harness.result_of("a").starts_with("Interrupted: "));
}

#[test]
fn tool_that_does_not_run_asks_nothing() {
    let mut harness = Scenario::new("do").reply(calls(&["a"])).reply(text("done")).play();
    let before = harness.log.clone();
    harness.inject(TestAction::Question("a"));
    harness.inject(TestAction::Question("unknown"));
    assert_eq!(harness.log, before);
}
