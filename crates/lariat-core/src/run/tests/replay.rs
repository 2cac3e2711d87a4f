//! Tests that replay every scenario from its journal: the machine must record the same events.

use std::sync::Arc;

use super::catalogue::catalogue;
use super::harness::{BEGIN, Harness};
use super::story::*;
use super::truths::through_json;
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
    for (name, story) in catalogue() {
        let lived = story().play();
        let Some(replay) = replayed(&lived.config, &lived.journal) else {
            let begun = lived.journal.iter().any(|event| matches!(event.event, AgentEvent::AgentStart(_)));
            assert!(!begun, "{name}");
            continue;
        };
        assert_eq!(replay.divergence, None, "{name}, after {} events", replay.same);
    }
}

#[test]
fn resumed_scenario_replays_without_divergence() {
    for (name, story) in catalogue() {
        let lived = story().play();
        for crash in 0..lived.journal.len() {
            let prefix = &lived.journal[..crash];
            if Run::recover(Arc::clone(&lived.config), prefix, &LoopId::from(LOOP)).is_err() {
                continue;
            }
            let mut recovered = Harness::recovered(&lived.config, prefix, BEGIN + 1_000_000_000);
            recovered.drive();
            let replay = replayed(&lived.config, &recovered.journal).unwrap();
            assert_eq!(replay.divergence, None, "{name}, crashed after {crash}, same {}", replay.same);
        }
    }
}

#[test]
fn replay_reports_the_first_difference() {
    let lived = Story::new("go").reply(calls(&["a"])).reply(text("done")).play();
    let limited = RunConfig {
        limits: Some(ExecutionLimits { max_turns: 1, ..ExecutionLimits::default() }),
        ..RunConfig::clone(&lived.config)
    };
    let replay = replayed(&Arc::new(limited), &lived.journal).unwrap();
    let divergence = replay.divergence.unwrap();
    assert!(divergence.recorded.contains("TurnStart"), "{divergence:?}");
    assert!(divergence.replayed.contains("LimitReached"), "{divergence:?}");
    assert_eq!(divergence.seq, Some(lived.journal[replay.same].seq));

    let mut forged = through_json(&lived.journal);
    let end = forged.iter().position(|event| matches!(event.event, AgentEvent::TurnEnd { .. })).unwrap();
    forged.remove(end);
    let replay = replayed(&lived.config, &forged).unwrap();
    assert_eq!(replay.same, end);
    assert!(replay.divergence.unwrap().replayed.contains("TurnEnd"));
}

#[test]
fn truncated_journal_replays_to_its_end() {
    let lived = Story::new("go").reply(calls(&["a", "b"])).reply(text("done")).play();
    for end in 1..lived.journal.len() {
        let replay = replayed(&lived.config, &lived.journal[..end]).unwrap();
        assert_eq!((replay.divergence, replay.same), (None, end));
    }
}
