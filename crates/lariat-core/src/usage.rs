//! Counts tokens and money.
//!
//! Costs are whole billionths of a dollar, so sums are exact.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Token counts and cost of one model call, or a sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens processed, without cached ones.
    pub input: u64,
    /// Completion tokens generated, including reasoning.
    pub output: u64,
    /// Tokens served from the prompt cache.
    pub cache_read: u64,
    /// Tokens written to the prompt cache.
    pub cache_write: u64,
    /// Total as the provider reported it; 0 if it reported none.
    pub total_tokens: u64,
    /// Reasoning tokens, included in `output`.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Cost of the model call, if prices are known.
    #[serde(skip_serializing_if = "Cost::is_zero")]
    pub cost: Cost,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Creates a usage with input and output tokens and without cache or cost details.
    pub const fn new(input: u64, output: u64) -> Self {
        Self {
            input,
            output,
            cache_read: 0,
            cache_write: 0,
            total_tokens: input.saturating_add(output),
            reasoning: 0,
            cost: Cost::ZERO,
        }
    }

    /// Returns the provider's total, or the sum of the parts if it reported none.
    pub const fn total(&self) -> u64 {
        if self.total_tokens > 0 { self.total_tokens } else { self.context().saturating_add(self.output) }
    }

    /// Returns the tokens that the model read: the part of the context window that the request used.
    pub const fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Returns `cache_read / (input + cache_read + cache_write)`; 0 if the model read nothing.
    pub fn cache_hit_rate(&self) -> f64 {
        let read = self.context();
        if read == 0 { 0.0 } else { self.cache_read as f64 / read as f64 }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // `total_tokens` must remain the sum, even if only one side reported it.
        self.total_tokens = self.total().saturating_add(other.total());
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cost += other.cost;
    }
}

/// Money in billionths of a US dollar. The lowest price per token in use is 5,000 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(u64);

impl Cost {
    /// No cost.
    pub const ZERO: Self = Self(0);

    /// Creates a cost from billionths of a dollar.
    pub const fn from_nano_usd(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Creates a cost from dollars, rounded to billionths: `Cost::from_usd(0.25)` is 25 cents. A negative
    /// amount is zero.
    pub fn from_usd(dollars: f64) -> Self {
        // The cast saturates, and turns what is not a number into 0.
        Self((dollars * 1e9).round() as u64)
    }

    /// Returns billionths of a dollar.
    pub const fn as_nano_usd(self) -> u64 {
        self.0
    }

    /// Returns dollars, for display.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns true if nothing was spent or prices are unknown.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.as_usd())
    }
}
