//! A tool that delegates a task to a sub-agent.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::budget::BudgetLimits;
use lariat_core::model::{ModelChoice, StreamProvider};
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

use super::settings::SubAgent;

/// The argument that starts a sub-agent in the background.
const BACKGROUND: &str = "run_in_background";

/// What the model reads about the tool, unless the program says more.
const DESCRIPTION: &str = "Delegates a task to a sub-agent and returns its answer. The sub-agent does not see this \
     conversation: give it everything that it needs to know.";

/// A tool that runs a sub-agent on the task in its argument `task`, and returns the sub-agent's answer.
///
/// The sub-agent has a session of its own in the store of its parent. Every tool call it makes passes the permission check
/// of the parent, and the parent's user answers its approval requests.
#[derive(Clone, Debug)]
pub struct SubAgentTool {
    agent: SubAgent,
    description: String,
    has_background: bool,
}

impl SubAgentTool {
    /// Creates a tool with this name, whose sub-agents use this model and have no tools.
    pub fn new(name: impl Into<String>, model: impl Into<ModelChoice>) -> Self {
        Self::of(SubAgent::new(name).with_model(model).with_tools([]))
    }

    /// Creates a tool for sub-agents with these settings.
    pub fn of(agent: SubAgent) -> Self {
        Self { agent, description: DESCRIPTION.to_owned(), has_background: false }
    }

    /// Sends the requests of the sub-agents to this provider.
    #[must_use]
    pub fn with_provider_override(self, provider: Arc<dyn StreamProvider>) -> Self {
        self.with(|agent| agent.with_provider_override(provider))
    }

    /// Sets what the model reads about the tool: what the sub-agent is good at.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the system prompt of the sub-agents.
    #[must_use]
    pub fn with_system_prompt(self, prompt: impl Into<String>) -> Self {
        self.with(|agent| agent.with_system_prompt(prompt))
    }

    /// Sets the tools of the sub-agents.
    #[must_use]
    pub fn with_tools(self, tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        self.with(|agent| agent.with_tools(tools))
    }

    /// Lets the sub-agents share what they find with the other agents of their tree: see [`SubAgent::with_findings`].
    #[must_use]
    pub fn with_findings(self) -> Self {
        self.with(SubAgent::with_findings)
    }

    /// Limits the number of model calls of a sub-agent.
    #[must_use]
    pub fn with_turn_limit(self, turns: usize) -> Self {
        self.with(|agent| agent.with_turn_limit(turns))
    }

    /// Reserves this budget for each sub-agent.
    #[must_use]
    pub fn with_budget(self, budget: BudgetLimits) -> Self {
        self.with(|agent| agent.with_budget(budget))
    }

    /// Stops a sub-agent after this time; `wrap_up` before that, it receives a message to finish and report.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration, wrap_up: Duration) -> Self {
        self.with(|agent| agent.with_timeout(timeout, wrap_up))
    }

    /// Lets the model start sub-agents in the background, with the argument `run_in_background`. The report of such a sub-agent
    /// reaches the model as a message, and the run does not end before.
    #[must_use]
    pub const fn with_background(mut self) -> Self {
        self.has_background = true;
        self
    }

    /// Changes other settings of the sub-agents.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(SubAgent) -> SubAgent) -> Self {
        self.agent = change(self.agent);
        self
    }
}

impl AgentTool for SubAgentTool {
    fn name(&self) -> &str {
        self.agent.name()
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        let task =
            json!({"type": "string", "description": "What to do, with everything that is needed to do it."});
        let mut properties = json!({"task": task});
        if let Some(properties) = properties.as_object_mut().filter(|_| self.has_background) {
            let background = json!({"type": "boolean", "description": "Returns at once; the answer follows as a message."});
            properties.insert(BACKGROUND.to_owned(), background);
        }
        json!({"type": "object", "properties": properties, "required": ["task"], "additionalProperties": false})
    }

    /// None of its own: the permission check sees every call of the sub-agent.
    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn task_argument(&self) -> Option<&'static str> {
        Some("task")
    }

    fn background_calls(&self) -> Vec<(&'static str, Value)> {
        self.has_background.then_some((BACKGROUND, Value::Bool(true))).into_iter().collect()
    }

    fn extra_grace(&self) -> Duration {
        self.agent.grace()
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let task = params.get("task").and_then(Value::as_str).unwrap_or_default().to_owned();
        Box::pin(self.agent.run(task, context))
    }
}
