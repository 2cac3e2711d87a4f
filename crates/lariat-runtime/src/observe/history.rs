//! What a subscription remembers in order to resolve the names in re-read events.
//!
//! Owns the messages of the loops that are open, as shared pointers, and the question for which of them the
//! beginning was not seen. A loop's messages are dropped at its `AgentEnd`.

use lariat_core::event::{AgentEvent, Event, MessageRef, Recorded, Resolver};
use lariat_core::id::LoopId;

#[derive(Default)]
pub(super) struct History {
    resolver: Resolver,
    /// Open loops whose messages are known from their beginning, or as far back as they will be looked for.
    complete: Vec<LoopId>,
}

impl History {
    /// Takes in a durable event that is delivered as it is.
    pub(super) fn learn(&mut self, event: &Event) {
        self.note(event);
        if matches!(
            event.event,
            AgentEvent::MessageEnd { .. } | AgentEvent::MessageQueued { .. } | AgentEvent::AgentEnd { .. }
        ) {
            self.resolver.resolve(event);
        }
    }

    /// Takes in a durable event that was re-read, and attaches what it names.
    pub(super) fn resolve(&mut self, event: &Event) -> Event {
        self.note(event);
        self.resolver.resolve(event)
    }

    /// The loop whose earlier messages must be looked up before this event can be resolved.
    pub(super) fn lacks<'a>(&self, event: &'a Event) -> Option<&'a LoopId> {
        let loop_id = event.loop_id.as_ref()?;
        (names_something(&event.event) && !self.complete.contains(loop_id)).then_some(loop_id)
    }

    /// Takes in an event that was looked up for a loop; true when it is where the loop began.
    pub(super) fn learn_earlier(&mut self, loop_id: &LoopId, event: &Event) -> bool {
        if event.loop_id.as_ref().is_some_and(|owner| owner != loop_id) {
            return false;
        }
        if matches!(event.event, AgentEvent::MessageEnd { .. } | AgentEvent::MessageQueued { .. }) {
            self.resolver.resolve(event);
        }
        matches!(event.event, AgentEvent::AgentStart(_)) && event.loop_id.is_some()
    }

    /// Nothing more will be looked up for this loop.
    pub(super) fn complete(&mut self, loop_id: LoopId) {
        self.complete.push(loop_id);
    }

    fn note(&mut self, event: &Event) {
        match (&event.event, &event.loop_id) {
            (AgentEvent::AgentStart(_), Some(loop_id)) => self.complete.push(loop_id.clone()),
            (AgentEvent::AgentEnd { .. }, Some(loop_id)) => self.complete.retain(|open| open != loop_id),
            _ => {}
        }
    }
}

/// Whether an event, as it came from the store, names content it does not carry.
fn names_something(event: &AgentEvent) -> bool {
    let named = |reference: &MessageRef| reference.shared().is_none();
    match event {
        AgentEvent::TurnEnd { message, tool_results, .. } => named(message) || tool_results.iter().any(named),
        AgentEvent::AgentEnd { messages, .. } => messages.iter().any(named),
        AgentEvent::ToolExecutionEnd { message, .. } => named(message),
        AgentEvent::ToolExecutionStart { args, .. } => args.get().is_none(),
        AgentEvent::MessageEnd { message: Recorded::Earlier(reference) } => named(reference),
        _ => false,
    }
}
