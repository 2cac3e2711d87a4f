//! The configuration of a run, shared by reference between runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::budget::BudgetConfig;
use crate::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use crate::context::{CharacterClasses, ContextTracker, ImageTokens, TokenCounter};
use crate::event::TurnTrigger;
use crate::hooks::{HookInterest, LifecycleEventKind};
use crate::tool::{AgentTool, ToolDefinition, ToolEffects};

/// Default time without an event after which a model stream is treated as broken. Longer than the limits of the
/// built-in providers, which can distinguish a dead connection from a model that is reasoning; this limit is
/// for providers that cannot.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(660);

/// Configuration of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfig {
    /// Hard limits; `None` for no limits.
    pub limits: Option<ExecutionLimits>,
    /// Budgets beyond the run.
    pub budget: BudgetConfig,
    /// Retries of model calls.
    pub retry: RetryConfig,
    /// Settings for the context window; `None` disables compaction.
    pub context: Option<ContextConfig>,
    /// Counts the tokens of new messages.
    pub counter: Arc<dyn TokenCounter>,
    /// How the provider counts images.
    pub images: ImageTokens,
    /// Tokens of the system prompt and the tools, counted by `counter`; `None` uses the configured reserve.
    pub overhead: Option<u64>,
    /// How tool calls of one reply are executed.
    pub tool_execution: ToolExecutionStrategy,
    /// The tools the model may call, by name.
    pub tools: BTreeMap<String, ToolTraits>,
    /// How steering messages are delivered.
    pub steering_mode: QueueMode,
    /// How follow-up messages are delivered.
    pub follow_up_mode: QueueMode,
    /// Loop detection; `None` disables it.
    pub repetition: Option<RepetitionConfig>,
    /// Trigger of the first turn of a loop that continues no other one.
    pub first_turn_trigger: TurnTrigger,
    /// Time without an event after which a model stream is treated as broken.
    pub stall_timeout: Duration,
    /// Which callbacks are registered.
    pub hooks: HookInterest,
    /// Whether input filters are registered.
    pub has_filters: bool,
    /// Whether a context source provides notes between replies.
    pub has_notes: bool,
    /// Whether the provider is asked for a token count where an estimate decides about compaction.
    pub counts_tokens: bool,
    /// Moments for which the session has hooks.
    pub moments: BTreeSet<LifecycleEventKind>,
    /// Provider name for replies.
    pub provider: String,
    /// Model id for replies, until the provider reports one.
    pub model: String,
    /// Models that continue, in order, when the previous one failed after all retries.
    pub fallbacks: Vec<FallbackModel>,
    /// Whether the run records checkpoints by itself: when the model completes a task, and at the end.
    pub checkpoints: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            limits: None,
            budget: BudgetConfig::default(),
            retry: RetryConfig::default(),
            context: None,
            counter: Arc::new(CharacterClasses),
            images: ImageTokens::default(),
            overhead: None,
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
            counts_tokens: false,
            moments: BTreeSet::new(),
            provider: String::new(),
            model: String::new(),
            fallbacks: Vec::new(),
            checkpoints: false,
        }
    }
}

/// Tokens of a tool definition besides its texts.
const TOOL_TOKENS: u64 = 8;

impl RunConfig {
    /// Counts the parts of every request besides the conversation.
    pub fn count_overhead(&mut self, system_prompt: &str, tools: &[ToolDefinition]) {
        let count = |text: &str| self.counter.count(text);
        let tool = |tool: &ToolDefinition| {
            TOOL_TOKENS + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
        };
        self.overhead = Some(count(system_prompt) + tools.iter().map(tool).sum::<u64>());
    }

    /// Creates a tracker for an empty conversation; `None` if no context window is configured.
    pub fn tracker(&self) -> Option<ContextTracker> {
        let context = self.context.as_ref()?;
        let tracker = ContextTracker::new(Arc::clone(&self.counter), self.images, self.model.as_str());
        Some(match self.overhead {
            Some(tokens) => tracker.with_counted_overhead(tokens),
            None => tracker.with_overhead_estimate(context.system_prompt_tokens as u64),
        })
    }
}

/// What the machine needs to know about a fallback model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackModel {
    /// Provider name for replies.
    pub provider: String,
    /// Model id for replies, until the provider reports one.
    pub model: String,
}

/// What the machine needs to know about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolTraits {
    /// Effects that the tool declares.
    pub effects: ToolEffects,
    /// Whether the tool may run in parallel with others.
    pub parallel_safe: bool,
    /// The argument that contains the task, if every call of the tool starts a sub-agent.
    pub task_argument: Option<&'static str>,
    /// The arguments that make a call start its sub-agent in the background: a call with one of these values.
    pub background_calls: Vec<(&'static str, Value)>,
}

impl ToolTraits {
    /// Returns the traits that a tool declares.
    pub fn of(tool: &dyn AgentTool) -> Self {
        Self {
            effects: tool.effects(),
            parallel_safe: tool.is_parallel_safe(),
            task_argument: tool.task_argument(),
            background_calls: tool.background_calls(),
        }
    }

    /// Creates the traits of a tool that starts no sub-agents.
    pub const fn new(effects: ToolEffects, parallel_safe: bool) -> Self {
        Self { effects, parallel_safe, task_argument: None, background_calls: Vec::new() }
    }

    /// Returns whether a call with these arguments starts its sub-agent in the background.
    pub(super) fn is_background(&self, args: &Value) -> bool {
        self.background_calls.iter().any(|(argument, value)| args.get(argument) == Some(value))
    }
}
