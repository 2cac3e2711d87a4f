//! Checks the groups of branches of a finished session.

use std::collections::HashMap;

use lariat_core::event::{AgentEvent, Event, RecordedMessage};
use lariat_core::id::{LoopId, MessageId};
use lariat_core::session::SessionFold;

use super::super::super::violation::Violation;

/// A group without a decision.
struct Group<'a> {
    loop_ids: &'a [LoopId],
    /// The newest message before the group.
    base: Option<MessageId>,
    ended: Vec<&'a LoopId>,
}

/// Checks that branches begin after their group and from its base, that all end before the decision, that no other loop runs
/// meanwhile, and that the conversation continues with the selected branch.
pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    let wrong = |at: usize, what: &str| Err(Violation::WrongJournal(format!("event {at}: {what}")));
    let mut open: Option<Group<'_>> = None;
    let mut decided: HashMap<&LoopId, bool> = HashMap::new();
    let mut sent: HashMap<MessageId, Option<&LoopId>> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        match &event.event {
            AgentEvent::MessageQueued { message, .. } => {
                sent.insert(message.id(), event.loop_id.as_ref());
            }
            AgentEvent::MessageEnd { message: RecordedMessage::Earlier(message) } => {
                let Some(owner) = sent.remove(&message.id()) else {
                    return wrong(at, "a queued message is delivered twice, or was never queued");
                };
                let by_other = owner != event.loop_id.as_ref();
                let is_branch = |id: &LoopId| {
                    decided.contains_key(id) || open.as_ref().is_some_and(|group| group.loop_ids.contains(id))
                };
                if by_other && event.loop_id.as_ref().is_some_and(is_branch) {
                    return wrong(at, "a branch delivers a message that was not sent to it");
                }
                if by_other && owner.is_some_and(|owner| decided.get(owner) == Some(&false)) {
                    return wrong(at, "a message to a branch that was not selected is delivered");
                }
            }
            _ => {}
        }
        match (&event.event, &event.loop_id, &mut open) {
            (AgentEvent::ParallelLoopStart { .. }, _, Some(_)) => return wrong(at, "a group within a group"),
            (AgentEvent::ParallelLoopStart { loop_ids, .. }, _, None) => {
                let base = SessionFold::of(events.get(..at).unwrap_or_default()).tip();
                open = Some(Group { loop_ids, base, ended: Vec::new() });
            }
            (AgentEvent::ParallelLoopEnd { selected_loop_id, .. }, _, Some(group)) => {
                if group.ended.len() != group.loop_ids.len() {
                    return wrong(at, "a decision before all branches ended");
                }
                let fold = SessionFold::of(events.get(..=at).unwrap_or_default());
                let newest = fold.tip_of(selected_loop_id).or(group.base);
                if fold.tip() != newest {
                    return wrong(at, "the conversation does not continue with the selected branch");
                }
                let before = SessionFold::of(events.get(..at).unwrap_or_default());
                let (before, after) = (before.memory().seen_by(selected_loop_id), fold.memory());
                let same_work = before.work() == after.work() && before.failures() == after.failures();
                if !same_work || before.plan() != after.plan() {
                    return wrong(at, "the conversation does not remember the work of the selected branch");
                }
                decided.extend(group.loop_ids.iter().map(|id| (id, id == selected_loop_id)));
                open = None;
            }
            (AgentEvent::ParallelLoopEnd { .. }, _, None) => return wrong(at, "a decision without a group"),
            (_, Some(loop_id), Some(group)) => {
                if !group.loop_ids.contains(loop_id) {
                    return wrong(at, "another loop while branches run");
                }
                match &event.event {
                    AgentEvent::AgentStart(start) if start.base != group.base => {
                        return wrong(at, "a branch that does not start from the base of its group");
                    }
                    AgentEvent::AgentEnd { .. } => group.ended.push(loop_id),
                    _ => {}
                }
            }
            (_, Some(loop_id), None) if decided.contains_key(loop_id) => {
                return wrong(at, "an event of a branch after the decision");
            }
            _ => {}
        }
    }
    match open {
        Some(_) => wrong(events.len(), "a group without a decision"),
        None => Ok(()),
    }
}
