//! Methods of [`Agent`] that report its context and change its session: learnings, goals, the description,
//! rewinding.

use lariat_core::event::{AgentEvent, Description, Goal, Learning};
use lariat_core::id::MessageId;

use super::{Agent, AgentError};
use crate::prompt::ContextReport;

impl Agent {
    /// Reports what is in the context window: sections, tools and messages by kind, how much each takes and
    /// how much of it is cached. During a run, this is the state before it; before the first run, what the
    /// run would start with.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn context(&self) -> Result<ContextReport, AgentError> {
        let config = &self.shared.config;
        let sections = match self.borrow(async |context, _| context.report_sections(config).await).await {
            Err(AgentError::Busy) => {
                self.state().prompt.get().map_or_else(Vec::new, |prompt| prompt.sections().to_vec())
            }
            sections => sections?,
        };
        let (request, window) = (&config.ports.request, self.window());
        let tools = config.ports.tools.offered_definitions(config.ports.policy.access());
        let most = config.run.context.as_ref().map(|context| context.max_context_tokens as u64);
        let most = most.unwrap_or(request.model_config.context_window);
        Ok(ContextReport::of(tools, &sections, &window, Some(most)))
    }

    /// Journals a learning, for later sessions.
    ///
    /// # Errors
    /// If the agent is busy, or its journal cannot be written.
    pub async fn learn(&self, learning: Learning) -> Result<(), AgentError> {
        self.record_session_event(AgentEvent::Learned(Box::new(learning))).await
    }

    /// Removes a learning of this session or another one.
    ///
    /// # Errors
    /// If the agent is busy, or its journal cannot be written.
    pub async fn unlearn(&self, learning_id: impl Into<String>) -> Result<(), AgentError> {
        self.record_session_event(AgentEvent::Unlearned { learning_id: learning_id.into() }).await
    }

    /// Sets the goal of the session, or updates its status.
    ///
    /// # Errors
    /// If the agent is busy, or its journal cannot be written.
    pub async fn set_goal(&self, goal: Goal) -> Result<(), AgentError> {
        self.record_session_event(AgentEvent::GoalChanged(Box::new(goal))).await
    }

    /// Describes the session: its title, working directory and tags. Omitted fields stay unchanged.
    ///
    /// # Errors
    /// If the agent is busy, or its journal cannot be written.
    pub async fn describe(&self, description: Description) -> Result<(), AgentError> {
        self.record_session_event(AgentEvent::SessionDescribed(Box::new(description))).await
    }

    /// Rewinds the conversation to a message: later messages are no longer part of it. `None` rewinds to
    /// before the first message. The journal keeps everything, and files are not changed.
    ///
    /// # Errors
    /// If the agent is busy, or its journal cannot be written.
    pub async fn rewind(&self, tip: Option<MessageId>) -> Result<(), AgentError> {
        let config = &self.shared.config;
        let rewound = AgentEvent::Rewound { tip };
        self.borrow(async |context, _| {
            context.record_session_event(config, rewound).await?;
            context.mark_stale();
            Ok(())
        })
        .await
    }

    async fn record_session_event(&self, event: AgentEvent) -> Result<(), AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| Ok(context.record_session_event(config, event).await?)).await
    }
}
