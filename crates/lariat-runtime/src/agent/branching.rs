//! Runs branches from the conversation of an agent.

use std::sync::Arc;

use lariat_core::evaluation::EvaluationStrategy;
use lariat_core::message::AgentMessage;

use super::error::AgentError;
use super::handle::Agent;
use super::launch::{Caller, LaunchTask};
use super::loop_config::AgentLoopConfig;
use super::output::AgentOutput;
use super::stream::RunStream;

impl Agent {
    /// Runs a prompt on several agents at the same time, all from this agent's conversation and in its session, and continues with
    /// the answer that `strategy` selects. The branches use the models, tools and settings of `branches`; their own sessions are
    /// not used. The answers that were not selected stay in the journal.
    ///
    /// # Errors
    /// [`AgentError::Busy`] if this agent is running; [`AgentError::Evaluation`] if the strategy selected no answer.
    /// [`Agent::recover`] then selects the first that finished.
    pub async fn run_branches(
        &self,
        prompt: impl Into<AgentMessage>,
        branches: &[Self],
        strategy: Arc<dyn EvaluationStrategy>,
    ) -> Result<AgentOutput, AgentError> {
        let task = self.branches(prompt.into(), branches, strategy);
        self.start(task, Caller::Waits, None)?.finish().await
    }

    /// Like [`run_branches`](Self::run_branches), as a stream of events. Each event names its loop. Answers reach the branch that
    /// asks, and cancelling ends all.
    pub fn run_branches_stream(
        &self,
        prompt: impl Into<AgentMessage>,
        branches: &[Self],
        strategy: Arc<dyn EvaluationStrategy>,
    ) -> RunStream {
        let task = self.branches(prompt.into(), branches, strategy);
        self.start(task, Caller::Watches, None).unwrap_or_else(|error| self.failed_stream(error))
    }

    fn branches(
        &self,
        prompt: AgentMessage,
        branches: &[Self],
        strategy: Arc<dyn EvaluationStrategy>,
    ) -> LaunchTask {
        let configs: Vec<AgentLoopConfig> =
            branches.iter().map(|branch| branch.shared.config.clone()).collect();
        LaunchTask::Branches(vec![prompt], configs, strategy)
    }
}
