//! Settings of a run: limits, retries, context window, queues, tool execution.
//!
//! Data only. Every number is a named field with its unit; nothing here reads the environment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::usage::Cost;

/// Settings for the context window. `None` in a run's configuration disables compaction, even after an
/// overflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ContextConfig {
    /// Size of the context window in tokens, including the system prompt.
    pub max_context_tokens: usize,
    /// Tokens reserved for the system prompt.
    pub system_prompt_tokens: usize,
    /// Number of newest messages that compaction always keeps in full.
    pub keep_recent: usize,
    /// Number of oldest messages that compaction always keeps.
    pub keep_first: usize,
    /// Lines of a tool output that the first compaction tier keeps.
    pub tool_output_max_lines: usize,
    /// Percentage of the window at which compaction is prepared in the background and the user is warned.
    pub warn_at_percent: u8,
    /// Percentage of the window at which the prepared compaction is applied.
    pub compact_at_percent: u8,
    /// Percentage of the window at which the run waits for compaction. A value above 100 disables this.
    pub emergency_at_percent: u8,
}

/// How full the context window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fullness {
    /// Below every threshold.
    Free,
    /// Compaction is prepared in the background.
    Warn,
    /// Compaction is applied as soon as it is prepared.
    Compact,
    /// Compaction is applied before the run continues.
    Emergency,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            max_context_tokens: 100_000,
            system_prompt_tokens: 4_000,
            keep_recent: 10,
            keep_first: 2,
            tool_output_max_lines: 50,
            warn_at_percent: 80,
            compact_at_percent: 90,
            emergency_at_percent: 98,
        }
    }
}

impl ContextConfig {
    /// Returns the defaults for a window of `max_context_tokens` tokens.
    pub fn with_window(max_context_tokens: usize) -> Self {
        Self { max_context_tokens, ..Self::default() }
    }

    /// Returns the tokens available to the conversation: the window minus the system prompt.
    pub const fn budget(&self) -> usize {
        self.max_context_tokens.saturating_sub(self.system_prompt_tokens)
    }

    /// Returns the number of tokens of the whole request at which the prepared compaction is applied.
    pub const fn threshold(&self) -> u64 {
        self.share(self.compact_at_percent)
    }

    /// Returns how full the window is with a request of `tokens` tokens: the highest threshold reached.
    pub const fn fullness(&self, tokens: u64) -> Fullness {
        if tokens >= self.share(self.emergency_at_percent) {
            Fullness::Emergency
        } else if tokens >= self.threshold() {
            Fullness::Compact
        } else if tokens >= self.share(self.warn_at_percent) {
            Fullness::Warn
        } else {
            Fullness::Free
        }
    }

    const fn share(&self, percent: u8) -> u64 {
        (self.max_context_tokens as u64).saturating_mul(percent as u64) / 100
    }
}

/// Hard limits of a run; `None` means no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ExecutionLimits {
    /// Maximum number of model calls.
    pub max_turns: Option<usize>,
    /// Maximum number of tokens in total.
    pub max_total_tokens: Option<usize>,
    /// Maximum time that the run is active. Time between a crash and the resume is not included.
    pub max_duration: Option<Duration>,
    /// Maximum cost.
    pub max_cost: Option<Cost>,
    /// Maximum number of tool calls.
    pub max_tool_calls: Option<usize>,
}

impl Default for ExecutionLimits {
    fn default() -> Self {
        Self {
            max_turns: Some(50),
            max_total_tokens: Some(1_000_000),
            max_duration: Some(Duration::from_secs(600)),
            max_cost: None,
            max_tool_calls: None,
        }
    }
}

impl ExecutionLimits {
    /// Returns limits that allow everything.
    pub const fn none() -> Self {
        Self {
            max_turns: None,
            max_total_tokens: None,
            max_duration: None,
            max_cost: None,
            max_tool_calls: None,
        }
    }

    /// Sets the limit for model calls.
    pub const fn with_max_turns(mut self, turns: usize) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// Sets the limit for tokens.
    pub const fn with_max_total_tokens(mut self, tokens: usize) -> Self {
        self.max_total_tokens = Some(tokens);
        self
    }

    /// Sets the time limit.
    pub const fn with_max_duration(mut self, duration: Duration) -> Self {
        self.max_duration = Some(duration);
        self
    }

    /// Sets the cost limit.
    pub const fn with_max_cost(mut self, cost: Cost) -> Self {
        self.max_cost = Some(cost);
        self
    }

    /// Sets the limit for tool calls.
    pub const fn with_max_tool_calls(mut self, calls: usize) -> Self {
        self.max_tool_calls = Some(calls);
        self
    }
}

/// Automatic retry of model calls that failed for a temporary reason.
///
/// If a reply breaks off after part of it was delivered, the run withdraws it ([`MessageWithdrawn`]) and
/// requests it again; its tool calls never run. The defaults suit a library: retries take a few seconds. An
/// interactive program may want to wait longer.
///
/// [`MessageWithdrawn`]: crate::event::AgentEvent::MessageWithdrawn
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RetryConfig {
    /// Number of retries after the first attempt (0 = no retries).
    pub max_retries: usize,
    /// Delay before the first retry.
    pub initial_delay_ms: u64,
    /// Factor by which the delay grows with each retry.
    pub backoff_multiplier: f64,
    /// Maximum delay before jitter.
    pub max_delay_ms: u64,
    /// Time after the first failure within which a retry may still start. If the provider asks for a longer
    /// delay (`Retry-After`), the call fails instead.
    pub patience_ms: u64,
    /// How many replies that broke off after they started to arrive are requested again, within
    /// `max_retries`. The provider charges for each of them.
    pub max_broken_replies: usize,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_retries: 3,
            initial_delay_ms: 1_000,
            backoff_multiplier: 2.0,
            max_delay_ms: 30_000,
            patience_ms: 3_600_000,
            max_broken_replies: 3,
        }
    }
}

/// Share of the delay that jitter may add or subtract.
const JITTER: f64 = 0.2;

impl RetryConfig {
    /// Disables retries.
    pub fn none() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// Sets the number of retries.
    pub const fn with_max_retries(mut self, retries: usize) -> Self {
        self.max_retries = retries;
        self
    }

    /// Sets the time after the first failure within which a retry may still start.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets the maximum delay between two attempts, before jitter.
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.max_delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Returns the delay before retry `attempt` (counting from 1), with ±20 % jitter. `unit` is random in
    /// `[-1, 1)`.
    pub fn delay_for_attempt(&self, attempt: u32, unit: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let ceiling = self.max_delay_ms as f64;
        let base =
            (self.initial_delay_ms as f64 * self.backoff_multiplier.powi(exponent)).clamp(0.0, ceiling);
        Duration::from_millis((base * (1.0 + JITTER * unit.clamp(-1.0, 1.0))).round() as u64)
    }
}

/// When loop detection nudges and stops a run that repeats itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RepetitionConfig {
    /// Number of identical tool calls in a row with identical results after which the run nudges the model.
    pub nudge_after: u32,
    /// Number of identical tool calls in a row with identical results after which the run ends.
    pub stop_after: u32,
}

impl Default for RepetitionConfig {
    fn default() -> Self {
        Self { nudge_after: 3, stop_after: 6 }
    }
}

impl RepetitionConfig {
    /// Sets both thresholds.
    pub const fn new(nudge_after: u32, stop_after: u32) -> Self {
        Self { nudge_after, stop_after }
    }
}

/// How many messages of a queue are delivered at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueMode {
    /// One message per opportunity.
    #[default]
    OneAtATime,
    /// All waiting messages at once.
    All,
}

/// How the tool calls of one reply are executed. The model always receives the results in the order of the
/// calls, and a tool that is not parallel-safe always runs alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolExecutionStrategy {
    /// All tool calls at once.
    #[default]
    Parallel,
    /// One after another, with a check for steering messages in between.
    Sequential,
    /// In groups of at most `size`, with a check for steering messages in between.
    Batched {
        /// Maximum number of tool calls per group.
        size: usize,
    },
}
