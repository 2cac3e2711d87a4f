//! Measures how stable the prefix of requests is over a long run, and what a cache saves.
//!
//! A whole agent works for many turns with everything that could change the prefix: steering, changing plans,
//! edited files, changing facts, compaction, a pause. Every request is built as the provider would receive
//! it, compared byte for byte with the previous one, and looked up in a cache that works like the provider's
//! own.
//!
//! - `script`: the run. `cache`: the cache.

mod cache;
mod script;

pub use cache::{Block, Hit, PrefixCache, blocks};
pub use script::{Mistake, play};

/// Required median share of a request's bytes that equal the start of the previous one, in per mille.
pub const LEAST_SHARED: u64 = 970;
/// Required share of input tokens read from the cache, in per mille.
pub const LEAST_READ: u64 = 950;

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One entry per request after the first.
    pub turns: Vec<Turn>,
    /// Tokens of all requests.
    pub tokens: u64,
    /// Of those, tokens read from the cache.
    pub read: u64,
    /// Requests in addition to the conversation, which are not included: summaries.
    pub beside: u64,
}

/// What one request has in common with the previous one.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Whether a compaction preceded it.
    pub compacted: bool,
    /// Share of its bytes that equal the start of the previous request, in per mille, without cache marks,
    /// which move.
    pub shared: u64,
    /// The same including the marks.
    pub shared_with_marks: u64,
}

impl Report {
    /// The median share of requests without a preceding compaction, in per mille.
    pub fn median(&self, share: impl Fn(&Turn) -> u64) -> u64 {
        let mut shares: Vec<u64> = self.turns.iter().filter(|turn| !turn.compacted).map(share).collect();
        shares.sort_unstable();
        shares.get(shares.len() / 2).copied().unwrap_or(0)
    }

    /// Number of requests with a preceding compaction.
    pub fn compactions(&self) -> usize {
        self.turns.iter().filter(|turn| turn.compacted).count()
    }

    /// Share of input tokens read from the cache, in per mille.
    pub fn read_share(&self) -> u64 {
        self.read * 1_000 / self.tokens.max(1)
    }

    /// The goals that were missed.
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

/// Formats per mille as a percentage.
pub fn percent(per_mille: u64) -> String {
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

#[cfg(test)]
mod tests;
