//! Resolving the names in events read back from a journal.
//!
//! Owns the messages seen so far of the loops that are still open. What a live observer gets attached by the machine,
//! a reader of the journal gets attached here.

use std::collections::HashMap;
use std::sync::Arc;

use super::{AgentEvent, ArgsRef, Event, EventRecord, MessageRef, Recorded};
use crate::content::ToolCall;
use crate::id::{LoopId, MessageId, ToolCallId};
use crate::message::SharedMessage;

/// Attaches messages to the events that name them. Feed it a journal from the start of a loop on, in order.
#[derive(Debug, Default)]
pub struct Resolver {
    messages: HashMap<MessageId, (Option<LoopId>, SharedMessage)>,
    arguments: HashMap<ToolCallId, (Option<LoopId>, Arc<ToolCall>)>,
}

impl Resolver {
    /// An empty resolver.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same event with every name attached that this resolver has seen the content of.
    pub fn resolve(&mut self, event: &Event) -> Event {
        self.learn(event);
        let mut record = EventRecord::clone(event);
        match &mut record.event {
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                self.attach(message);
                tool_results.iter_mut().for_each(|result| self.attach(result));
            }
            AgentEvent::AgentEnd { messages, .. } => {
                messages.iter_mut().for_each(|message| self.attach(message))
            }
            AgentEvent::ToolExecutionEnd { message, .. } => self.attach(message),
            AgentEvent::MessageEnd { message: Recorded::Earlier(reference) } => self.attach(reference),
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } if args.is_as_called() => {
                if let Some((_, call)) = self.arguments.get(tool_call_id) {
                    *args = ArgsRef::Called(Arc::clone(call));
                }
            }
            _ => return Arc::clone(event),
        }
        if let (AgentEvent::AgentEnd { .. }, Some(loop_id)) = (&record.event, &record.loop_id) {
            self.forget(loop_id);
        }
        Arc::new(record)
    }

    fn learn(&mut self, event: &EventRecord) {
        let message = match &event.event {
            AgentEvent::MessageEnd { message: Recorded::Full(message) } => message,
            AgentEvent::MessageEnd { message: Recorded::Earlier(reference) } => {
                if let Some((owner, _)) = self.messages.get_mut(&reference.id()) {
                    owner.clone_from(&event.loop_id);
                }
                return;
            }
            // Nobody's until it is injected: a later loop may take up what this one leaves over.
            AgentEvent::MessageQueued { message, .. } => {
                self.messages.insert(message.id(), (None, Arc::clone(message)));
                return;
            }
            _ => return,
        };
        if let Some(assistant) = message.as_assistant() {
            for call in assistant.tool_calls() {
                self.arguments.insert(call.id.clone(), (event.loop_id.clone(), Arc::clone(call)));
            }
        }
        self.messages.insert(message.id(), (event.loop_id.clone(), Arc::clone(message)));
    }

    fn attach(&self, reference: &mut MessageRef) {
        if reference.shared().is_none()
            && let Some((_, message)) = self.messages.get(&reference.id())
        {
            *reference = MessageRef::resolved(Arc::clone(message));
        }
    }

    fn forget(&mut self, loop_id: &LoopId) {
        self.messages.retain(|_, (owner, _)| owner.as_ref() != Some(loop_id));
        self.arguments.retain(|_, (owner, _)| owner.as_ref() != Some(loop_id));
    }
}
