//! The compaction strategies.

use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::context::{
    CompactionPlan, CompactionProposal, CompactionQuery, CompactionStrategy, TieredCompaction,
};
use lariat_core::event::CompactionCause;
use lariat_core::model::{ModelConfig, ProviderError};
use lariat_runtime::compaction::SummarisingCompaction;
use lariat_test::{Reply, ScriptedModel, SeededRandom, VirtualClock};

use crate::wire::corpus::words;

/// A compaction strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Only the first tier: clears old outputs.
    Clearing,
    /// Only the last tier: drops the middle.
    Dropping,
    /// The tiers without a model, concurrently with a run.
    Tiered,
    /// The tiers without a model, while a run waits.
    Emergency,
    /// The tiers without a model, after an overflow.
    Overflow,
    /// All tiers, with a model that summarizes, fails or returns nonsense.
    Summarising,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 6] =
        [Self::Clearing, Self::Dropping, Self::Tiered, Self::Emergency, Self::Overflow, Self::Summarising];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Clearing => "clearing",
            Self::Dropping => "dropping",
            Self::Tiered => "tiered",
            Self::Emergency => "emergency",
            Self::Overflow => "overflow",
            Self::Summarising => "summarising",
        }
    }

    pub(super) const fn cause(self) -> CompactionCause {
        match self {
            Self::Clearing | Self::Tiered => CompactionCause::Threshold,
            Self::Dropping | Self::Summarising => CompactionCause::Manual,
            Self::Emergency => CompactionCause::Emergency,
            Self::Overflow => CompactionCause::Overflow,
        }
    }

    pub(super) fn propose(self, query: &CompactionQuery, dice: &mut SeededRandom) -> CompactionProposal {
        let mut plan = CompactionPlan::new(query);
        let strategy: Arc<dyn CompactionStrategy> = match self {
            Self::Clearing => {
                plan.clear_outputs();
                return CompactionProposal { edits: plan.edits(None), ..CompactionProposal::default() };
            }
            Self::Dropping => {
                plan.summarise_middle();
                let said = dice.chance(50).then(|| words(dice, 30));
                return CompactionProposal {
                    edits: plan.edits(said.as_deref()),
                    ..CompactionProposal::default()
                };
            }
            Self::Tiered | Self::Emergency | Self::Overflow => Arc::new(TieredCompaction),
            Self::Summarising => Arc::new(summariser(dice)),
        };
        // The scripted model never waits.
        strategy.compact(query.clone(), CancellationToken::new()).now_or_never().unwrap_or_default()
    }
}

/// A model that writes summaries, or fails to.
fn summariser(dice: &mut SeededRandom) -> SummarisingCompaction {
    let reply = match dice.index(6) {
        0 => Reply::text(" "),
        1 => Reply::error(ProviderError::Api("overloaded".into())),
        2 => Reply::text(words(dice, 40)),
        3 => Reply::text("word ".repeat(20_000)),
        _ => Reply::text(format!("## {}\n- {}", words(dice, 2), words(dice, 20))),
    };
    let mut model = ModelConfig::default();
    model.context_window = 2_000 + dice.below(100_000);
    let provider = Arc::new(ScriptedModel::new([]).with_finale(reply));
    SummarisingCompaction::new(provider, Arc::new(model)).with_clock(VirtualClock::new().shared())
}
