//! Computes the cost of tokens exactly, with prices in the format of the models.dev catalogue.
//!
//! Invariant: a price is a whole number of billionths of a dollar per million tokens, so sums are exact.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::usage::{Cost, Usage};

/// Billionths of a dollar in a dollar.
const NANO_PER_USD: f64 = 1e9;
/// Number of tokens that a price refers to.
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// Dollars per million tokens. Serialised as a decimal number, stored as an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdPerMillion(u64);

impl UsdPerMillion {
    /// Creates a price from dollars. Negative or non-finite prices become 0.
    pub fn from_usd(usd: f64) -> Self {
        let nanos = (usd * NANO_PER_USD).round();
        Self(if nanos.is_finite() && nanos > 0.0 { nanos as u64 } else { 0 })
    }

    /// Returns dollars, for display.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / NANO_PER_USD
    }

    /// Multiplies exactly; the result is in billionths of a dollar, times a million.
    const fn times(self, tokens: u64) -> u128 {
        self.0 as u128 * tokens as u128
    }
}

impl fmt::Display for UsdPerMillion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.as_usd())
    }
}

impl Serialize for UsdPerMillion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_usd())
    }
}

impl<'de> Deserialize<'de> for UsdPerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_usd)
    }
}

/// Prices of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCost {
    /// Price of prompt tokens that were not cached.
    pub input: UsdPerMillion,
    /// Price of generated tokens.
    pub output: UsdPerMillion,
    /// Price of tokens read from the cache; the input price if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<UsdPerMillion>,
    /// Price of tokens written to the cache; the input price if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<UsdPerMillion>,
    /// Different prices for requests above a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Box<PriceTier>>,
}

/// Prices that apply to the whole request if its context is larger than a size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTier {
    /// Context tokens above which these prices apply.
    pub above: u64,
    /// The prices above that size.
    pub cost: ModelCost,
}

impl ModelCost {
    /// Computes the cost of a model call.
    pub fn of(&self, usage: &Usage) -> Cost {
        if let Some(tier) = &self.tier
            && usage.context() > tier.above
        {
            return tier.cost.of(usage);
        }
        let sum = self.input.times(usage.input)
            + self.output.times(usage.output)
            + self.cache_read.unwrap_or(self.input).times(usage.cache_read)
            + self.cache_write.unwrap_or(self.input).times(usage.cache_write);
        let nanos = (sum + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE;
        Cost::from_nano_usd(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage { input, output, cache_read, cache_write, ..Usage::default() }
    }

    fn sonnet() -> ModelCost {
        let usd = UsdPerMillion::from_usd;
        let dear = ModelCost { input: usd(6.0), output: usd(22.5), ..ModelCost::default() };
        ModelCost {
            input: usd(3.0),
            output: usd(15.0),
            cache_read: Some(usd(0.3)),
            cache_write: Some(usd(3.75)),
            tier: Some(Box::new(PriceTier { above: 200_000, cost: dear })),
        }
    }

    #[test]
    fn call_costs_the_sum_of_its_parts() {
        let cost = sonnet().of(&usage(1000, 100, 10_000, 2000));
        assert_eq!(cost.as_nano_usd(), 3_000_000 + 1_500_000 + 3_000_000 + 7_500_000);
    }

    #[test]
    fn large_context_uses_the_higher_tier_for_all_tokens() {
        let cost = sonnet().of(&usage(200_001, 0, 0, 0));
        assert_eq!(cost.as_nano_usd(), 200_001 * 6000);
    }

    #[test]
    fn missing_cache_price_falls_back_to_the_input_price() {
        let cost = ModelCost { input: UsdPerMillion::from_usd(0.0375), ..ModelCost::default() };
        assert_eq!(cost.of(&usage(1_000_000, 5, 1_000_000, 0)).as_nano_usd(), 75_000_000);
    }

    #[test]
    fn prices_round_trip_as_decimal_dollars() {
        let text = r#"{"input":0.15,"output":0.6,"cache_read":0.075}"#;
        let cost: ModelCost = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&cost).unwrap(), text);
        assert_eq!(UsdPerMillion::from_usd(f64::NAN), UsdPerMillion::default());
    }
}
