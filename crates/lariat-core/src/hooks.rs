//! In-process hooks and input filters of the embedding program, and the hooks of a session.
//!
//! Owns the contracts; those of a session are in `hooks/session.rs`. The order in which hooks and events alternate is
//! kept by the machine (seed 002, "Event Hook Ordering"); in-process hooks are synchronous and short, and a hook that panics counts as `false`.

mod session;

use serde_json::Value;

use crate::id::ToolCallId;
use crate::message::AgentMessage;
use crate::transcript::Window;
use crate::usage::Usage;

pub use session::{HookAnswer, Moment, MomentKind, SessionHooks, SessionSource};

/// Which hooks an implementation wants called. What nobody wants costs nothing: it needs no durable barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookInterest {
    /// None at all.
    None,
    /// Call them.
    All,
}

/// Functions called at fixed points of a loop. Every method has a default that lets the loop pass.
#[expect(unused_variables, reason = "defaults ignore their arguments; the names are documentation")]
pub trait Hooks: Send + Sync {
    /// Whether to call anything here.
    fn interest(&self) -> HookInterest {
        HookInterest::All
    }

    /// Before `AgentStart`. False ends the loop: `AgentEnd` with no messages.
    fn before_loop(&self, messages: &Window, loop_index: u64) -> bool {
        true
    }

    /// After `AgentEnd`.
    fn after_loop(&self, messages: &Window, usage: &Usage) {}

    /// Before `TurnStart`. False ends the loop.
    fn before_turn(&self, messages: &Window, turn_index: u32) -> bool {
        true
    }

    /// After `TurnEnd`.
    fn after_turn(&self, messages: &Window, usage: &Usage) {}

    /// Before `ToolExecutionStart`. False skips the call: the model gets an error result.
    fn before_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, args: &Value) -> bool {
        true
    }

    /// After `ToolExecutionEnd`.
    fn after_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, is_error: bool) {}

    /// Before `ToolExecutionUpdate`. False suppresses the event, not the tool.
    fn before_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) -> bool {
        true
    }

    /// After `ToolExecutionUpdate`.
    fn after_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) {}

    /// A model call failed for good.
    fn on_error(&self, error: &str) {}
}

/// No hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn interest(&self) -> HookInterest {
        HookInterest::None
    }
}

/// Looks at prompts before the model does.
pub trait InputFilter: Send + Sync {
    /// Judges one prompt message.
    fn filter(&self, message: &AgentMessage) -> FilterResult;
}

/// What a filter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterResult {
    /// Go on.
    Pass,
    /// Go on; the text is appended to the last user message.
    Warn(String),
    /// Stop: `InputRejected`, then `AgentEnd`.
    Reject(String),
}
