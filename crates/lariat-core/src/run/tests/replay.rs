//! Tests that replay every scenario from its journal: the machine must record the same events.

use std::sync::Arc;

use super::catalogue::catalogue;
use super::harness::{BEGIN, Harness};
use super::invariants::through_json;
use super::scenario::*;
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, Event};
use crate::id::LoopId;
use crate::replay::{Replay, replay_loop};
use crate::run::{Run, RunConfig};

fn replayed(config: &Arc<RunConfig>, journal: &[Event]) -> Option<Replay> {
    replay_loop(config, &through_json(journal), &LoopId::from(LOOP))
}

#[test]
fn every_scenario_replays_without_divergence() {
    for (name, scenario) in catalogue() {
        let original = scenario().play();
        let Some(replay) = replayed(&original.config, &original.journal) else {
            let begun = original.journal.iter().any(|event| matches!(event.event, AgentEvent::AgentStart(_)));
            assert!(!begun, "{name}");
            continue;
        };
        assert_eq!(replay.divergence, None, "{name}, after {} events", replay.same);
    }
}

#[test]
fn resumed_scenario_replays_without_divergence() {
    for (name, scenario) in catalogue() {
        let original = scenario().play();
        for crash in 0..original.journal.len() {
            let prefix = &original.journal[..crash];
            if Run::recover(Arc::clone(&original.config), prefix, &LoopId::from(LOOP)).is_err() {
                continue;
            }
            let mut recovered = Harness::recovered(&original.config, prefix, BEGIN + 1_000_000_000);
            recovered.drive();
            let replay = replayed(&original.config, &recovered.journal).unwrap();
            assert_eq!(replay.divergence, None, "{name}, crashed after {crash}, same {}", replay.same);
        }
    }
}

#[test]
fn journal_of_an_earlier_version_replays_without_newer_kinds() {
    let is_newer = |event: &Event| {
        matches!(event.event, AgentEvent::ToolBlocked { .. } | AgentEvent::TasksChanged { .. })
    };
    let names = ["denied by the user", "denied by the gate", "skipped by a hook", "a task list"];
    for (name, scenario) in catalogue().into_iter().filter(|(name, _)| names.contains(name)) {
        let original = scenario().play();
        assert!(original.journal.iter().any(is_newer), "{name}");
        let older: Vec<Event> = original.journal.iter().filter(|event| !is_newer(event)).cloned().collect();
        let replay = replayed(&original.config, &older).unwrap();
        assert_eq!(replay.divergence, None, "{name}, after {} events", replay.same);
    }
    // A journal with such events must have all of them.
    let original = super::catalogue::task_list().play();
    let mut forged = through_json(&original.journal);
    let last = forged.iter().rposition(is_newer).unwrap();
    forged.remove(last);
    assert!(replayed(&original.config, &forged).unwrap().divergence.is_some());
}

#[test]
fn replay_reports_the_first_difference() {
    let original = Scenario::new("go").reply(calls(&["a"])).reply(text("done")).play();
    let limited = RunConfig {
        limits: Some(ExecutionLimits { max_turns: Some(1), ..ExecutionLimits::default() }),
        ..RunConfig::clone(&original.config)
    };
    let replay = replayed(&Arc::new(limited), &original.journal).unwrap();
    let divergence = replay.divergence.unwrap();
    assert!(divergence.recorded.contains("TurnStart"), "{divergence:?}");
    assert!(divergence.replayed.contains("LimitReached"), "{divergence:?}");
    assert_eq!(divergence.seq, Some(original.journal[replay.same].seq));

    let mut forged = through_json(&original.journal);
    let end = forged.iter().position(|event| matches!(event.event, AgentEvent::TurnEnd { .. })).unwrap();
    forged.remove(end);
    let replay = replayed(&original.config, &forged).unwrap();
    assert_eq!(replay.same, end);
    assert!(replay.divergence.unwrap().replayed.contains("TurnEnd"));
}

#[test]
fn truncated_journal_replays_to_its_end() {
    let original = Scenario::new("go").reply(calls(&["a", "b"])).reply(text("done")).play();
    for end in 1..original.journal.len() {
        let replay = replayed(&original.config, &original.journal[..end]).unwrap();
        assert_eq!((replay.divergence, replay.same), (None, end));
    }
}
