//! What an agent offers to whoever makes room by hand: compact, look before, take back, pin.

use lariat_core::id::MessageId;

use super::super::compact::CompactionReport;
use super::super::error::AgentError;
use super::Agent;

impl Agent {
    /// Makes room in the conversation now, with this in mind. [`Agent::abort`] ends the wait.
    ///
    /// # Errors
    /// [`AgentError::NotCompacted`] when it would not help, a hook forbids it or compaction is switched off; also when
    /// the agent is running.
    pub async fn compact(&self, focus: Option<&str>) -> Result<CompactionReport, AgentError> {
        let (config, focus) = (&self.shared.config, focus.map(str::to_owned));
        Box::pin(self.borrow(async |context, cancel| context.compact(config, focus, cancel).await)).await
    }

    /// What [`Agent::compact`] would do, as far as that is known without asking a model. Nothing is recorded.
    ///
    /// # Errors
    /// [`AgentError::NotCompacted`] when it would not help; also when the agent is running.
    pub async fn preview_compaction(&self, focus: Option<&str>) -> Result<CompactionReport, AgentError> {
        let (config, focus) = (&self.shared.config, focus.map(str::to_owned));
        Box::pin(self.borrow(async |context, _| context.preview_compaction(config, focus).await)).await
    }

    /// Takes back the newest compaction: the conversation is as it would be without it, with everything that came
    /// after. False when there is none.
    ///
    /// # Errors
    /// When the agent is running, or its journal cannot be read or written.
    pub async fn undo_compaction(&self) -> Result<bool, AgentError> {
        let config = &self.shared.config;
        Box::pin(self.borrow(async |context, _| context.undo_compaction(config).await)).await
    }

    /// Lets a message stay as it is, whatever is compacted, with the whole exchange it belongs to.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn pin(&self, message: MessageId) -> Result<(), AgentError> {
        self.set_pin(message, true).await
    }

    /// Lets a message be compacted again.
    ///
    /// # Errors
    /// When the journal cannot be written.
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
