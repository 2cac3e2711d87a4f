//! Tests of budgets during a run: warnings, the wrap-up turn, requests for more, shared budgets.

use std::sync::Arc;

use super::super::Input;
use super::catalogue;
use super::harness::{BEGIN, Harness};
use super::invariants::{self, own};
use super::scenario::*;
use crate::budget::{BudgetLimits, BudgetScope};
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, EventRecord, FORMAT_VERSION, LimitKind, RunOutcome};
use crate::id::EventId;
use crate::time::Timestamp;

fn warnings(harness: &Harness) -> Vec<(BudgetScope, LimitKind, u8)> {
    let warning = |event: &AgentEvent| match event {
        AgentEvent::BudgetWarning { scope, limit, level, .. } => Some((*scope, *limit, *level)),
        _ => None,
    };
    own(&harness.journal).filter_map(warning).collect()
}

fn limited(limit: LimitKind, scope: BudgetScope) -> RunOutcome {
    RunOutcome::LimitReached { limit, scope }
}

/// Runs turns with one distinct call each.
fn busy(limits: ExecutionLimits) -> Harness {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let scenario = ids.into_iter().fold(Scenario::new("go"), |scenario, id| scenario.reply(calls(&[id])));
    scenario.limited(limits).play()
}

#[test]
fn each_level_causes_one_warning() {
    let harness = busy(ExecutionLimits::default().with_max_total_tokens(125));
    // 15 tokens per turn: 72 % before the seventh turn, 84 % before the eighth, 96 % before the ninth.
    assert_eq!(
        warnings(&harness),
        [(BudgetScope::Run, LimitKind::Tokens, 70), (BudgetScope::Run, LimitKind::Tokens, 95)]
    );
    invariants::check(&harness);
}

#[test]
fn last_allowed_turn_is_the_wrap_up_turn() {
    let harness = busy(ExecutionLimits::default().with_max_turns(6));
    assert_eq!(harness.outcome(), &limited(LimitKind::Turns, BudgetScope::Run));
    assert_eq!(harness.count("effect CallModel"), 6);
    let notified: Vec<bool> = harness
        .sent
        .iter()
        .map(|window| window.iter().any(|message| message.note_section() == Some("budget")))
        .collect();
    assert_eq!(notified, [false, false, false, false, false, true]);
    invariants::check(&harness);
}

#[test]
fn small_turn_limit_causes_no_warnings() {
    let harness = busy(ExecutionLimits::default().with_max_turns(4));
    assert_eq!(harness.outcome(), &limited(LimitKind::Turns, BudgetScope::Run));
    assert_eq!((warnings(&harness), harness.count("effect CallModel")), (vec![], 4));
}

#[test]
fn session_budget_stops_after_a_wrap_up_turn() {
    let harness = catalogue::session_budget().play();
    assert_eq!(harness.outcome(), &limited(LimitKind::Tokens, BudgetScope::Session));
    let session = |level| (BudgetScope::Session, LimitKind::Tokens, level);
    assert_eq!(warnings(&harness), [session(70), session(95)]);
    assert_eq!(harness.count("effect CallModel"), 5, "the fifth is the wrap-up turn");
    assert!(
        harness.conversation().iter().any(|line| line.contains("used 385 of 400 tokens for this session"))
    );
    invariants::check(&harness);
}

#[test]
fn used_up_session_budget_allows_no_turn() {
    let mut first = catalogue::session_budget().begin();
    first.drive();
    let memory = crate::session::SessionFold::of(&first.journal).memory().clone();
    let mut next = catalogue::session_budget().begin();
    next.run.remember(memory.into());
    next.drive();
    assert_eq!(next.outcome(), &limited(LimitKind::Tokens, BudgetScope::Session));
    assert_eq!(next.count("effect CallModel"), 0);
}

#[test]
fn granted_extension_continues_the_run() {
    let harness = catalogue::extended().play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.count("effect AskForMore"), 1);
    assert!(harness.is_before("event BudgetExtensionRequested", "event BudgetExtended"));
    invariants::check(&harness);

    let harness = catalogue::extended_unasked().play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!((warnings(&harness), harness.count("effect AskForMore")), (vec![], 0));
}

#[test]
fn refused_extension_ends_the_run() {
    let harness = catalogue::not_extended().play();
    assert_eq!(harness.outcome(), &limited(LimitKind::Tokens, BudgetScope::Session));
    assert_eq!(harness.count("effect AskForMore"), 1);
    invariants::check(&harness);
}

#[test]
fn extension_request_can_be_cancelled() {
    let mut scenario = catalogue::extended();
    scenario.script.unanswered.insert("more");
    let harness = scenario.when("effect AskForMore", TestAction::Cancel).play();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    invariants::check(&harness);
}

#[test]
fn run_limit_can_be_raised_during_the_run() {
    let more = TestAction::Extend(BudgetScope::Run, BudgetLimits::none().with_turns(10));
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let scenario = ids.into_iter().fold(Scenario::new("go"), |scenario, id| scenario.reply(calls(&[id])));
    let scenario =
        scenario.limited(ExecutionLimits::default().with_max_turns(3)).when("event ToolExecutionEnd b", more);
    let harness = scenario.play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.count("effect CallModel"), 9);
}

#[test]
fn shared_budget_admits_and_settles_every_call_once() {
    let harness = catalogue::shared_budget().play();
    assert_eq!(harness.outcome(), &limited(LimitKind::Tokens, BudgetScope::Pool));
    assert_eq!(harness.count("effect Admit"), 3, "the third is the wrap-up turn");
    assert_eq!((harness.count("effect Settle"), harness.reserved.len()), (3, 0));
    assert_eq!(harness.lines(&["effect AdmitTool"]).len(), 4);
    let pool = |level| (BudgetScope::Pool, LimitKind::Tokens, level);
    assert_eq!(warnings(&harness), [pool(70), pool(95)]);
    invariants::check(&harness);
}

#[test]
fn call_refused_by_a_shared_budget_is_not_made() {
    let harness = catalogue::shared_refusal().play();
    assert_eq!(harness.outcome(), &limited(LimitKind::Tokens, BudgetScope::Pool));
    assert_eq!(harness.count("effect CallModel"), 1);
    invariants::check(&harness);

    let harness = catalogue::shared_tool_refusal().play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert!(harness.result_of("b").starts_with("Not run: no tool calls are left"));
    assert!(!harness.logged("effect RunTool b"));
    invariants::check(&harness);
}

#[test]
fn tool_calls_over_the_limit_are_refused_and_the_model_can_answer() {
    let harness = catalogue::no_calls_left().play();
    assert_eq!(harness.outcome(), &limited(LimitKind::ToolCalls, BudgetScope::Run));
    assert_eq!(harness.count("effect CallModel"), 2);
    assert_eq!(harness.lines(&["effect RunTool"]).len(), 2);
    assert!(harness.result_of("c").contains("used 2 of 2 tool calls for this run"));
    invariants::check(&harness);
}

/// Resumes a run that died right after its first event of this kind was saved.
fn resumed_after(original: &Harness, is_last: impl Fn(&AgentEvent) -> bool) -> Harness {
    let last = original.journal.iter().position(|event| is_last(&event.event)).unwrap();
    let mut harness = Harness::recovered(&original.config, &original.journal[..=last], original.now);
    harness.drive();
    harness
}

#[test]
fn resumed_run_does_not_repeat_a_warning() {
    let original = busy(ExecutionLimits::default().with_max_total_tokens(125));
    let harness = resumed_after(&original, |event| matches!(event, AgentEvent::BudgetWarning { .. }));
    assert_eq!(harness.count("effect CallModel"), 1);
    assert_eq!(warnings(&harness), [(BudgetScope::Run, LimitKind::Tokens, 70)]);
}

#[test]
fn resumed_run_repeats_an_open_request_for_more_budget() {
    let original = catalogue::extended().play();
    let requested = |event: &AgentEvent| matches!(event, AgentEvent::BudgetExtensionRequested { .. });
    let harness = resumed_after(&original, requested);
    assert_eq!(harness.count("effect AskForMore"), 1);
    let requests = own(&harness.journal).filter_map(|event| match event {
        AgentEvent::BudgetExtensionRequested { request } => Some(request.id),
        _ => None,
    });
    let mut ids: Vec<_> = requests.collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "the request keeps its id");
}

/// An event of another loop of the session.
fn of_sibling(event: AgentEvent) -> Input {
    let record = EventRecord {
        v: FORMAT_VERSION,
        seq: 0,
        id: EventId::default(),
        timestamp: Timestamp::from_millis(BEGIN),
        loop_id: Some("s.other.1".into()),
        event,
    };
    Input::Observed { event: Arc::new(record) }
}

#[test]
fn extension_for_another_loop_answers_the_request() {
    let mut scenario = catalogue::extended();
    scenario.script.unanswered.insert("more");
    let mut harness = scenario.begin();
    harness.drive();
    assert_eq!(harness.count("effect AskForMore"), 1);
    let none = BudgetLimits::none();
    let (scope, by) = (BudgetScope::Session, "person".to_owned());
    harness.give(of_sibling(AgentEvent::BudgetExtended { scope, limits: none, by: by.clone() }));
    harness.drive();
    assert_eq!(harness.count("effect AskForMore"), 1, "another loop ended its own request");
    let limits = none.with_tokens(1_000);
    harness.give(of_sibling(AgentEvent::BudgetExtended { scope, limits, by }));
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    let extended = own(&harness.journal).filter_map(|event| match event {
        AgentEvent::BudgetExtended { limits, .. } => Some(*limits),
        _ => None,
    });
    assert_eq!(extended.collect::<Vec<_>>(), [none], "the amounts are recorded once, by the other loop");
}

#[test]
fn spending_of_another_loop_is_included() {
    let mut harness = catalogue::session_budget().begin();
    harness.give(of_sibling(AgentEvent::SubAgentCompleted {
        tool_call_id: "x".into(),
        child_loop_id: "child.c.0".into(),
        outcome: RunOutcome::Completed,
        usage: crate::usage::Usage::new(400, 0),
    }));
    harness.drive();
    assert_eq!(harness.outcome(), &limited(LimitKind::Tokens, BudgetScope::Session));
    assert_eq!(harness.count("effect CallModel"), 0);
}
