//! Tests which changes belong to a tree of sessions after a point.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::content::ToolCall;
use crate::event::{ArgsRef, EventRecord, FORMAT_VERSION, RunOutcome};
use crate::id::{EventId, LoopId};
use crate::usage::Usage;

fn journal(events: impl IntoIterator<Item = (u64, AgentEvent)>) -> Vec<Event> {
    let record = |(seq, (at, event)): (usize, (u64, AgentEvent))| {
        Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq: seq as u64,
            id: EventId::default(),
            timestamp: Timestamp::from_millis(at),
            loop_id: None,
            event,
        })
    };
    events.into_iter().enumerate().map(record).collect()
}

fn call(id: &str) -> AgentEvent {
    let call = ToolCall { id: id.into(), name: "t".into(), arguments: json!({}), signature: None };
    let args: ArgsRef = ArgsRef::Rewritten(Arc::new(Value::Null));
    AgentEvent::ToolExecutionStart { tool_call_id: call.id, tool_name: call.name, args }
}

fn spawned(child: &str) -> AgentEvent {
    let child_session_id = SessionId::from(child);
    AgentEvent::SubAgentSpawned {
        tool_call_id: "c".into(),
        child_loop_id: LoopId::compose(&child_session_id, "sub", 1),
        child_session_id,
        task: String::new(),
        report: None,
    }
}

fn completed(child: &str) -> AgentEvent {
    AgentEvent::SubAgentCompleted {
        tool_call_id: "c".into(),
        child_loop_id: LoopId::compose(&child.into(), "sub", 1),
        outcome: RunOutcome::Completed,
        usage: Usage::default(),
    }
}

/// Reads the sessions as a host does.
fn ids(seq: Option<u64>, root: &[Event], others: &[(&str, Vec<Event>)]) -> Vec<String> {
    let mut changes = TreeChanges::after(seq);
    changes.read(&root[usize::try_from(seq.unwrap_or_default()).unwrap()..]);
    while let Some(session) = changes.next_session() {
        let journal = others.iter().find(|(id, _)| *id == session.as_str());
        journal.map_or(&[][..], |(_, journal)| journal).chunks(2).for_each(|page| changes.read(page));
    }
    let mut ids: Vec<String> = changes.into_ids().into_iter().collect();
    ids.sort();
    ids
}

#[test]
fn calls_of_sub_agents_on_every_level_are_included() {
    let root = journal([(1, call("r1")), (2, spawned("a")), (5, completed("a")), (6, call("r2"))]);
    let a = journal([(2, call("a1")), (3, spawned("b")), (4, completed("b"))]);
    let b = journal([(3, call("b1"))]);
    let others = [("a", a), ("b", b)];
    assert_eq!(ids(None, &root, &others), ["a1", "b1", "r1", "r2"]);
    assert_eq!(ids(Some(0), &root, &others), ["a1", "b1", "r2"]);
    assert_eq!(ids(Some(2), &root, &others), ["r2"]);
}

#[test]
fn calls_of_two_loops_with_the_same_id_have_different_changes() {
    let mut events = journal([(1, call("c1")), (2, call("c1"))]);
    for (event, loop_id) in events.iter_mut().zip(["s.a.1", "s.b.2"]) {
        Arc::make_mut(event).loop_id = Some(LoopId::from(loop_id));
    }
    assert_eq!(ids(None, &events, &[]), ["c1@s.a.1", "c1@s.b.2"]);
}

#[test]
fn only_later_calls_of_a_background_sub_agent_are_included() {
    let root = journal([(1, spawned("a")), (4, call("r1")), (9, completed("a"))]);
    let a = journal([(2, call("a1")), (3, spawned("b")), (5, call("a2")), (7, completed("b"))]);
    let b = journal([(3, call("b1")), (6, call("b2"))]);
    let others = [("a", a), ("b", b)];
    assert_eq!(ids(Some(1), &root, &others), ["a2", "b2"]);
    assert_eq!(ids(None, &root, &others), ["a1", "a2", "b1", "b2", "r1"]);
}
