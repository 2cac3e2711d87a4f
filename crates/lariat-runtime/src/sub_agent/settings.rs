//! Defines the settings of a sub-agent besides those that it takes over from its parent.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lariat_core::budget::BudgetLimits;
use lariat_core::config::ExecutionLimits;
use lariat_core::model::{ModelChoice, ModelConfig, StreamProvider};
use lariat_core::permission::PermissionPolicy;
use lariat_core::tool::{AgentTool, ToolError};

use crate::agent::ModelSlot;

/// Time after which a sub-agent is stopped.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Time before that in which it can still report: long enough for a model to write a page.
const WRAP_UP: Duration = Duration::from_secs(60);
/// Maximum number of agents above a sub-agent.
const MAX_DEPTH: usize = 5;
/// Maximum number of sub-agents of a tree that run at the same time. Each has a model call of its own.
const MAX_RUNNING: usize = 32;

/// The settings of a sub-agent. What is not set comes from its parent.
#[derive(Clone)]
pub struct SubAgent {
    pub(super) name: String,
    pub(super) model: Option<Arc<OwnModel>>,
    /// A model of the parent's provider.
    pub(super) parents_model: Option<Arc<ModelConfig>>,
    pub(super) system_prompt: String,
    /// Whether the system prompt contains the sections of the parent's.
    pub(super) has_sections_of_parent: bool,
    pub(super) tools: SubAgentTools,
    pub(super) shares_findings: bool,
    pub(super) restriction: Option<Arc<dyn PermissionPolicy>>,
    pub(super) limits: ExecutionLimits,
    pub(super) budget: BudgetLimits,
    pub(super) timeout: Duration,
    pub(super) wrap_up: Duration,
    pub(super) max_depth: usize,
    pub(super) max_running: usize,
}

/// The tools of a sub-agent.
#[derive(Clone)]
pub(super) enum SubAgentTools {
    Own(Vec<Arc<dyn AgentTool>>),
    /// All tools of the parent, or those of a list.
    Parents(Option<Arc<BTreeSet<String>>>),
}

/// The provider and the configuration of a model.
type ResolvedModel = (Arc<dyn StreamProvider>, Arc<ModelConfig>);

/// A model that is not the parent's.
pub(super) struct OwnModel {
    choices: Vec<ModelChoice>,
    resolved: OnceLock<Result<ResolvedModel, String>>,
}

impl OwnModel {
    fn new(choices: Vec<ModelChoice>) -> Option<Arc<Self>> {
        Some(Arc::new(Self { choices, resolved: OnceLock::new() }))
    }

    /// Returns the provider and the configuration of the model. Looks it up only once, so that all sub-agents of a tool
    /// share connections.
    pub(super) fn resolve(&self) -> Result<ResolvedModel, ToolError> {
        let resolve = || {
            let mut slot = ModelSlot::default();
            self.choices.iter().cloned().for_each(|choice| slot.choose(choice));
            slot.resolve()
                .map(|(provider, config)| (provider, Arc::new(config)))
                .map_err(|error| error.to_string())
        };
        self.resolved.get_or_init(resolve).clone().map_err(ToolError::Failed)
    }
}

impl SubAgent {
    /// Creates a sub-agent with the model and the tools of its parent.
    pub fn new(name: impl Into<String>) -> Self {
        let mut limits = ExecutionLimits::default();
        limits.max_duration = None;
        Self {
            name: name.into(),
            model: None,
            parents_model: None,
            system_prompt: String::new(),
            has_sections_of_parent: false,
            tools: SubAgentTools::Parents(None),
            shares_findings: false,
            restriction: None,
            limits,
            budget: BudgetLimits::none(),
            timeout: TIMEOUT,
            wrap_up: WRAP_UP,
            max_depth: MAX_DEPTH,
            max_running: MAX_RUNNING,
        }
    }

    /// The name of the sub-agent, for the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<ModelChoice>) -> Self {
        self.model = OwnModel::new(vec![model.into()]);
        self
    }

    /// Sets the model, which the provider of the parent serves.
    #[must_use]
    pub fn with_model_of_parents_provider(mut self, model: ModelConfig) -> Self {
        self.parents_model = Some(Arc::new(model));
        self
    }

    /// Sends the requests for the model to this provider.
    #[must_use]
    pub fn with_provider_override(mut self, provider: Arc<dyn StreamProvider>) -> Self {
        let choices = self.model.map(|model| model.choices.clone()).unwrap_or_default();
        self.model = OwnModel::new(choices.into_iter().chain([ModelChoice::Provider(provider)]).collect());
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = prompt.into();
        self
    }

    /// Adds the sections of the parent's system prompt: the environment, memory files, skills.
    #[must_use]
    pub const fn with_sections_of_parent(mut self) -> Self {
        self.has_sections_of_parent = true;
        self
    }

    /// Gives the sub-agent these tools instead of its parent's. The permission check of the parent applies to them.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        self.tools = SubAgentTools::Own(tools.into_iter().collect());
        self
    }

    /// Gives the sub-agent only those tools of its parent that are in this list.
    #[must_use]
    pub fn with_tools_of_parent(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.tools = SubAgentTools::Parents(Some(Arc::new(names)));
        self
    }

    /// Gives the sub-agent the tool `share_finding`: what it shares reaches the other agents of its tree, above, beside and below it,
    /// as a note before their next reply, once each.
    #[must_use]
    pub const fn with_findings(mut self) -> Self {
        self.shares_findings = true;
        self
    }

    /// Adds a policy that can only restrict further what the parent's permission check allows.
    #[must_use]
    pub fn with_restriction(mut self, policy: Arc<dyn PermissionPolicy>) -> Self {
        self.restriction = Some(policy);
        self
    }

    /// Sets the limits of the run. The default is 50 model calls and 1,000,000 tokens; use
    /// [`with_timeout`](Self::with_timeout) to limit time.
    #[must_use]
    pub const fn with_limits(mut self, limits: ExecutionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Limits the number of model calls.
    #[must_use]
    pub const fn with_turn_limit(mut self, turns: usize) -> Self {
        self.limits.max_turns = Some(turns);
        self
    }

    /// Reserves this budget from the parent's, as far as it is available. What the sub-agent does not spend goes back.
    #[must_use]
    pub const fn with_budget(mut self, budget: BudgetLimits) -> Self {
        self.budget = budget;
        self
    }

    /// Stops the sub-agent after this time. `wrap_up` before that, it receives a message to finish and report.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration, wrap_up: Duration) -> Self {
        (self.timeout, self.wrap_up) = (timeout, wrap_up);
        self
    }

    /// Sets how many agents may be above a sub-agent. The default is 5.
    #[must_use]
    pub const fn with_max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth;
        self
    }

    /// Sets how many sub-agents of the whole tree may run at the same time. The default is 32.
    #[must_use]
    pub const fn with_max_running(mut self, most: usize) -> Self {
        self.max_running = most;
        self
    }
}

impl std::fmt::Debug for SubAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubAgent").field("name", &self.name).finish_non_exhaustive()
    }
}
