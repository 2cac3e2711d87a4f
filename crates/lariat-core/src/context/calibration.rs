//! Corrects token estimates with the counts that providers report: one factor per model.
//!
//! The factor is the quotient of the sums of reported and of estimated tokens; older samples weigh less. All
//! arithmetic uses integers. Invariant: a factor stays within its bounds, and no single report changes it
//! much.

use serde::{Deserialize, Serialize};

/// Bounds of a factor, in tenths. No tokenizer differs more from the estimate.
const LOWEST_TENTHS: u64 = 3;
const HIGHEST_TENTHS: u64 = 40;
/// A factor starts as if this many tokens had been estimated correctly.
const PRIOR: u64 = 64;
/// With each sample, the earlier sums lose one part in this many.
const FORGETTING: u64 = 4;
/// Number of samples after which a new one is clamped to between half and twice the factor.
const TRUSTED_SAMPLES: u32 = 2;
/// Maximum number of models to remember; a run rarely uses more than one and its fallbacks.
const MODELS: usize = 8;

/// Factors by model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Calibration(Vec<(String, Factor)>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Factor {
    reported: u64,
    estimated: u64,
    samples: u32,
}

impl Calibration {
    /// Returns whether a report is plausible for a text of this estimate: not below the lowest factor.
    pub(super) const fn is_plausible(reported: u64, estimate: u64) -> bool {
        reported >= estimate.saturating_mul(LOWEST_TENTHS) / 10
    }

    /// Learns that the provider counted `reported` tokens where the estimate was `estimate`.
    pub(super) fn learn(&mut self, model: &str, reported: u64, estimate: u64) {
        if reported == 0 || estimate == 0 {
            return;
        }
        let at = self.0.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
            if self.0.len() == MODELS {
                self.0.remove(0);
            }
            self.0.push((model.to_owned(), Factor::default()));
            self.0.len() - 1
        });
        if let Some((_, factor)) = self.0.get_mut(at) {
            factor.learn(reported, estimate);
        }
    }

    /// Converts an estimate to the model's tokens.
    pub(super) fn scale(&self, model: &str, estimate: u64) -> u64 {
        self.factor(model).scale(estimate)
    }

    /// Converts a token count of one model to that of another.
    pub(super) fn convert(&self, from: &str, to: &str, tokens: u64) -> u64 {
        if from == to { tokens } else { self.factor(to).scale(self.factor(from).to_estimate(tokens)) }
    }

    fn factor(&self, model: &str) -> Factor {
        let known = self.0.iter().find(|(known, _)| known == model);
        known.map(|(_, factor)| *factor).unwrap_or_default()
    }
}

impl Factor {
    fn learn(&mut self, reported: u64, estimate: u64) {
        let tenths = |tenths: u64| estimate.saturating_mul(tenths) / 10;
        let mut reported = reported.clamp(tenths(LOWEST_TENTHS), tenths(HIGHEST_TENTHS));
        if self.samples >= TRUSTED_SAMPLES {
            let expected = self.scale(estimate);
            reported = reported.clamp(expected / 2, expected.saturating_mul(2));
        }
        self.reported = self.reported - self.reported / FORGETTING + reported;
        self.estimated = self.estimated - self.estimated / FORGETTING + estimate;
        self.samples = self.samples.saturating_add(1);
    }

    fn scale(self, estimate: u64) -> u64 {
        quotient(estimate, self.reported + PRIOR, self.estimated + PRIOR)
    }

    fn to_estimate(self, tokens: u64) -> u64 {
        quotient(tokens, self.estimated + PRIOR, self.reported + PRIOR)
    }
}

/// Returns `number * over / under`, rounded.
fn quotient(number: u64, over: u64, under: u64) -> u64 {
    let exact = (u128::from(number) * u128::from(over) + u128::from(under) / 2) / u128::from(under.max(1));
    u64::try_from(exact).unwrap_or(u64::MAX)
}
