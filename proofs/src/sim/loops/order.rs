//! Checks the order of hooks and events while they happen, with a state machine per loop.
//!
//! Every hook and event has a fixed position: for example `before_turn`, `TurnStart`, messages and tool
//! executions, `TurnEnd`, `after_turn`. A life may begin anywhere (after a recovery), so rules that depend on
//! the past apply only if the past was observed.

use std::collections::HashMap;

use lariat_core::event::{AgentEvent, MessageRef};
use lariat_core::hooks::HookInterest;
use lariat_core::id::{LoopId, MessageId, ToolCallId};

use super::super::violation::Violation;
use super::entry::{Entry, HookEntry};

/// The order of all loops of a process.
pub(super) struct Orders {
    interest: HookInterest,
    loops: HashMap<LoopId, Order>,
}

impl Orders {
    pub(super) fn new(interest: HookInterest) -> Self {
        Self { interest, loops: HashMap::new() }
    }

    pub(super) fn new_life(&mut self) {
        self.loops.clear();
    }

    pub(super) fn accept(&mut self, entry: &Entry) -> Result<(), Violation> {
        match entry {
            Entry::Life(_) => Ok(()),
            Entry::Hook(loop_id, hook) => self.order(loop_id).hook(hook),
            Entry::Event(event) => match &event.loop_id {
                Some(loop_id) => self.order(loop_id).event(&event.event),
                // Events about the session may occur anywhere.
                None => Ok(()),
            },
        }
    }

    fn order(&mut self, loop_id: &LoopId) -> &mut Order {
        self.loops.entry(loop_id.clone()).or_insert_with(|| Order::new(self.interest))
    }
}

/// The state of the order of one loop: what was observed last.
struct Order {
    hooks: bool,
    expected: Option<NextHook>,
    armed: Option<HookEntry>,
    streaming: Option<MessageId>,
    /// Whether an assistant message was broken off in this turn.
    replied: bool,
    in_turn: Option<bool>,
    running: Vec<ToolCallId>,
    awaiting_after_tool: Vec<ToolCallId>,
}

/// The one observation that must come next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NextHook {
    AfterTurn,
    AfterLoop,
}

impl Order {
    fn new(interest: HookInterest) -> Self {
        Self {
            hooks: interest == HookInterest::All,
            expected: None,
            armed: None,
            streaming: None,
            replied: false,
            in_turn: None,
            running: Vec::new(),
            awaiting_after_tool: Vec::new(),
        }
    }

    fn hook(&mut self, hook: &HookEntry) -> Result<(), Violation> {
        match (&self.expected, hook) {
            (Some(NextHook::AfterTurn), HookEntry::AfterTurn)
            | (Some(NextHook::AfterLoop), HookEntry::AfterLoop) => {
                self.expected = None;
                return Ok(());
            }
            (Some(expected), hook) => return wrong(format!("{expected:?} expected, {hook:?} called")),
            (None, HookEntry::AfterTurn | HookEntry::AfterLoop) => {
                return wrong(format!("{hook:?} without its event"));
            }
            (None, HookEntry::AfterTool(call)) => {
                let Some(at) = self.awaiting_after_tool.iter().position(|other| other == call) else {
                    return wrong(format!("after_tool_execution of {call} without ToolExecutionEnd"));
                };
                self.awaiting_after_tool.swap_remove(at);
            }
            (None, HookEntry::BeforeLoop | HookEntry::BeforeTurn) => self.armed = Some(hook.clone()),
            (None, HookEntry::BeforeUpdate(call) | HookEntry::AfterUpdate(call)) => {
                if !self.running.contains(call) {
                    return wrong(format!("update of {call}, which is not running"));
                }
            }
            (None, HookEntry::BeforeTool(_) | HookEntry::OnError) => {}
        }
        Ok(())
    }

    fn event(&mut self, event: &AgentEvent) -> Result<(), Violation> {
        // Queued messages and requests to stop may occur anywhere, and so may the end of a compaction that runs in the
        // background.
        if matches!(
            event,
            AgentEvent::MessageQueued { .. }
                | AgentEvent::AbortRequested
                | AgentEvent::HookStopped { .. }
                | AgentEvent::Compaction { .. }
                | AgentEvent::CompactionRefused { .. }
        ) {
            return Ok(());
        }
        if let Some(expected) = &self.expected {
            return wrong(format!("{expected:?} expected, {event:?} happened"));
        }
        let armed = self.armed.take();
        match event {
            AgentEvent::AgentStart(_) if self.hooks && armed != Some(HookEntry::BeforeLoop) => {
                return wrong("AgentStart without before_loop".to_owned());
            }
            AgentEvent::AgentStart(_) => self.in_turn = Some(false),
            AgentEvent::TurnStart { .. } => {
                if self.hooks && armed != Some(HookEntry::BeforeTurn) {
                    return wrong("TurnStart without before_turn".to_owned());
                }
                if self.in_turn == Some(true) {
                    return wrong("TurnStart in an open turn".to_owned());
                }
                self.in_turn = Some(true);
                self.replied = false;
            }
            AgentEvent::TurnEnd { .. } => {
                if self.in_turn == Some(false) {
                    return wrong("TurnEnd without a turn".to_owned());
                }
                if !self.awaiting_after_tool.is_empty() && self.hooks {
                    return wrong("TurnEnd before after_tool_execution".to_owned());
                }
                self.in_turn = Some(false);
                self.expected = self.hooks.then_some(NextHook::AfterTurn);
            }
            AgentEvent::AgentEnd { .. } => {
                if self.in_turn == Some(true) {
                    return wrong("AgentEnd in an open turn".to_owned());
                }
                self.in_turn = None;
                self.expected = self.hooks.then_some(NextHook::AfterLoop);
            }
            AgentEvent::MessageStart { message } => return self.message_start(message),
            AgentEvent::MessageUpdate { message, .. } if self.streaming != Some(message.id()) => {
                return wrong("MessageUpdate outside its message".to_owned());
            }
            AgentEvent::MessageEnd { message } if self.streaming.take() != Some(message.id()) => {
                return wrong("MessageEnd without MessageStart".to_owned());
            }
            AgentEvent::MessageWithdrawn { message_id } => {
                if self.streaming.take() != Some(*message_id) {
                    return wrong("MessageWithdrawn without MessageStart".to_owned());
                }
                self.replied = false;
            }
            AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. } if self.streaming.is_some() => {
                return wrong("a retry although part of the reply was shown and not withdrawn".to_owned());
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => self.running.push(tool_call_id.clone()),
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.running.retain(|call| call != tool_call_id);
                self.awaiting_after_tool.push(tool_call_id.clone());
            }
            AgentEvent::ToolExecutionUpdate { tool_call_id, .. }
            | AgentEvent::ProgressMessage { tool_call_id, .. }
                if !self.running.contains(tool_call_id) =>
            {
                return wrong(format!("news of {tool_call_id}, which is not running"));
            }
            _ => {}
        }
        Ok(())
    }

    fn message_start(&mut self, message: &MessageRef) -> Result<(), Violation> {
        if self.streaming.is_some() {
            return wrong("MessageStart inside another message".to_owned());
        }
        self.streaming = Some(message.id());
        let reply = message.get().is_none_or(|message| message.as_assistant().is_some());
        if reply && std::mem::replace(&mut self.replied, true) {
            return wrong("a second reply in one turn".to_owned());
        }
        Ok(())
    }
}

fn wrong(what: String) -> Result<(), Violation> {
    Err(Violation::WrongOrder(what))
}
