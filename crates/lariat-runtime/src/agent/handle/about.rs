//! What is in an agent's window, and what is said about its session: what it is called, learnings, goals, where it goes on.

use lariat_core::event::{AgentEvent, Description, Goal, Learning};
use lariat_core::id::MessageId;

use super::{Agent, AgentError};
use crate::prompt::ContextReport;

impl Agent {
    /// What is in the window: sections, tools, messages by kind, what each takes and what of it is cached. While a run is
    /// going on, as it was before. Before the first run, what it would begin with.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn context(&self) -> Result<ContextReport, AgentError> {
        let config = &self.shared.config;
        let sections = match self.borrow(async |context, _| context.report_sections(config).await).await {
            Err(AgentError::Busy) => {
                self.state().prompt.get().map_or_else(Vec::new, |prompt| prompt.sections().to_vec())
            }
            sections => sections?,
        };
        let (request, window) = (&config.ports.request, self.window());
        let tools = config.ports.tools.offered(config.ports.policy.access());
        let most = config.run.context.as_ref().map(|context| context.max_context_tokens as u64);
        let most = most.unwrap_or(request.model_config.context_window);
        Ok(ContextReport::of(tools, &sections, &window, Some(most)))
    }

    /// Journals something that later sessions should know.
    ///
    /// # Errors
    /// When the agent is busy, or its journal cannot be written.
    pub async fn learn(&self, learning: Learning) -> Result<(), AgentError> {
        self.say_about(AgentEvent::Learned(Box::new(learning))).await
    }

    /// Has something forgotten that was learned, in this session or another.
    ///
    /// # Errors
    /// When the agent is busy, or its journal cannot be written.
    pub async fn unlearn(&self, learning_id: impl Into<String>) -> Result<(), AgentError> {
        self.say_about(AgentEvent::Unlearned { learning_id: learning_id.into() }).await
    }

    /// Sets what the work is for, or says where it stands.
    ///
    /// # Errors
    /// When the agent is busy, or its journal cannot be written.
    pub async fn set_goal(&self, goal: Goal) -> Result<(), AgentError> {
        self.say_about(AgentEvent::GoalChanged(Box::new(goal))).await
    }

    /// Says what the session is about: its title, where it works, its tags. What is left out stays as it was.
    ///
    /// # Errors
    /// When the agent is busy, or its journal cannot be written.
    pub async fn describe(&self, description: Description) -> Result<(), AgentError> {
        self.say_about(AgentEvent::SessionDescribed(Box::new(description))).await
    }

    /// Goes back to a message: what came after it is no longer part of the conversation. `None` goes back to before the
    /// first. The journal keeps everything, and files are not touched.
    ///
    /// # Errors
    /// When the agent is busy, or its journal cannot be written.
    pub async fn rewind(&self, tip: Option<MessageId>) -> Result<(), AgentError> {
        let config = &self.shared.config;
        let rewound = AgentEvent::Rewound { tip };
        self.borrow(async |context, _| {
            context.say_about(config, rewound).await?;
            context.read_next_time();
            Ok(())
        })
        .await
    }

    async fn say_about(&self, event: AgentEvent) -> Result<(), AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| Ok(context.say_about(config, event).await?)).await
    }
}
