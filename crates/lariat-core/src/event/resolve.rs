//! Attaches messages to the events of a journal that was read back.
//!
//! Keeps the messages of the loops that have not ended. For live observers the machine attaches the messages;
//! this module does the same for readers of a journal.

use std::collections::HashMap;
use std::sync::Arc;

use super::{AgentEvent, ArgsRef, Event, EventRecord, MessageRef, RecordedMessage};
use crate::content::ToolCall;
use crate::id::{LoopId, MessageId, ToolCallId};
use crate::message::SharedMessage;

/// Attaches messages to the events that refer to them. Pass it the events of a journal in order, from the
/// start of a loop on.
#[derive(Debug, Default)]
pub struct Resolver {
    messages: HashMap<MessageId, (Option<LoopId>, SharedMessage)>,
    /// By loop, because loops that run at the same time may use the same ids.
    arguments: HashMap<(Option<LoopId>, ToolCallId), Arc<ToolCall>>,
}

impl Resolver {
    /// Creates an empty resolver.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the event with every reference attached whose content this resolver has seen.
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
            AgentEvent::MessageEnd { message: RecordedMessage::Earlier(reference) } => self.attach(reference),
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } if args.is_unchanged() => {
                let called = (record.loop_id.clone(), tool_call_id.clone());
                if let Some(call) = self.arguments.get(&called) {
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
            AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => message,
            AgentEvent::MessageEnd { message: RecordedMessage::Earlier(reference) } => {
                if let Some((owner, _)) = self.messages.get_mut(&reference.id()) {
                    owner.clone_from(&event.loop_id);
                }
                return;
            }
            // A queued message belongs to no loop until it is delivered: a later loop may deliver it.
            AgentEvent::MessageQueued { message, .. } => {
                self.messages.insert(message.id(), (None, Arc::clone(message)));
                return;
            }
            _ => return,
        };
        if let Some(assistant) = message.as_assistant() {
            for call in assistant.tool_calls() {
                self.arguments.insert((event.loop_id.clone(), call.id.clone()), Arc::clone(call));
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
        self.arguments.retain(|(owner, _), _| owner.as_ref() != Some(loop_id));
    }
}
