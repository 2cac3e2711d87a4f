//! Tests of the checkpoints that a run records by itself.

use super::catalogue::{catalogue, task_list};
use super::invariants::{self, own, through_json};
use super::scenario::*;
use crate::event::AgentEvent;
use crate::id::LoopId;
use crate::replay::replay_loop;
use crate::session::SessionFold;

/// Returns names and messages of the checkpoints.
fn checkpoints(journal: &[crate::event::Event]) -> Vec<(String, Option<crate::id::MessageId>)> {
    let checkpoint = |event: &AgentEvent| match event {
        AgentEvent::Checkpoint { label, message_id } => Some((label.clone(), *message_id)),
        _ => None,
    };
    own(journal).filter_map(checkpoint).collect()
}

#[test]
fn completed_task_and_end_of_run_record_a_checkpoint() {
    let harness = task_list().configured(|config| config.checkpoints = true).play();
    let found = checkpoints(&harness.journal);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "auto/task/look");
    assert!(names[1].starts_with("auto/run-"), "{names:?}");
    assert_eq!(found[1].1, harness.run.state.tip);
    // A conversation that returns to a checkpoint can take a prompt.
    let fold = SessionFold::of(&harness.journal);
    for (name, message) in found {
        let (mut transcript, repairs) = fold.conversation(message);
        assert!(repairs.is_empty(), "{name}: {repairs:?}");
        transcript.push_user(old_prompt(900, "and now?")).unwrap();
        assert!(transcript.request().is_ok(), "{name}");
    }
}

#[test]
fn run_records_no_checkpoint_unless_configured_or_without_messages() {
    assert_eq!(checkpoints(&task_list().play().journal), []);
    for (name, scenario) in catalogue() {
        let harness = scenario().configured(|config| config.checkpoints = true).play();
        invariants::check(&harness);
        let end = own(&harness.journal).find_map(|event| match event {
            AgentEvent::AgentEnd { messages, .. } => Some(messages.is_empty()),
            _ => None,
        });
        let at_end = checkpoints(&harness.journal).iter().filter(|(name, _)| name.contains("run-")).count();
        assert_eq!(at_end, usize::from(end == Some(false)), "{name}");
    }
}

#[test]
fn journal_with_checkpoints_replays_with_and_without_the_setting() {
    let original = task_list().configured(|config| config.checkpoints = true).play();
    let off = task_list().play();
    for config in [&original.config, &off.config] {
        for journal in [&original.journal, &off.journal] {
            let replay = replay_loop(config, &through_json(journal), &LoopId::from(LOOP)).unwrap();
            assert_eq!(replay.divergence, None);
        }
    }
}
