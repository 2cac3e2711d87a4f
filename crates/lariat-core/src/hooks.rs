//! Callbacks and input filters of the embedding program, and the contract for the hooks of a session.
//!
//! The machine decides the order in which callbacks and events alternate. The callbacks of [`Hooks`] are
//! synchronous and must be short; one that panics is treated as if it had returned [`Flow::Stop`]. The hooks
//! of a session are in `hooks/session.rs`.

mod session;

use serde_json::Value;

use crate::id::ToolCallId;
use crate::message::AgentMessage;
use crate::transcript::Window;
use crate::usage::Usage;

pub use session::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks, SessionSource};

/// Which callbacks an implementation wants. A callback that is not wanted costs nothing: it needs no durable
/// barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookInterest {
    /// Call none of them.
    None,
    /// Call all of them.
    All,
}

/// What a callback decides about the step that it precedes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Take the step.
    Continue,
    /// Leave it out. Each callback says what follows.
    Stop,
}

/// Callbacks at fixed points of a loop. Every method has a default that does nothing and lets the loop
/// continue.
#[expect(unused_variables, reason = "defaults ignore their arguments; the names are documentation")]
pub trait Hooks: Send + Sync {
    /// Returns which callbacks to call.
    fn interest(&self) -> HookInterest {
        HookInterest::All
    }

    /// Called before `AgentStart`. [`Flow::Stop`] ends the loop: `AgentEnd` with no messages.
    fn before_loop(&self, messages: &Window, loop_index: u64) -> Flow {
        Flow::Continue
    }

    /// Called after `AgentEnd`.
    fn after_loop(&self, messages: &Window, usage: &Usage) {}

    /// Called before `TurnStart`. [`Flow::Stop`] ends the loop.
    fn before_turn(&self, messages: &Window, turn_index: u32) -> Flow {
        Flow::Continue
    }

    /// Called after `TurnEnd`.
    fn after_turn(&self, messages: &Window, usage: &Usage) {}

    /// Called before `ToolExecutionStart`. [`Flow::Stop`] skips the tool call: the model receives an error
    /// result.
    fn before_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, args: &Value) -> Flow {
        Flow::Continue
    }

    /// Called after `ToolExecutionEnd`.
    fn after_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, is_error: bool) {}

    /// Called before `ToolExecutionUpdate`. [`Flow::Stop`] suppresses the event; the tool keeps running.
    fn before_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) -> Flow {
        Flow::Continue
    }

    /// Called after `ToolExecutionUpdate`.
    fn after_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) {}

    /// Called after a model call failed permanently.
    fn on_error(&self, error: &str) {}
}

/// Callbacks that do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn interest(&self) -> HookInterest {
        HookInterest::None
    }
}

/// Checks prompts before the model receives them.
pub trait InputFilter: Send + Sync {
    /// Checks one prompt message.
    fn filter(&self, message: &AgentMessage) -> FilterResult;
}

/// The decision of an input filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterResult {
    /// Accept the prompt.
    Pass,
    /// Accept the prompt and append this text to the last user message.
    Warn(String),
    /// Reject the prompt with this reason: `InputRejected`, then `AgentEnd`.
    Reject(String),
}
