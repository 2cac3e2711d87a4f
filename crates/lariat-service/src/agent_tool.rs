//! The tool `agent`: delegates a task to a sub-agent of a given type, with the arguments of Claude Code's `Task` and `Agent`.
//!
//! A sub-agent works with tools of the session, under the session's permission check and under the restrictions of its
//! definition. It sees the session's instructions, not its conversation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lariat_connect::{AgentDefinition, AgentSet};
use lariat_core::BoxFuture;
use lariat_core::model::ModelConfig;
use lariat_core::nearest::nearest;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_guard::Mode;
use lariat_runtime::{Gate, SubAgent};
use serde_json::{Value, json};

use crate::agent_definitions::{GENERAL, has_tool, may_share_findings};
use crate::local::CommandFiles;

/// The name of the tool.
pub(crate) const NAME: &str = "agent";
/// The argument that starts a sub-agent in the background.
const BACKGROUND: &str = "run_in_background";
/// Time after which a sub-agent is stopped.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Time before that in which it reports.
const WRAP_UP: Duration = Duration::from_secs(120);
/// Maximum characters of a description in the list that the model reads.
const MAX_DESCRIPTION_CHARS: usize = 600;

/// What every sub-agent reads besides the prompt of its definition.
const PREAMBLE: &str = "You are a sub-agent: another agent gave you the task below and waits for your report. You do not see \
     its conversation. Your last message is your report and the only thing that the other agent receives: put every result, \
     path and open question into it, and nothing else.";

const DESCRIPTION: &str = "Delegates a task to a sub-agent, which works in a conversation of its own and returns a report. \
     Use it for work that needs many steps and whose intermediate output you do not need, and for independent tasks: several \
     calls in one reply run at the same time. With `run_in_background` you continue meanwhile, and the report follows as a \
     message: use it if you have other work to do. The sub-agent does not see this conversation, so the prompt must contain \
     everything that it needs to know. Types:";

/// Starts sub-agents.
pub(crate) struct DelegationTool {
    agents: AgentSet,
    /// The models of those definitions that name one.
    models: BTreeMap<String, ModelConfig>,
    gate: Arc<Gate>,
    files: CommandFiles,
    /// The names of the session's tools.
    tools: Vec<String>,
    /// Facts about the machine that a sub-agent should know.
    environment: String,
    description: String,
}

impl DelegationTool {
    pub(crate) fn new(
        agents: AgentSet,
        models: BTreeMap<String, ModelConfig>,
        gate: Arc<Gate>,
        files: CommandFiles,
        tools: Vec<String>,
        environment: String,
    ) -> Self {
        let mut description = DESCRIPTION.to_owned();
        for agent in agents.agents() {
            let words: String = agent.description.chars().take(MAX_DESCRIPTION_CHARS).collect();
            description.push_str(&format!("\n- {}: {}", agent.name, words.replace('\n', " ")));
        }
        Self { agents, models, gate, files, tools, environment, description }
    }

    fn find(&self, name: Option<&str>) -> Result<&AgentDefinition, ToolError> {
        let name = name.filter(|name| !name.is_empty()).unwrap_or(GENERAL);
        // Claude Code's name of the built-in one.
        let name = if name == "general-purpose" { GENERAL } else { name };
        self.agents.find(name).ok_or_else(|| {
            let names = || self.agents.agents().iter().map(|agent| agent.name.as_str());
            let meant = nearest(name, names()).map(|meant| format!("; did you mean `{meant}`?"));
            let meant = meant.unwrap_or_else(|| ".".to_owned());
            let known = names().collect::<Vec<_>>().join(", ");
            ToolError::InvalidArgs(format!("no sub-agent is named `{name}`{meant} Available: {known}."))
        })
    }

    /// Makes the sub-agent of a definition, with the rules and the mode that apply now.
    fn sub_agent(&self, definition: &AgentDefinition) -> SubAgent {
        let tools = self.tools.iter().filter(|tool| has_tool(definition, tool));
        let mut agent = SubAgent::new(&definition.name)
            .with_system_prompt(self.prompt(definition))
            .with_sections_of_parent()
            .with_tools_of_parent(tools.cloned())
            .with_timeout(TIMEOUT, WRAP_UP);
        if may_share_findings(definition) {
            agent = agent.with_findings();
        }
        if let Some(model) = self.models.get(&definition.name) {
            agent = agent.with_model_of_parents_provider(model.clone());
        }
        if let Some(turns) = definition.max_turns {
            agent = agent.with_turn_limit(turns);
        }
        let mode = definition.permission_mode.as_deref().and_then(Mode::parse);
        if mode.is_some() {
            agent = agent.with_restriction(Arc::new(self.gate.restricted(None, mode)));
        }
        agent
    }

    fn prompt(&self, definition: &AgentDefinition) -> String {
        let mut prompt = format!("{}\n\n{PREAMBLE}\n\n{}", definition.prompt, self.environment);
        if !definition.skills.is_empty() {
            let skills = self.files.skills();
            let known = skills.skills().iter().filter(|skill| definition.skills.contains(&skill.name));
            for skill in known {
                let (name, path) = (&skill.name, skill.file_path.display());
                prompt.push_str(&format!(
                    "\n\nBefore you start, read the skill `{name}` at {path} and follow it."
                ));
            }
        }
        prompt
    }
}

impl AgentTool for DelegationTool {
    fn name(&self) -> &str {
        NAME
    }

    fn label(&self) -> &str {
        "Sub-agent"
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        let names: Vec<&str> = self.agents.agents().iter().map(|agent| agent.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": {
                "description": { "type": "string", "description": "What the task is, in three to five words." },
                "prompt": { "type": "string", "description": "The task, with everything that is needed to do it." },
                BACKGROUND: { "type": "boolean", "description": "Start the sub-agent and return at once: its report follows as a message [default: false]." },
                "subagent_type": { "type": "string", "enum": names, "description": "The type of the sub-agent [default: general]." }
            },
            "required": ["description", "prompt"],
            "additionalProperties": false
        })
    }

    /// None of its own: the permission check sees every call of the sub-agent.
    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn task_argument(&self) -> Option<&'static str> {
        Some("prompt")
    }

    fn background_calls(&self) -> Vec<(&'static str, Value)> {
        let always = self.agents.agents().iter().filter(|agent| agent.is_background);
        let always = always.map(|agent| ("subagent_type", Value::from(agent.name.as_str())));
        always.chain([(BACKGROUND, Value::Bool(true))]).collect()
    }

    fn extra_grace(&self) -> Duration {
        SubAgent::new(NAME).grace()
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let agent = self.find(text("subagent_type")).map(|definition| self.sub_agent(definition));
        let task = text("prompt").unwrap_or_default().to_owned();
        Box::pin(async move { agent?.run(task, context).await })
    }
}
