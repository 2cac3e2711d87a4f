//! What a run is configured with. Shared by reference between runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use crate::context::{CharacterClasses, ContextTracker, ImageTokens, TokenCounter};
use crate::event::TurnTrigger;
use crate::hooks::{HookInterest, MomentKind};
use crate::tool::{AgentTool, ToolDefinition, ToolEffects};

/// Time without an event of a model stream after which it counts as broken. Longer than the limits of our own
/// providers, which can tell a connection that is dead from a model that thinks: this one is for those that cannot.
const STALL_TIMEOUT: Duration = Duration::from_secs(660);

/// Configuration of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfig {
    /// Hard caps; `None` for none.
    pub limits: Option<ExecutionLimits>,
    /// Retries of model calls.
    pub retry: RetryConfig,
    /// The window; `None` switches compaction off.
    pub context: Option<ContextConfig>,
    /// Counts the tokens of what is new in the conversation.
    pub counter: Arc<dyn TokenCounter>,
    /// How the service counts images.
    pub images: ImageTokens,
    /// Tokens of the system prompt and the tools, counted by `counter`; `None` takes the window's reserve.
    pub besides: Option<u64>,
    /// How tool calls of one reply are executed.
    pub tool_execution: ToolExecutionStrategy,
    /// The tools the model may call, by name.
    pub tools: BTreeMap<String, ToolTraits>,
    /// Delivery of steering.
    pub steering_mode: QueueMode,
    /// Delivery of follow-ups.
    pub follow_up_mode: QueueMode,
    /// Repetition guard; `None` switches it off.
    pub repetition: Option<RepetitionConfig>,
    /// What an origin call's first turn is triggered by.
    pub first_turn_trigger: TurnTrigger,
    /// Silence after which a model stream counts as broken.
    pub stall_timeout: Duration,
    /// Whether hooks are registered.
    pub hooks: HookInterest,
    /// Whether input filters are registered.
    pub has_filters: bool,
    /// Whether somebody knows what the model should be told between its replies.
    pub has_notes: bool,
    /// Moments that the session's hooks want to be told of.
    pub moments: BTreeSet<MomentKind>,
    /// Provider name for assistant messages.
    pub provider: String,
    /// Model id for assistant messages, until the service reports one.
    pub model: String,
    /// Models that go on, in order, when the one before failed after all its retries.
    pub fallbacks: Vec<FallbackModel>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            limits: None,
            retry: RetryConfig::default(),
            context: None,
            counter: Arc::new(CharacterClasses),
            images: ImageTokens::default(),
            besides: None,
            tool_execution: ToolExecutionStrategy::default(),
            tools: BTreeMap::new(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            repetition: Some(RepetitionConfig::default()),
            first_turn_trigger: TurnTrigger::User,
            stall_timeout: STALL_TIMEOUT,
            hooks: HookInterest::None,
            has_filters: false,
            has_notes: false,
            moments: BTreeSet::new(),
            provider: String::new(),
            model: String::new(),
            fallbacks: Vec::new(),
        }
    }
}

/// Tokens of a tool's definition besides its texts.
const TOOL_TOKENS: u64 = 8;

impl RunConfig {
    /// Counts what every request holds besides the conversation.
    pub fn count_besides(&mut self, system_prompt: &str, tools: &[ToolDefinition]) {
        let count = |text: &str| self.counter.count(text);
        let tool = |tool: &ToolDefinition| {
            TOOL_TOKENS + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
        };
        self.besides = Some(count(system_prompt) + tools.iter().map(tool).sum::<u64>());
    }

    /// A tracker for an empty conversation, if anybody wants to know how full the window is.
    pub fn tracker(&self) -> Option<ContextTracker> {
        let context = self.context.as_ref()?;
        let tracker = ContextTracker::new(Arc::clone(&self.counter), self.images, self.model.as_str());
        Some(match self.besides {
            Some(tokens) => tracker.besides(tokens),
            None => tracker.reserving(context.system_prompt_tokens as u64),
        })
    }
}

/// What the machine needs to know about a model that stands by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackModel {
    /// Provider name for assistant messages.
    pub provider: String,
    /// Model id for assistant messages, until the service reports one.
    pub model: String,
}

/// What the machine needs to know about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits {
    /// What it does to the world.
    pub effects: ToolEffects,
    /// Whether it may run beside others.
    pub parallel_safe: bool,
}

impl ToolTraits {
    /// The traits a tool declares.
    pub fn of(tool: &dyn AgentTool) -> Self {
        Self { effects: tool.effects(), parallel_safe: tool.is_parallel_safe() }
    }
}
