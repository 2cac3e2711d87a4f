//! An observation of a simulated process.

use lariat_core::event::Event;
use lariat_core::id::{LoopId, ToolCallId};

/// An observation.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Event(Event),
    /// A hook call of a loop.
    Hook(LoopId, HookEntry),
    Life(u64),
}

/// A hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookEntry {
    BeforeLoop,
    AfterLoop,
    BeforeTurn,
    AfterTurn,
    BeforeTool(ToolCallId),
    AfterTool(ToolCallId),
    BeforeUpdate(ToolCallId),
    AfterUpdate(ToolCallId),
    OnError,
}
