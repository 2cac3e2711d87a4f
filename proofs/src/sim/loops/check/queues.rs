//! Checks the queues of a finished session, over all processes.

use std::collections::HashSet;

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{LoopId, MessageId};
use lariat_core::session::SessionFold;

use super::super::super::violation::Violation;

/// Checks that every queued message was delivered, or still waits, or waited for a branch that was not selected. `groups` checks
/// that none is delivered twice.
pub(in crate::sim) fn check(events: &[Event]) -> Result<(), Violation> {
    let mut unselected: HashSet<&LoopId> = HashSet::new();
    let mut done: HashSet<MessageId> = HashSet::new();
    for event in events {
        match &event.event {
            AgentEvent::ParallelLoopStart { loop_ids, .. } => unselected.extend(loop_ids),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => {
                unselected.remove(selected_loop_id);
            }
            // A message that a run begins with is recorded again, under the same id.
            AgentEvent::MessageEnd { message } => {
                done.insert(message.id());
            }
            AgentEvent::MessageUnqueued { message_id } => {
                done.insert(*message_id);
            }
            _ => {}
        }
    }
    let fold = SessionFold::of(events);
    done.extend(fold.queued_messages().map(|(_, message)| message.id()));
    for event in events {
        let AgentEvent::MessageQueued { message, .. } = &event.event else { continue };
        let is_dropped = event.loop_id.as_ref().is_some_and(|owner| unselected.contains(owner));
        if !is_dropped && !done.contains(&message.id()) {
            let lost = format!("{} is neither delivered nor queued", message.id());
            return Err(Violation::LostText(lost));
        }
    }
    Ok(())
}
