//! Reproducible randomness: everything random in a simulation derives from one seed.
//!
//! [`SeededRandom`] is the generator; [`SeededEntropy`] implements the core's entropy trait with it. Neither reads
//! system entropy. Invariant: the same seed and the same calls give the same bits, on every machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lariat_core::clock::EntropySource;

/// Step of splitmix64: odd, so the state visits every value.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Finalizer of splitmix64: neighbouring states give unrelated outputs.
const fn mix(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A small, fast, reproducible generator (splitmix64).
///
/// ```
/// use lariat_test::SeededRandom;
///
/// let mut dice = SeededRandom::new(7);
/// let mut same = SeededRandom::new(7);
/// assert_eq!(dice.below(6), same.below(6));
/// ```
#[derive(Clone, Debug)]
pub struct SeededRandom {
    seed: u64,
    state: u64,
}

impl SeededRandom {
    /// Creates a generator; the same seed gives the same sequence.
    pub const fn new(seed: u64) -> Self {
        // Mixed once, so that seeds 1, 2, 3 do not produce the same sequence shifted by a few steps.
        Self { seed, state: mix(seed ^ GAMMA) }
    }

    /// The seed of this generator.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Sixty-four random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number in `0..limit`, or 0 if the limit is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        // Multiply-shift: the bias is at most limit / 2^64, far below what a simulation can see.
        ((self.bits() as u128 * limit as u128) >> 64) as u64
    }

    /// An index into a list of `len` elements, or 0 if it is empty.
    pub const fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of 100 cases. Always takes one draw, so that changing a rate does not shift what
    /// follows.
    pub const fn chance(&mut self, percent: u8) -> bool {
        self.below(100) < percent as u64
    }

    /// A random item, or `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.index(items.len());
        items.get(at)
    }

    /// Creates an independent generator for a part of the simulation.
    ///
    /// It depends only on the seed and the label, not on earlier draws: a new draw in one part does not
    /// affect another part.
    pub fn fork(&self, label: &str) -> Self {
        // FNV-1a over the label.
        let hash = label.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self::new(mix(self.seed.wrapping_add(GAMMA)) ^ hash)
    }
}

/// Implements the core's entropy trait with a seed. Clones share one sequence.
#[derive(Clone, Debug)]
pub struct SeededEntropy {
    state: Arc<AtomicU64>,
}

impl SeededEntropy {
    /// Creates the entropy source of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(AtomicU64::new(mix(seed ^ GAMMA))) }
    }
}

impl EntropySource for SeededEntropy {
    fn bits(&self) -> u64 {
        mix(self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_neighbouring_seeds_differ() {
        let draw = |seed| {
            let mut random = SeededRandom::new(seed);
            (0..100).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        let (one, two) = (draw(1), draw(2));
        assert!(one.iter().all(|bits| !two.contains(bits)));
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut random = SeededRandom::new(3);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[random.index(7)] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }

    #[test]
    fn chance_follows_its_percentage() {
        let mut random = SeededRandom::new(4);
        let hits = (0..10_000).filter(|_| random.chance(25)).count();
        assert!((2_300..2_700).contains(&hits), "{hits}");
        assert!(!(0..1_000).any(|_| random.chance(0)));
        assert!((0..1_000).all(|_| random.chance(100)));
    }

    #[test]
    fn a_fork_depends_on_seed_and_label_and_not_on_earlier_draws() {
        let mut random = SeededRandom::new(5);
        let before = random.fork("model").bits();
        random.bits();
        assert_eq!(random.fork("model").bits(), before);
        assert_ne!(random.fork("store").bits(), before);
        assert_ne!(SeededRandom::new(6).fork("model").bits(), before);
    }

    #[test]
    fn clones_of_an_entropy_source_share_one_sequence_equal_to_the_generators() {
        let source = SeededEntropy::new(9);
        let clone = source.clone();
        let drawn = [source.bits(), clone.bits(), source.bits()];
        let mut random = SeededRandom::new(9);
        assert_eq!(drawn, [random.bits(), random.bits(), random.bits()]);
    }
}
