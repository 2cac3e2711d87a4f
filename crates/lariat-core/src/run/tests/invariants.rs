//! Invariants of every journal of an ended loop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::harness::Harness;
use super::scenario::LOOP;
use crate::event::{AgentEvent, Event, EventRecord, MessageRef, RecordedMessage, Resolver};
use crate::id::{MessageId, ToolCallId};
use crate::message::SharedMessage;
use crate::session::SessionFold;

/// Returns the journal as another process would read it.
pub(super) fn through_json(journal: &[Event]) -> Vec<Event> {
    let read = |event: &Event| {
        let json = serde_json::to_vec(&**event).unwrap();
        Arc::new(EventRecord::from_json(&json).unwrap())
    };
    journal.iter().map(read).collect()
}

/// Returns the events of the scenario's loop.
pub(super) fn own(journal: &[Event]) -> impl Iterator<Item = &AgentEvent> {
    journal
        .iter()
        .filter(|event| event.loop_id.as_ref().is_some_and(|id| id.as_str() == LOOP))
        .map(|event| &event.event)
}

/// Checks all invariants of an ended loop.
pub(super) fn check(harness: &Harness) {
    let ending = harness.ending.as_ref();
    let ending = ending.unwrap_or_else(|| panic!("the run has not ended:\n{}", harness.log.join("\n")));
    let log = || harness.log.join("\n");
    let read = through_json(&harness.journal);
    assert_eq!(read, harness.journal, "a journal must round-trip through JSON");

    let ends: Vec<_> = own(&read)
        .filter_map(|event| match event {
            AgentEvent::AgentEnd { messages, usage, outcome, .. } => Some((messages, usage, outcome)),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "AgentEnd comes exactly once:\n{}", log());
    assert_eq!((ends[0].1, ends[0].2), (&ending.usage, &ending.outcome));
    assert!(
        matches!(own(&read).last(), Some(AgentEvent::AgentEnd { .. })),
        "AgentEnd comes last:\n{}",
        log()
    );

    let mut queued: HashMap<MessageId, SharedMessage> = HashMap::new();
    let mut messages: Vec<MessageId> = Vec::new();
    let mut content: HashMap<MessageId, SharedMessage> = HashMap::new();
    let mut started: HashSet<ToolCallId> = HashSet::new();
    let mut ended: HashSet<ToolCallId> = HashSet::new();
    let mut open_turn = None;
    for event in own(&read) {
        match event {
            AgentEvent::MessageQueued { message, .. } => {
                queued.insert(message.id(), Arc::clone(message));
            }
            AgentEvent::MessageEnd { message } => {
                assert!(open_turn.is_some(), "a message outside a turn:\n{}", log());
                assert!(!messages.contains(&message.id()), "a message recorded twice:\n{}", log());
                messages.push(message.id());
                let full = match message {
                    RecordedMessage::Full(message) => Some(Arc::clone(message)),
                    RecordedMessage::Earlier(_) => queued.remove(&message.id()),
                };
                content.extend(full.map(|message| (message.id(), message)));
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                assert!(started.insert(tool_call_id.clone()), "{tool_call_id} was started twice:\n{}", log());
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                assert!(started.contains(tool_call_id), "{tool_call_id} ended without a start:\n{}", log());
                assert!(ended.insert(tool_call_id.clone()), "{tool_call_id} ended twice:\n{}", log());
            }
            AgentEvent::TurnStart { turn_index, .. } => {
                assert_eq!(open_turn.replace(*turn_index), None, "a turn within a turn:\n{}", log());
            }
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                assert!(open_turn.take().is_some(), "a turn ends twice:\n{}", log());
                check_results(&content, message, tool_results, &log);
            }
            _ => {}
        }
    }
    assert_eq!(open_turn, None, "a turn was left open:\n{}", log());
    assert_eq!(started, ended, "a tool was left running:\n{}", log());
    assert_eq!(ends[0].0.iter().map(MessageRef::id).collect::<Vec<_>>(), messages);
    check_folds(harness, &read);
}

/// Checks that every call of the reply has its result, in call order.
fn check_results(
    content: &HashMap<MessageId, SharedMessage>,
    reply: &MessageRef,
    results: &[MessageRef],
    log: &dyn Fn() -> String,
) {
    let reply = content.get(&reply.id()).and_then(|message| message.as_assistant());
    let calls: Vec<_> = reply.expect("a recorded reply").tool_calls().map(|call| call.id.clone()).collect();
    let answered: Vec<_> = results
        .iter()
        .map(|result| content.get(&result.id()).and_then(|message| message.as_tool_result()))
        .map(|result| result.expect("a recorded result").tool_call_id.clone())
        .collect();
    assert_eq!(calls, answered, "every call has its result, in call order:\n{}", log());
}

/// Checks that other readers of the journal compute the same state as the run.
fn check_folds(harness: &Harness, read: &[Event]) {
    let fold = SessionFold::of(read);
    if fold.loops().any(|start| start.loop_id.as_str() == LOOP) {
        let (transcript, _) = fold.conversation(fold.tip());
        let folded: Vec<_> = transcript.window().iter().cloned().collect();
        let original: Vec<_> = harness.run.transcript().window().iter().cloned().collect();
        assert_eq!(folded, original, "the fold must match the run:\n{}", harness.log.join("\n"));
        assert_eq!(fold.open_loops().count(), 0);
        let tip = harness.run.state.tip.or(harness.run.start.base);
        assert_eq!(tip, fold.tip(), "the next loop continues at the tip of the fold");
    }
    let mut resolver = Resolver::new();
    for event in read {
        match &resolver.resolve(event).event {
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                assert!(message.get().is_some() && tool_results.iter().all(|result| result.get().is_some()));
            }
            AgentEvent::AgentEnd { messages, .. } => {
                assert!(messages.iter().all(|message| message.get().is_some()));
            }
            AgentEvent::ToolExecutionStart { args, .. } => assert!(args.get().is_some()),
            AgentEvent::MessageEnd { message } => assert!(message.shared().is_some()),
            _ => {}
        }
    }
}
