//! The connections of a run to the outside world, as traits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::redact::Redactor;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::context::{CompactionStrategy, ContextSource, ImageTokens};
use lariat_core::hooks::{Hooks, InputFilter, LifecycleEventKind};
use lariat_core::model::{
    CacheConfig, ModelConfig, OutputSchema, RequestMemo, StreamConfig, StreamProvider, SystemPrompt,
    ThinkingLevel, ToolChoice,
};
use lariat_core::permission::{Approver, PermissionPolicy};
use lariat_core::run::{FallbackModel, RunConfig, ToolTraits};
use lariat_core::time::Stamp;
use lariat_core::tool::{Access, AgentTool, ToolDefinition, ToolEffects};
use lariat_core::transcript::Window;

use super::definitions;
use super::lineage::Lineage;
use crate::budget::SharedBudget;
use crate::prompt::Sections;

/// How long a cancelled tool may take to end by itself before it is dropped.
pub const TOOL_GRACE: Duration = Duration::from_secs(2);

/// The connections of a run to the outside world. Shared by all runs of an agent.
#[derive(Clone)]
pub struct Ports {
    /// The provider of the model.
    pub model: Arc<dyn StreamProvider>,
    /// What is sent besides the conversation.
    pub request: RequestTemplate,
    /// The tools that the model can call.
    pub tools: ToolSet,
    /// Decides about tool calls.
    pub policy: Arc<dyn PermissionPolicy>,
    /// Answers approval requests; without one, answers come through the run's handle.
    pub approver: Option<Arc<dyn Approver>>,
    /// Removes secrets from everything that comes from outside.
    pub redactor: Redactor,
    /// In-process hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Filters that check each prompt, in order.
    pub filters: Vec<Arc<dyn InputFilter>>,
    /// Sources of the system prompt's sections; without them, the system prompt is that of the request.
    pub sections: Option<Arc<Sections>>,
    /// Source of notes that the model receives between its replies.
    pub notes: Option<Arc<dyn ContextSource>>,
    /// Budgets that the runs share with others.
    pub budget: SharedBudget,
    /// Compacts the conversation.
    pub compaction: Arc<dyn CompactionStrategy>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn EntropySource>,
    /// The place in a tree of agents.
    pub lineage: Lineage,
    /// How long a cancelled tool may take to end by itself.
    pub tool_grace: Duration,
    /// Maximum bytes of text of a tool result that the model receives. The full text is stored beside the
    /// journal.
    pub max_tool_output: usize,
}

impl Ports {
    /// Creates a stamp for the next input.
    pub(crate) fn stamp(&self) -> Stamp {
        lariat_core::clock::stamp(&*self.clock, &*self.entropy)
    }

    /// Returns the declared effects of a tool; all effects for an unknown tool.
    pub(crate) fn effects(&self, tool: &str) -> ToolEffects {
        self.tools.get(tool).map_or(ToolEffects::ALL, |tool| tool.effects())
    }

    /// Returns the name of a model's provider: the one in its configuration, or else the id of the stream
    /// provider.
    pub(crate) fn provider_name(&self, model: &ModelConfig) -> String {
        let named = !model.provider.is_empty() && !model.api.is_empty();
        if named { model.provider.clone() } else { self.model.provider_id().to_owned() }
    }

    /// Completes a run configuration with the tools, hooks, filters and hook events of these ports.
    pub fn run_config(&self, base: RunConfig) -> RunConfig {
        let mut config = base;
        config.tools = self.tools.traits();
        config.hooks = self.hooks.interest();
        let wants = |kind: &LifecycleEventKind| super::session_hooks::is_wanted(self, *kind);
        config.moments = LifecycleEventKind::ALL.into_iter().filter(wants).collect();
        let before_prompts = [LifecycleEventKind::Prompt, LifecycleEventKind::SessionStart];
        let hooked = before_prompts.iter().any(|kind| config.moments.contains(kind));
        config.has_filters = hooked || !self.filters.is_empty();
        // Agents of a tree receive what others found.
        let is_tree =
            self.lineage.depth() > 0 || config.tools.values().any(|tool| tool.task_argument.is_some());
        config.has_notes = self.notes.is_some() || self.sections.is_some() || is_tree;
        config.counts_tokens = config.context.is_some();
        config.budget.is_shared = !self.budget.is_none();
        config.budget.days = self.budget.days();
        config.budget.asks |= self.approver.is_some();
        config.model.clone_from(&self.request.model_config.id);
        config.provider = self.provider_name(&self.request.model_config);
        let fallback = |model: &Arc<ModelConfig>| FallbackModel {
            provider: self.provider_name(model),
            model: model.id.clone(),
        };
        config.fallbacks = self.request.fallbacks.iter().map(fallback).collect();
        config.images = ImageTokens::of_protocol(&self.request.model_config.api);
        // Each session has its own prompt of sections: the configured reserve is used until the provider
        // reports usage.
        if config.context.is_some() && self.sections.is_none() {
            config.count_overhead(self.request.system_prompt.as_str(), self.tools.definitions());
        }
        config
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// What is sent to the model besides the conversation.
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    /// The model.
    pub model_config: Arc<ModelConfig>,
    /// The system prompt of sessions that have none of their own.
    pub system_prompt: SystemPrompt,
    /// How much the model thinks.
    pub thinking_level: ThinkingLevel,
    /// Maximum length of a reply, in tokens.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Hints for prompt caching.
    pub cache_config: CacheConfig,
    /// Whether the model may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// The JSON schema that the model's text must match.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// Models that continue, in order, if the one before failed after all its retries.
    pub fallbacks: Vec<Arc<ModelConfig>>,
}

impl RequestTemplate {
    /// Creates a template with defaults for everything but the model.
    pub fn new(model_config: ModelConfig) -> Self {
        Self {
            model_config: Arc::new(model_config),
            system_prompt: SystemPrompt::default(),
            thinking_level: ThinkingLevel::default(),
            max_tokens: None,
            temperature: None,
            cache_config: CacheConfig::default(),
            tool_choice: ToolChoice::default(),
            output_schema: None,
            fallbacks: Vec::new(),
        }
    }

    /// Creates the request for a conversation: to the configured model (candidate 0) or to a fallback.
    pub(crate) fn with(
        &self,
        messages: Window,
        tools: &Arc<[ToolDefinition]>,
        candidate: usize,
        memo: &RequestMemo,
        prompt: Option<&SystemPrompt>,
    ) -> StreamConfig {
        let fallback = candidate.checked_sub(1).and_then(|at| self.fallbacks.get(at));
        let mut config = StreamConfig::new(Arc::clone(fallback.unwrap_or(&self.model_config)), messages);
        config.tool_choice = self.tool_choice.clone();
        config.output_schema.clone_from(&self.output_schema);
        config.memo = memo.clone();
        config.system_prompt = prompt.unwrap_or(&self.system_prompt).clone();
        config.tools = Arc::clone(tools);
        config.thinking_level = self.thinking_level;
        config.max_tokens = self.max_tokens;
        config.temperature = self.temperature;
        config.cache_config = self.cache_config.clone();
        config
    }
}

/// The tools of an agent by name, with cached definitions.
#[derive(Clone)]
pub struct ToolSet {
    tools: Arc<BTreeMap<String, Arc<dyn AgentTool>>>,
    definitions: Arc<[ToolDefinition]>,
    /// The tools that are offered with read-only access.
    reading: Arc<[ToolDefinition]>,
}

impl ToolSet {
    /// Creates a set in the given order. If two tools have the same name, the later one replaces the earlier.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        Self::with_offered(tools, |_| true)
    }

    /// Creates a set that shows the model only the tools whose names `offers` accepts. The others can still be called.
    pub(crate) fn with_offered(
        tools: impl IntoIterator<Item = Arc<dyn AgentTool>>,
        offers: impl Fn(&str) -> bool,
    ) -> Self {
        let mut by_name = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for tool in tools {
            let name = tool.name().to_owned();
            if by_name.insert(name.clone(), tool).is_none() {
                order.push(name);
            }
        }
        let shown = order.iter().filter(|name| offers(name)).filter_map(|name| by_name.get(name));
        let shown: Vec<&Arc<dyn AgentTool>> = shown.collect();
        let offered = |access: Access| -> Vec<ToolDefinition> {
            let tools = shown.iter().filter(|tool| tool.is_offered(access));
            tools.map(|tool| ToolDefinition::of(&***tool)).collect()
        };
        let definitions = definitions::intern(offered(Access::Full));
        let reading = definitions::intern(offered(Access::Reads));
        Self { tools: Arc::new(by_name), definitions, reading }
    }

    /// Returns the tools for which `keeps` is true. What the model is not offered stays hidden.
    #[must_use]
    pub fn filtered(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let kept = |(name, tool): (&String, &Arc<dyn AgentTool>)| {
            keeps(name).then(|| (name.clone(), Arc::clone(tool)))
        };
        let offered = |list: &[ToolDefinition]| {
            definitions::intern(list.iter().filter(|tool| keeps(&tool.name)).cloned().collect())
        };
        Self {
            tools: Arc::new(self.tools.iter().filter_map(kept).collect()),
            definitions: offered(&self.definitions),
            reading: offered(&self.reading),
        }
    }

    /// Returns the set with one more tool, which the model is offered and which replaces one of the same name.
    #[must_use]
    pub(crate) fn and(&self, tool: Arc<dyn AgentTool>) -> Self {
        let added = |list: &[ToolDefinition], access: Access| {
            let own = tool.is_offered(access).then(|| ToolDefinition::of(&*tool));
            let others = list.iter().filter(|other| other.name != tool.name()).cloned();
            definitions::intern(others.chain(own).collect())
        };
        let (definitions, reading) =
            (added(&self.definitions, Access::Full), added(&self.reading, Access::Reads));
        let mut tools = BTreeMap::clone(&self.tools);
        tools.insert(tool.name().to_owned(), tool);
        Self { tools: Arc::new(tools), definitions, reading }
    }

    /// Returns a tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AgentTool>> {
        self.tools.get(name)
    }

    /// The definitions of all tools, in the order in which they were given.
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// Returns the definitions that the model is offered with this access. The list is the same until the
    /// tools change.
    pub(crate) const fn offered_definitions(&self, access: Access) -> &Arc<[ToolDefinition]> {
        match access {
            Access::Full => &self.definitions,
            _ => &self.reading,
        }
    }

    fn traits(&self) -> BTreeMap<String, ToolTraits> {
        self.tools.iter().map(|(name, tool)| (name.clone(), ToolTraits::of(&**tool))).collect()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
