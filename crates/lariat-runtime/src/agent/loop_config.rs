//! The configuration of a loop: its connections to the outside world and its settings.

use std::sync::Arc;

use lariat_core::event::{Description, LoopConfigSnapshot};
use lariat_core::run::RunConfig;

use crate::drive::{MissingApprover, Ports};

/// The configuration of a loop. Shared between loops.
#[derive(Clone, Debug)]
pub struct AgentLoopConfig {
    /// The connections to the outside world: model, tools, policy, clock.
    pub ports: Arc<Ports>,
    /// The settings of the loop: limits, retries, compaction.
    pub run: Arc<RunConfig>,
    /// The `{config}` segment of loop ids.
    pub config_id: Arc<str>,
    /// The description of the session, journaled with the first loop of a new session.
    pub description: Option<Arc<Description>>,
    /// What happens to approval requests of an agent without an approver: by default, they are denied at once.
    pub missing_approver: MissingApprover,
}

impl AgentLoopConfig {
    /// Creates a configuration. Without a `config_id`, derives one from provider, model and thinking level.
    pub fn new(ports: Ports, run: RunConfig, config_id: Option<String>) -> Self {
        let run = Arc::new(ports.run_config(run));
        let config_id = config_id.unwrap_or_else(|| derive_config_segment(&ports)).into();
        Self {
            ports: Arc::new(ports),
            run,
            config_id,
            description: None,
            missing_approver: MissingApprover::Deny,
        }
    }

    /// What the journal keeps of it: nothing secret.
    pub(super) fn snapshot(&self) -> Arc<LoopConfigSnapshot> {
        let request = &self.ports.request;
        let model = &request.model_config;
        let mut snapshot = LoopConfigSnapshot::default();
        snapshot.model.clone_from(&model.id);
        snapshot.name.clone_from(&model.name);
        snapshot.provider = self.ports.provider_name(model);
        snapshot.config_id = self.config_id.to_string();
        snapshot.api.clone_from(&model.api);
        snapshot.base_url = model.public_url();
        snapshot.reasoning = model.reasoning;
        snapshot.context_window = model.context_window;
        snapshot.max_tokens = request.max_tokens.or(model.max_tokens);
        snapshot.thinking_level = request.thinking_level;
        snapshot.temperature = request.temperature;
        Arc::new(snapshot)
    }
}

/// Returns `{provider}-{model}-{thinking}` in characters that are safe in an id.
fn derive_config_segment(ports: &Ports) -> String {
    let model = &ports.request.model_config;
    let raw = format!("{}-{}-{:?}", ports.provider_name(model), model.id, ports.request.thinking_level);
    raw.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect()
}
