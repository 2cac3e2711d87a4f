//! The messages that a subscription remembers, to resolve references in re-read events.
//!
//! Holds the messages of open loops as shared pointers, and knows for which loops the beginning is missing.
//! Drops the messages of a loop at its `AgentEnd`.

use lariat_core::event::{AgentEvent, Event, MessageRef, RecordedMessage, Resolver};
use lariat_core::id::LoopId;

#[derive(Default)]
pub(super) struct MessageHistory {
    resolver: Resolver,
    /// Open loops whose messages are known from their beginning, or as far back as the search goes.
    complete: Vec<LoopId>,
}

impl MessageHistory {
    /// Adds a durable event that is delivered as it is.
    pub(super) fn add(&mut self, event: &Event) {
        self.track(event);
        if matches!(
            event.event,
            AgentEvent::MessageEnd { .. } | AgentEvent::MessageQueued { .. } | AgentEvent::AgentEnd { .. }
        ) {
            self.resolver.resolve(event);
        }
    }

    /// Adds a durable event that was re-read, and attaches the messages that it refers to.
    pub(super) fn resolve(&mut self, event: &Event) -> Event {
        self.track(event);
        self.resolver.resolve(event)
    }

    /// Returns the loop whose earlier messages must be read before this event can be resolved.
    pub(super) fn missing_loop<'a>(&self, event: &'a Event) -> Option<&'a LoopId> {
        let loop_id = event.loop_id.as_ref()?;
        (has_unresolved_references(&event.event) && !self.complete.contains(loop_id)).then_some(loop_id)
    }

    /// Adds an event that was read for a loop; returns true if the loop began there.
    pub(super) fn add_earlier(&mut self, loop_id: &LoopId, event: &Event) -> bool {
        if event.loop_id.as_ref().is_some_and(|owner| owner != loop_id) {
            return false;
        }
        if matches!(event.event, AgentEvent::MessageEnd { .. } | AgentEvent::MessageQueued { .. }) {
            self.resolver.resolve(event);
        }
        matches!(event.event, AgentEvent::AgentStart(_)) && event.loop_id.is_some()
    }

    /// Marks that no more events will be read for this loop.
    pub(super) fn complete(&mut self, loop_id: LoopId) {
        self.complete.push(loop_id);
    }

    fn track(&mut self, event: &Event) {
        match (&event.event, &event.loop_id) {
            (AgentEvent::AgentStart(_), Some(loop_id)) => self.complete.push(loop_id.clone()),
            (AgentEvent::AgentEnd { .. }, Some(loop_id)) => self.complete.retain(|open| open != loop_id),
            _ => {}
        }
    }
}

/// Whether an event from the store refers to content that it does not contain.
fn has_unresolved_references(event: &AgentEvent) -> bool {
    let is_unresolved = |reference: &MessageRef| reference.shared().is_none();
    match event {
        AgentEvent::TurnEnd { message, tool_results, .. } => {
            is_unresolved(message) || tool_results.iter().any(is_unresolved)
        }
        AgentEvent::AgentEnd { messages, .. } => messages.iter().any(is_unresolved),
        AgentEvent::ToolExecutionEnd { message, .. } => is_unresolved(message),
        AgentEvent::ToolExecutionStart { args, .. } => args.get().is_none(),
        AgentEvent::MessageEnd { message: RecordedMessage::Earlier(reference) } => is_unresolved(reference),
        _ => false,
    }
}
