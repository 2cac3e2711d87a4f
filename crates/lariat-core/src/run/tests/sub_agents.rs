//! Tool calls that start sub-agents: the order of their records, and what a crash or a cancellation does.

use super::harness::{BEGIN, Harness};
use super::scenario::{Scenario, TestAction, calls};
use crate::event::{AgentEvent, Event, EventRecord, RecordedMessage, RunOutcome};
use crate::run::ToolTraits;
use crate::tool::{ToolEffects, ToolError};

const LATER: u64 = BEGIN + 1_000_000_000;

/// A loop whose tool `write` starts sub-agents.
fn delegating() -> Scenario {
    let traits = ToolTraits { task_argument: Some("task"), ..ToolTraits::new(ToolEffects::NONE, true) };
    Scenario::new("go").reply(calls(&["a write"])).configured(|config| {
        config.tools.insert("write".to_owned(), traits);
    })
}

fn spawned(journal: &[Event]) -> Vec<String> {
    let loop_id = |event: &Event| match &event.event {
        AgentEvent::SubAgentSpawned { child_loop_id, .. } => Some(child_loop_id.to_string()),
        _ => None,
    };
    journal.iter().filter_map(loop_id).collect()
}

fn completed(journal: &[Event]) -> usize {
    journal.iter().filter(|event| matches!(event.event, AgentEvent::SubAgentCompleted { .. })).count()
}

const LINES: [&str; 4] = ["event SubAgent", "event ToolExecution", "effect RunTool", "effect CancelTool"];

#[test]
fn sub_agent_is_recorded_before_its_tool_call_starts_and_ends_before_it_ends() {
    let harness = delegating().play();
    assert_eq!(
        harness.lines(&LINES),
        [
            "event SubAgentSpawned",
            "event ToolExecutionStart a",
            "effect RunTool a",
            "event SubAgentCompleted",
            "event ToolExecutionEnd a",
        ]
    );
    let child = &spawned(&harness.journal)[0];
    assert!(child.ends_with(".sub.1"), "{child}");
    let ends = harness.journal.iter().find_map(|event| match &event.event {
        AgentEvent::ToolExecutionEnd { child_loop_id, .. } => child_loop_id.clone(),
        _ => None,
    });
    assert_eq!(ends.unwrap().as_str(), child);

    let failed = delegating().output("a", Err(ToolError::Failed("no model".into()))).play();
    assert!(failed.journal.iter().any(|event| matches!(
        &event.event,
        AgentEvent::SubAgentCompleted { outcome: RunOutcome::Failed { error }, .. } if error == "no model"
    )));
}

#[test]
fn crash_at_any_event_starts_no_second_sub_agent() {
    let original = delegating().play();
    // Before the reply is in the journal, the resumed loop asks the model again, which may not delegate.
    let replied = original.journal.iter().position(|event| match &event.event {
        AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
            message.as_assistant().is_some()
        }
        _ => false,
    });
    for crash in replied.unwrap() + 1..original.journal.len() {
        let prefix = &original.journal[..crash];
        if matches!(prefix.last().unwrap().event, AgentEvent::AgentEnd { .. }) {
            continue;
        }
        let before = spawned(prefix);
        let mut harness = Harness::recovered(&original.config, prefix, LATER);
        harness.drive();
        let all = spawned(&harness.journal);
        assert_eq!(all.len(), 1, "crash after event {crash}");
        assert!(before.is_empty() || before == all, "crash after event {crash}");
        assert_eq!(completed(&harness.journal), 1, "crash after event {crash}");
        assert_eq!(harness.outcome(), &RunOutcome::Completed, "crash after event {crash}");
    }
}

#[test]
fn sub_agent_of_an_aborted_run_is_resumed_only_to_end() {
    let mut original = delegating().held("a").when("effect RunTool a", TestAction::Cancel).begin();
    while !original.logged("effect CancelTool a") {
        assert!(original.step());
    }
    let at = original.journal.iter().position(|event| matches!(event.event, AgentEvent::AbortRequested));
    let mut harness = Harness::recovered(&original.config, &original.journal[..=at.unwrap()], LATER);
    harness.drive();
    assert_eq!(
        harness.lines(&["effect RunTool", "effect CancelTool"]),
        ["effect RunTool a", "effect CancelTool a"]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
}

#[test]
fn sub_agent_that_was_recorded_and_not_started_before_an_abort_has_an_end() {
    let original = delegating().play();
    let at =
        original.journal.iter().position(|event| matches!(event.event, AgentEvent::SubAgentSpawned { .. }));
    let mut journal = original.journal[..=at.unwrap()].to_vec();
    let mut abort = EventRecord::clone(journal.last().unwrap());
    (abort.seq, abort.event) = (abort.seq + 1, AgentEvent::AbortRequested);
    journal.push(Event::from(abort));
    let mut harness = Harness::recovered(&original.config, &journal, LATER);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert_eq!(harness.lines(&["effect RunTool"]), [""; 0], "it never begins");
    assert_eq!(completed(&harness.journal), 1);
}
