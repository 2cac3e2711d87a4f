//! How stable the beginning of requests is over a long run, and what that saves.
//!
//! A whole agent works for many turns with everything that could disturb the beginning of its requests: steering, plans that
//! change, files that are edited, facts that change, compaction, a pause. Every request is built as the service would get
//! it; compared with the one before, byte for byte; and put before a cache that works like the service's own.
//!
//! - `script`: the run. `cache`: the cache.

mod cache;
mod script;

pub use cache::{Block, Hit, PrefixCache, blocks};
pub use script::{Mistake, play};

/// The share of a request's bytes that must equal the beginning of the one before, in per mille, in the median.
pub const LEAST_SHARED: u64 = 970;
/// The share of input tokens that must be read from the cache, in per mille.
pub const LEAST_READ: u64 = 950;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each request after the first.
    pub turns: Vec<Turn>,
    /// Tokens of all requests.
    pub tokens: u64,
    /// Of those, read from the cache.
    pub read: u64,
    /// Requests beside the conversation, which are not counted: summaries.
    pub beside: u64,
}

/// What one request has in common with the one before.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Whether room was made before it.
    pub compacted: bool,
    /// Share of its bytes that equal the beginning of the one before, in per mille; cache marks, which move, left out.
    pub shared: u64,
    /// The same with the marks.
    pub shared_with_marks: u64,
}

impl Report {
    /// The median share of requests before which no room was made, in per mille.
    pub fn median(&self, share: impl Fn(&Turn) -> u64) -> u64 {
        let mut shares: Vec<u64> = self.turns.iter().filter(|turn| !turn.compacted).map(share).collect();
        shares.sort_unstable();
        shares.get(shares.len() / 2).copied().unwrap_or(0)
    }

    /// Requests before which room was made.
    pub fn compactions(&self) -> usize {
        self.turns.iter().filter(|turn| turn.compacted).count()
    }

    /// Share of input tokens that were read from the cache, in per mille.
    pub fn read_share(&self) -> u64 {
        self.read * 1_000 / self.tokens.max(1)
    }

    /// What does not hold, in words.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let shared = self.median(|turn| turn.shared);
        if shared < LEAST_SHARED {
            faults.push(format!("the median request shares {} with the one before", percent(shared)));
        }
        if self.read_share() < LEAST_READ {
            faults
                .push(format!("{} of the input tokens are read from the cache", percent(self.read_share())));
        }
        faults
    }
}

/// Per mille in words.
pub fn percent(per_mille: u64) -> String {
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
