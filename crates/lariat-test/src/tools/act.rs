//! The script of one execution of a tool: its steps in order.

use std::time::Duration;

use lariat_core::tool::{ToolError, ToolResult};

/// The script of one execution.
///
/// ```
/// use std::time::Duration;
/// use lariat_test::Act;
///
/// let slow = Act::text("done").with_progress("starting").after(Duration::from_secs(5)).with_progress("almost");
/// let stubborn = Act::fail("disk full").after(Duration::from_secs(60)).ignoring_cancel();
/// ```
#[derive(Clone, Debug)]
pub struct Act {
    pub(super) beats: Vec<ActStep>,
    pub(super) end: ToolEnd,
    pub(super) on_cancel: OnCancel,
}

#[derive(Clone, Debug)]
pub(super) enum ActStep {
    Wait(Duration),
    Progress(String),
    Update(String),
}

#[derive(Clone, Debug)]
pub(super) enum ToolEnd {
    Return(Result<ToolResult, ToolError>),
    Panic(String),
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnCancel {
    Stop,
    Ignore,
}

impl Act {
    const fn ending(end: ToolEnd) -> Self {
        Self { beats: Vec::new(), end, on_cancel: OnCancel::Stop }
    }

    /// Returns text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::answer(Ok(ToolResult::text(text)))
    }

    /// Fails with a message for the model.
    pub fn fail(text: impl Into<String>) -> Self {
        Self::answer(Err(ToolError::Failed(text.into())))
    }

    /// Returns any result or error.
    pub const fn answer(answer: Result<ToolResult, ToolError>) -> Self {
        Self::ending(ToolEnd::Return(answer))
    }

    /// Panics, without a message on the terminal.
    pub fn panic(message: impl Into<String>) -> Self {
        Self::ending(ToolEnd::Panic(message.into()))
    }

    /// Never ends by itself.
    pub const fn never() -> Self {
        Self::ending(ToolEnd::Never)
    }

    /// Waits at this point.
    pub fn after(mut self, duration: Duration) -> Self {
        self.beats.push(ActStep::Wait(duration));
        self
    }

    /// Reports progress to the user at this point.
    pub fn with_progress(mut self, text: impl Into<String>) -> Self {
        self.beats.push(ActStep::Progress(text.into()));
        self
    }

    /// Reports a partial result at this point.
    pub fn with_update(mut self, text: impl Into<String>) -> Self {
        self.beats.push(ActStep::Update(text.into()));
        self
    }

    /// Continues although it is cancelled. By default, a cancellation ends the wait.
    pub const fn ignoring_cancel(mut self) -> Self {
        self.on_cancel = OnCancel::Ignore;
        self
    }
}
