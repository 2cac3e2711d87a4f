//! Builds the agents of sessions, with their permission modes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_api::{Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::model::ModelConfig;
use lariat_core::tool::{AgentTool, ToolEffects};
use lariat_runtime::Agent;
use lariat_runtime::drive::JournalConfig;
use lariat_sessions::{AgentFactory, AgentRequest, HostedAgent, PermissionModes};

use super::ports::{SessionModel, SessionPolicy, SessionTool};
use super::process::Process;
use super::setting::{DEFAULT_MODE, DEFAULT_MODEL, MODELS, MODES};

/// Builds the agents of one process.
pub(super) struct SimAgents(pub(super) Arc<Process>);

impl AgentFactory for SimAgents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        Box::pin(async move {
            self.0.steps.pass().await;
            let model = request.model.map_or(DEFAULT_MODEL, |model| model.name.as_str());
            if !MODELS.contains(&model) {
                return Err(Problem::new(ProblemCode::Invalid, format!("unknown model `{model}`")));
            }
            let modes = Arc::new(Modes(Mutex::new(request.mode.unwrap_or(DEFAULT_MODE).to_owned())));
            let agent = self.agent(&request, model, &modes)?;
            Ok(HostedAgent::new(agent).with_modes(modes))
        })
    }
}

impl SimAgents {
    fn agent(&self, request: &AgentRequest<'_>, model: &str, modes: &Arc<Modes>) -> Result<Agent, Problem> {
        let process = &self.0;
        let (setting, session_id) = (&process.setting, request.session_id.clone());
        let provider = SessionModel {
            model: Arc::clone(&process.model),
            session_id: session_id.clone(),
            watch: Arc::clone(&process.watch),
            steps: process.steps.clone(),
        };
        let policy = SessionPolicy {
            session_id: session_id.clone(),
            process: Arc::clone(process),
            modes: Arc::clone(modes),
        };
        let mut builder = Agent::builder()
            .provider(provider)
            .model_config(ModelConfig::new("scripted", model))
            .store(Arc::clone(request.store))
            .session_id(session_id)
            .agent_id("agent")
            .clock(Arc::new(process.clock.clone()))
            .entropy(process.entropy.clone())
            .journal(JournalConfig { snapshot_every: setting.snapshot_every, ..JournalConfig::default() })
            .context(setting.context.clone())
            .observer(Arc::clone(&process.watch) as Arc<_>)
            .permission_policy(policy)
            .tools(self.tools())
            .request_budget_extensions(true);
        builder = match setting.limits.clone() {
            Some(limits) => builder.limits(limits),
            None => builder.without_limits(),
        };
        builder.build().map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))
    }

    fn tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let tool = |name: &'static str, effects: ToolEffects| -> Arc<dyn AgentTool> {
            let random = Arc::clone(&self.0.tool_random);
            Arc::new(SessionTool { name, effects, process: Arc::clone(&self.0), random })
        };
        vec![
            tool("read", ToolEffects::READS),
            tool("write", ToolEffects::WRITES),
            tool("exec", ToolEffects::ALL),
        ]
    }
}

/// The permission mode of an agent.
pub(super) struct Modes(Mutex<String>);

impl Modes {
    fn lock(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PermissionModes for Modes {
    fn mode(&self) -> String {
        self.lock().clone()
    }

    fn set_mode(&self, mode: &str) -> Result<String, Problem> {
        if !MODES.contains(&mode) {
            return Err(Problem::new(ProblemCode::Invalid, format!("unknown mode `{mode}`")));
        }
        mode.clone_into(&mut self.lock());
        Ok(mode.to_owned())
    }
}
