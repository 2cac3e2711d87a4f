//! Methods of [`Agent`] for manual compaction: compact, preview, undo, pin.

use lariat_core::id::MessageId;

use super::super::compact::CompactionReport;
use super::super::error::AgentError;
use super::Agent;

impl Agent {
    /// Compacts the conversation now. A `focus` tells the model what its summary must keep. [`Agent::abort`]
    /// ends the wait.
    ///
    /// # Errors
    /// [`AgentError::NotCompacted`] if it would not help, a hook forbids it or compaction is off;
    /// [`AgentError::Busy`] if the agent is running.
    pub async fn compact(&self, focus: Option<&str>) -> Result<CompactionReport, AgentError> {
        let (config, focus) = (&self.shared.config, focus.map(str::to_owned));
        Box::pin(self.borrow(async |context, cancel| context.compact(config, focus, cancel).await)).await
    }

    /// Returns what [`Agent::compact`] would do, as far as it can be known without asking a model. Records
    /// nothing.
    ///
    /// # Errors
    /// [`AgentError::NotCompacted`] if it would not help; [`AgentError::Busy`] if the agent is running.
    pub async fn preview_compaction(&self, focus: Option<&str>) -> Result<CompactionReport, AgentError> {
        let (config, focus) = (&self.shared.config, focus.map(str::to_owned));
        Box::pin(self.borrow(async |context, _| context.preview_compaction(config, focus).await)).await
    }

    /// Undoes the newest compaction: the conversation becomes what it would be without it, including
    /// everything that came after. Returns false if there is none.
    ///
    /// # Errors
    /// If the agent is running, or its journal cannot be read or written.
    pub async fn undo_compaction(&self) -> Result<bool, AgentError> {
        let config = &self.shared.config;
        Box::pin(self.borrow(async |context, _| context.undo_compaction(config).await)).await
    }

    /// Pins a message: compaction leaves it and its whole exchange unchanged.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn pin(&self, message: MessageId) -> Result<(), AgentError> {
        self.set_pin(message, true).await
    }

    /// Unpins a message, so that it can be compacted again.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn unpin(&self, message: MessageId) -> Result<(), AgentError> {
        self.set_pin(message, false).await
    }

    async fn set_pin(&self, message: MessageId, pinned: bool) -> Result<(), AgentError> {
        if self.state().running.as_ref().is_some_and(|running| running.link.pin(message, pinned)) {
            return Ok(());
        }
        let config = &self.shared.config;
        Box::pin(self.borrow(async |context, _| context.pin(config, message, pinned).await)).await
    }
}
