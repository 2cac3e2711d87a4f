//! Tuning of a run: limits, retries, context, queues, tool execution. Data only, with the defaults of seed 002.
//!
//! Every number is a named field with its unit; nothing here reads the environment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::usage::Cost;

/// Tuning of the context window. `None` in a run's configuration switches compaction off, after an overflow too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ContextConfig {
    /// Total budget in tokens, system prompt included.
    pub max_context_tokens: usize,
    /// Tokens reserved for the system prompt.
    pub system_prompt_tokens: usize,
    /// Messages always kept in full at the tail.
    pub keep_recent: usize,
    /// Messages always kept at the head.
    pub keep_first: usize,
    /// Lines of a tool output that survive the first tier.
    pub tool_output_max_lines: usize,
    /// Share of the window at which room is prepared beside the run, and people are warned, in percent (seed 003: 80).
    pub warn_at_percent: u8,
    /// Share of the window at which what was prepared is applied, in percent (seed 000: 90).
    pub compact_at_percent: u8,
    /// Share of the window at which the run waits until room is made, in percent. More than 100 is never.
    pub emergency_at_percent: u8,
}

/// How full the window is, as compaction sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fullness {
    /// There is room.
    Free,
    /// Room is prepared.
    Warn,
    /// Room is made as soon as it is prepared.
    Compact,
    /// Room is made before anything else is done.
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
    /// The defaults for a window of this many tokens.
    pub fn with_window(max_context_tokens: usize) -> Self {
        Self { max_context_tokens, ..Self::default() }
    }

    /// Tokens the conversation may take: the window less the system prompt.
    pub const fn budget(&self) -> usize {
        self.max_context_tokens.saturating_sub(self.system_prompt_tokens)
    }

    /// Tokens of the whole request at which what was prepared is applied.
    pub const fn threshold(&self) -> u64 {
        self.share(self.compact_at_percent)
    }

    /// How full the window is with a request of this many tokens. The highest threshold that is reached counts.
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

/// Hard caps on a run. `None` in a run's configuration means no caps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ExecutionLimits {
    /// Model calls before a forced stop.
    pub max_turns: usize,
    /// Tokens in total.
    pub max_total_tokens: usize,
    /// Wall-clock time the run is active; time between a crash and its recovery does not count.
    pub max_duration: Duration,
    /// Money.
    pub max_cost: Option<Cost>,
    /// Tool calls.
    pub max_tool_calls: Option<usize>,
}

impl Default for ExecutionLimits {
    fn default() -> Self {
        Self {
            max_turns: 50,
            max_total_tokens: 1_000_000,
            max_duration: Duration::from_secs(600),
            max_cost: None,
            max_tool_calls: None,
        }
    }
}

impl ExecutionLimits {
    /// Replaces the cap on model calls.
    pub const fn with_max_turns(mut self, turns: usize) -> Self {
        self.max_turns = turns;
        self
    }

    /// Replaces the cap on tokens.
    pub const fn with_max_total_tokens(mut self, tokens: usize) -> Self {
        self.max_total_tokens = tokens;
        self
    }

    /// Replaces the cap on time.
    pub const fn with_max_duration(mut self, duration: Duration) -> Self {
        self.max_duration = duration;
        self
    }

    /// Caps money.
    pub const fn with_max_cost(mut self, cost: Cost) -> Self {
        self.max_cost = Some(cost);
        self
    }

    /// Caps tool calls.
    pub const fn with_max_tool_calls(mut self, calls: usize) -> Self {
        self.max_tool_calls = Some(calls);
        self
    }
}

/// Automatic retry of model calls that failed for a reason that may go away.
///
/// A reply that breaks after part of it was delivered is withdrawn ([`MessageWithdrawn`]) and asked for again; its tool
/// calls never run. The defaults suit a library: a few seconds. A program that a person waits for may have more patience.
///
/// [`MessageWithdrawn`]: crate::event::AgentEvent::MessageWithdrawn
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RetryConfig {
    /// Retries after the first attempt; 0 switches retrying off.
    pub max_retries: usize,
    /// Wait before the first retry.
    pub initial_delay_ms: u64,
    /// Growth per retry.
    pub backoff_multiplier: f64,
    /// Ceiling before jitter.
    pub max_delay_ms: u64,
    /// Time after the first failure within which a retry may still begin. A service that asks for a longer wait
    /// (`Retry-After`) ends the call instead.
    pub patience_ms: u64,
    /// How many replies that broke after they had begun to arrive are asked for again, within the retries: the provider
    /// charges for each of them.
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

/// Share of the delay that jitter may add or take away.
const JITTER: f64 = 0.2;

impl RetryConfig {
    /// No retries.
    pub fn none() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// Replaces the number of retries.
    pub const fn with_max_retries(mut self, retries: usize) -> Self {
        self.max_retries = retries;
        self
    }

    /// Replaces the time after the first failure within which a retry may still begin.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Replaces the longest wait between two attempts, before jitter.
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.max_delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The wait before retry `attempt` (from 1), with ±20 % jitter. `unit` is random in `[-1, 1)`.
    pub fn delay_for_attempt(&self, attempt: u32, unit: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let ceiling = self.max_delay_ms as f64;
        let base =
            (self.initial_delay_ms as f64 * self.backoff_multiplier.powi(exponent)).clamp(0.0, ceiling);
        Duration::from_millis((base * (1.0 + JITTER * unit.clamp(-1.0, 1.0))).round() as u64)
    }
}

/// When a run that repeats itself is nudged and stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RepetitionConfig {
    /// Identical calls with identical results in a row after which the model is told.
    pub nudge_after: u32,
    /// After which the run ends.
    pub stop_after: u32,
}

impl Default for RepetitionConfig {
    fn default() -> Self {
        Self { nudge_after: 3, stop_after: 6 }
    }
}

impl RepetitionConfig {
    /// Both thresholds.
    pub const fn new(nudge_after: u32, stop_after: u32) -> Self {
        Self { nudge_after, stop_after }
    }
}

/// How a queue of waiting messages is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QueueMode {
    /// One message per opportunity.
    #[default]
    OneAtATime,
    /// All of them at once.
    All,
}

/// How the tool calls of one reply are executed. Results are always given to the model in call order, and a tool that
/// is not parallel-safe always runs alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolExecutionStrategy {
    /// All at once.
    #[default]
    Parallel,
    /// One after another; steering is looked at in between.
    Sequential,
    /// Groups of at most `size`; steering is looked at in between.
    Batched {
        /// Calls per group.
        size: usize,
    },
}
