//! Limits and amounts of tokens, money, time and calls.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::ExecutionLimits;
use crate::usage::{Cost, Usage};

/// The kinds of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LimitKind {
    /// Model calls.
    Turns,
    /// Tokens in total.
    Tokens,
    /// Active time.
    Duration,
    /// Cost.
    Cost,
    /// Tool calls.
    ToolCalls,
}

impl LimitKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Turns, Self::Tokens, Self::Duration, Self::Cost, Self::ToolCalls];
}

/// Limits. A kind without a value is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BudgetLimits {
    /// Input and output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Active time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
}

impl BudgetLimits {
    /// Returns limits that limit nothing.
    pub const fn none() -> Self {
        Self { tokens: None, cost: None, turns: None, duration: None, tool_calls: None }
    }

    /// Limits tokens.
    pub const fn with_tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Limits cost.
    pub const fn with_cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Limits model calls.
    pub const fn with_turns(mut self, turns: u64) -> Self {
        self.turns = Some(turns);
        self
    }

    /// Limits active time.
    pub const fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Limits tool calls.
    pub const fn with_tool_calls(mut self, calls: u64) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// Returns true if nothing is limited.
    pub const fn is_none(&self) -> bool {
        self.tokens.is_none()
            && self.cost.is_none()
            && self.turns.is_none()
            && self.duration.is_none()
            && self.tool_calls.is_none()
    }

    /// Returns the limit of a kind in its unit: tokens, billionths of a dollar, calls, milliseconds.
    pub fn cap(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Tokens => self.tokens,
            LimitKind::Cost => self.cost.map(Cost::as_nano_usd),
            LimitKind::Turns => self.turns,
            LimitKind::Duration => self.duration.map(millis),
            LimitKind::ToolCalls => self.tool_calls,
        }
    }

    /// Creates a limit of one kind, in its unit.
    pub fn of(kind: LimitKind, amount: u64) -> Self {
        match kind {
            LimitKind::Tokens => Self::none().with_tokens(amount),
            LimitKind::Cost => Self::none().with_cost(Cost::from_nano_usd(amount)),
            LimitKind::Turns => Self::none().with_turns(amount),
            LimitKind::Duration => Self::none().with_duration(Duration::from_millis(amount)),
            LimitKind::ToolCalls => Self::none().with_tool_calls(amount),
        }
    }

    /// Returns these limits raised by `more`. What is unlimited stays unlimited.
    pub fn extended_by(self, more: &Self) -> Self {
        let add =
            |cap: Option<u64>, more: Option<u64>| cap.map(|cap| cap.saturating_add(more.unwrap_or_default()));
        Self {
            tokens: add(self.tokens, more.tokens),
            cost: self.cost.map(|mut cost| {
                cost += more.cost.unwrap_or_default();
                cost
            }),
            turns: add(self.turns, more.turns),
            duration: self.duration.map(|cap| cap.saturating_add(more.duration.unwrap_or_default())),
            tool_calls: add(self.tool_calls, more.tool_calls),
        }
    }

    /// Adds two extensions.
    pub fn plus(self, more: &Self) -> Self {
        let zeros = Self {
            tokens: self.tokens.or(more.tokens.map(|_| 0)),
            cost: self.cost.or(more.cost.map(|_| Cost::ZERO)),
            turns: self.turns.or(more.turns.map(|_| 0)),
            duration: self.duration.or(more.duration.map(|_| Duration::ZERO)),
            tool_calls: self.tool_calls.or(more.tool_calls.map(|_| 0)),
        };
        zeros.extended_by(more)
    }
}

impl From<&ExecutionLimits> for BudgetLimits {
    fn from(limits: &ExecutionLimits) -> Self {
        Self {
            tokens: limits.max_total_tokens.map(|tokens| tokens as u64),
            cost: limits.max_cost,
            turns: limits.max_turns.map(|turns| turns as u64),
            duration: limits.max_duration,
            tool_calls: limits.max_tool_calls.map(|calls| calls as u64),
        }
    }
}

/// Amounts that were spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SpentAmounts {
    /// Input and output tokens.
    pub tokens: u64,
    /// Cost.
    pub cost: Cost,
    /// Model calls.
    pub turns: u64,
    /// Active time.
    pub duration: Duration,
    /// Tool calls.
    pub tool_calls: u64,
}

impl SpentAmounts {
    /// Returns the tokens and cost of a usage, without counting a call.
    pub const fn usage(usage: &Usage) -> Self {
        let (tokens, cost) = (usage.total(), usage.cost);
        Self { tokens, cost, turns: 0, duration: Duration::ZERO, tool_calls: 0 }
    }

    /// Returns the amounts of one model call.
    pub const fn reply(usage: &Usage) -> Self {
        Self { turns: 1, ..Self::usage(usage) }
    }

    /// Returns the amounts of one tool call.
    pub const fn tool_call() -> Self {
        let (tokens, cost) = (0, Cost::ZERO);
        Self { tokens, cost, turns: 0, duration: Duration::ZERO, tool_calls: 1 }
    }

    /// Subtracts `other`; saturates at zero.
    pub fn less(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: Cost::from_nano_usd(self.cost.as_nano_usd().saturating_sub(other.cost.as_nano_usd())),
            turns: self.turns.saturating_sub(other.turns),
            duration: self.duration.saturating_sub(other.duration),
            tool_calls: self.tool_calls.saturating_sub(other.tool_calls),
        }
    }

    /// Returns the amount of a kind in its unit: tokens, billionths of a dollar, calls, milliseconds.
    pub fn amount(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Tokens => self.tokens,
            LimitKind::Cost => self.cost.as_nano_usd(),
            LimitKind::Turns => self.turns,
            LimitKind::Duration => millis(self.duration),
            LimitKind::ToolCalls => self.tool_calls,
        }
    }
}

impl AddAssign for SpentAmounts {
    fn add_assign(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        self.turns = self.turns.saturating_add(other.turns);
        self.duration = self.duration.saturating_add(other.duration);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
