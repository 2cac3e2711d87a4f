//! Compacts random conversations with every strategy, and checks the requests with every protocol's
//! validator.
//!
//! An applied compaction must be valid for every provider, save a fifth, and keep what must stay; undoing it
//! must restore the conversation, and recall must return dropped messages exactly. Then the conversation
//! continues and is compacted again, with the same rules: after undoing both, it is as if there had been
//! none. A rejection must be due to too little savings, not because a strategy touched what it must not
//! (`rules`). Planted mistakes must be noticed (`mistake`).
//! Invariant: everything is a function of the seed.

mod mistake;
mod rules;
mod scene;
mod strategy;

use std::fmt;

use lariat_core::context::AcceptedCompaction;
use lariat_core::event::CompactionEdit;
use lariat_test::SeededRandom;

pub use mistake::Mistake;
pub use strategy::Strategy;

use self::rules::AppliedCompaction;
use self::scene::Scene;
use super::histories::Histories;

/// A violated rule.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Seed of the conversation.
    pub seed: u64,
    /// The compaction strategy.
    pub strategy: Strategy,
    /// Description of the violation.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, strategy, what } = self;
        write!(formatter, "seed {seed}, {strategy:?}: {what}")
    }
}

/// Totals of the checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages before compaction.
    pub messages: u64,
    /// Compactions that were applied.
    pub applied: u64,
    /// Of these, the number on a conversation that was already compacted.
    pub again: u64,
    /// Compactions that were rejected because they save too little.
    pub refused: u64,
    /// Requests that were validated.
    pub requests: u64,
    /// Messages that were recalled.
    pub recalled: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.applied += other.applied;
        self.again += other.again;
        self.refused += other.refused;
        self.requests += other.requests;
        self.recalled += other.recalled;
    }
}

/// Generates conversations and compacts them. Create it once: it decodes the replies that conversations
/// consist of.
#[derive(Debug, Default)]
pub struct Compactions {
    histories: Histories,
}

impl Compactions {
    /// Compacts the conversation of a seed with every strategy and returns the violations. Makes the planted
    /// mistake if given.
    pub fn check(&self, seed: u64, mistake: Option<Mistake>) -> (Tally, Vec<Problem>) {
        let scene = Scene::new(&self.histories, seed);
        let mut tally = Tally { messages: scene.transcript.len() as u64, ..Tally::default() };
        let mut problems = Vec::new();
        for strategy in Strategy::ALL {
            let mut dice = SeededRandom::new(seed).fork(strategy.name());
            let checked = self.compact_twice(&scene, strategy, mistake, &mut dice, &mut tally);
            problems.extend(checked.err().map(|what| Problem { seed, strategy, what }));
        }
        (tally, problems)
    }

    fn compact_twice(
        &self,
        scene: &Scene,
        strategy: Strategy,
        mistake: Option<Mistake>,
        dice: &mut SeededRandom,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let Some(edits) = self.compact(scene, strategy, mistake, dice, tally)? else { return Ok(()) };
        let again = scene.again(&self.histories, &edits, dice);
        let strategy = dice.pick(&Strategy::ALL).copied().unwrap_or(strategy);
        let applied = self.compact(&again, strategy, mistake, dice, tally);
        let applied = applied.map_err(|what| format!("again, {strategy:?}: {what}"))?;
        tally.again += u64::from(applied.is_some());
        Ok(())
    }

    /// Compacts once and returns the applied compaction.
    fn compact(
        &self,
        scene: &Scene,
        strategy: Strategy,
        mistake: Option<Mistake>,
        dice: &mut SeededRandom,
        tally: &mut Tally,
    ) -> Result<Option<Vec<CompactionEdit>>, String> {
        let query = scene.query(strategy.cause(), dice);
        let mut compacted = strategy.propose(&query, dice);
        scene.name(&mut compacted, dice);
        if let Some(mistake) = mistake {
            mistake.propose(scene, &mut compacted);
        }
        let judged = match mistake.filter(|mistake| mistake.skips_judgement()) {
            Some(mistake) => mistake.apply(scene, &compacted),
            None => compacted.apply_if_acceptable(&scene.transcript, &query.config, &query.pins),
        };
        let AcceptedCompaction { transcript, .. } = match judged {
            Ok(accepted) => accepted,
            Err(reason) => {
                tally.refused += 1;
                return rules::refusal(&reason).map(|()| None);
            }
        };
        tally.applied += 1;
        let applied =
            AppliedCompaction { scene, query: &query, edits: &compacted.edits, transcript: &transcript };
        applied.is_smaller()?;
        applied.keeps_what_must_stay()?;
        applied.keeps_replies_and_results()?;
        tally.requests += applied.is_valid_everywhere(&self.histories)?;
        applied.is_undone_exactly(mistake)?;
        tally.recalled += applied.is_recalled_exactly(mistake)?;
        Ok(Some(compacted.edits))
    }
}

#[cfg(test)]
mod tests {
    use super::{Compactions, Mistake};

    #[test]
    fn no_compaction_of_a_random_conversation_violates_a_rule() {
        let compactions = Compactions::default();
        let (mut applied, mut again) = (0, 0);
        for seed in 0..60 {
            let (tally, problems) = compactions.check(seed, None);
            assert!(problems.is_empty(), "{}", problems[0]);
            applied += tally.applied;
            again += tally.again;
        }
        assert!(applied > 100 && again > 50, "{applied} were applied, {again} of them again");
    }

    #[test]
    fn every_mistake_is_noticed() {
        let compactions = Compactions::default();
        for mistake in Mistake::ALL {
            let noticed = (0..60).any(|seed| !compactions.check(seed, Some(mistake)).1.is_empty());
            assert!(noticed, "{mistake:?}");
        }
    }
}
