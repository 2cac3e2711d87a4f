//! Merges live events in a queue, to save space.
//!
//! Looks only at the last few queued events, so that publishing stays cheap. Joining chunks of a message
//! loses nothing and is always done; replacing loses the older event and is done only under pressure.
//! Invariant: no event moves across a durable one.

use std::collections::VecDeque;
use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, StreamDelta};
use lariat_core::id::{MessageId, ToolCallId};

/// Number of queued events to check per published one: usually more than there are parallel tools and
/// messages.
const MAX_MERGE_DISTANCE: usize = 32;

/// What happened to a live event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// It became part of a queued event.
    Joined,
    /// It goes to the end of the queue, if there is space.
    Append,
}

/// Joins a live event with a queued one, or removes the event that it replaces.
pub(super) fn merge(queue: &mut VecDeque<Event>, event: &Event, capacity: usize) -> Merge {
    if let AgentEvent::MessageUpdate { message, delta } = &event.event {
        let last_chunk = queue
            .iter_mut()
            .rev()
            .take(MAX_MERGE_DISTANCE)
            .take_while(|queued| !queued.is_durable())
            .find(|queued| streamed_message(queued) == Some(message.id()));
        return match last_chunk {
            Some(queued) => join(queued, delta),
            None => Merge::Append,
        };
    }
    let under_pressure = queue.len() >= capacity / 2;
    if under_pressure && let Some(index) = replaced_index(queue, event) {
        queue.remove(index);
    }
    Merge::Append
}

/// Returns the message that a live event is a chunk of.
pub(super) fn streamed_message(event: &Event) -> Option<MessageId> {
    match &event.event {
        AgentEvent::MessageStart { message } | AgentEvent::MessageUpdate { message, .. } => {
            Some(message.id())
        }
        _ => None,
    }
}

fn join(queued: &mut Event, delta: &StreamDelta) -> Merge {
    // Copies the first chunk if other subscribers share it; after that, this queue owns the joined text.
    let AgentEvent::MessageUpdate { delta: earlier, .. } = &mut Arc::make_mut(queued).event else {
        return Merge::Append;
    };
    match (earlier, delta) {
        (StreamDelta::Text { delta: text }, StreamDelta::Text { delta: more })
        | (StreamDelta::Thinking { delta: text }, StreamDelta::Thinking { delta: more })
        | (StreamDelta::ToolCallDelta { delta: text }, StreamDelta::ToolCallDelta { delta: more }) => {
            text.push_str(more);
            Merge::Joined
        }
        _ => Merge::Append,
    }
}

/// Returns the index of an older event that `event` replaces.
fn replaced_index(queue: &VecDeque<Event>, event: &Event) -> Option<usize> {
    if streamed_message(event).is_some() {
        return None;
    }
    let same = |queued: &Event| {
        std::mem::discriminant(&queued.event) == std::mem::discriminant(&event.event)
            && queued.loop_id == event.loop_id
            && tool_call(queued) == tool_call(event)
    };
    let newest = queue.len().saturating_sub(MAX_MERGE_DISTANCE);
    queue.iter().enumerate().skip(newest).find(|(_, queued)| same(queued)).map(|(index, _)| index)
}

fn tool_call(event: &Event) -> Option<&ToolCallId> {
    match &event.event {
        AgentEvent::ToolExecutionUpdate { tool_call_id, .. }
        | AgentEvent::ProgressMessage { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}
