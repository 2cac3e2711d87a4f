//! A prompt cache that works as Anthropic documents its own: it stores prefixes of requests, up to marked
//! blocks.
//!
//! A request reads the longest stored prefix, looking back at most twenty blocks from each of its marks;
//! reading renews an entry for five minutes. Then the prefix up to each mark is stored, too.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// Number of blocks before a mark that are checked.
const LOOKBACK: usize = 20;
/// Lifetime of an entry after its last use, in milliseconds.
const TTL: u64 = 5 * 60 * 1_000;
/// Maximum number of marks in a request.
const MOST_MARKS: usize = 4;
/// Approximate bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

/// A block of a request: a tool, a part of the system prompt, a part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its content without the mark.
    pub text: String,
    /// Whether the prefix up to here is to be stored.
    pub marked: bool,
}

/// What a request got from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Tokens of the request.
    pub tokens: u64,
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written to the cache.
    pub written: u64,
}

/// The cache: the expiry times of prefixes, by their hash.
#[derive(Clone, Debug, Default)]
pub struct PrefixCache(HashMap<u64, u64>);

impl PrefixCache {
    /// Looks up a request at a time in milliseconds and stores its prefixes.
    ///
    /// # Errors
    /// Fails if the request has more marks than the provider accepts.
    pub fn ask(&mut self, blocks: &[Block], now: u64) -> Result<Hit, String> {
        let marks: Vec<usize> =
            blocks.iter().enumerate().filter(|(_, block)| block.marked).map(|(at, _)| at).collect();
        if marks.len() > MOST_MARKS {
            return Err(format!("{} marks, but the provider accepts {MOST_MARKS}", marks.len()));
        }
        let mut hasher = DefaultHasher::new();
        let mut tokens = 0;
        let beginnings: Vec<(u64, u64)> = blocks
            .iter()
            .map(|block| {
                block.text.hash(&mut hasher);
                tokens += (block.text.len() as u64).div_ceil(BYTES_PER_TOKEN);
                (hasher.finish(), tokens)
            })
            .collect();
        self.0.retain(|_, ends| *ends > now);
        let seen = marks.iter().rev().find_map(|mark| {
            let back = beginnings.get(mark.saturating_sub(LOOKBACK)..=*mark)?.iter().rev();
            back.copied().find(|(beginning, _)| self.0.contains_key(beginning))
        });
        let read = seen.map_or(0, |(_, tokens)| tokens);
        let mut up_to = 0;
        for (beginning, tokens) in marks.iter().filter_map(|mark| beginnings.get(*mark)) {
            self.0.insert(*beginning, now + TTL);
            up_to = *tokens;
        }
        if let Some((beginning, _)) = seen {
            self.0.insert(beginning, now + TTL);
        }
        Ok(Hit { tokens, read, written: up_to.saturating_sub(read) })
    }
}

/// The blocks of a request to Anthropic, in the order of its cache: tools, system prompt, messages.
pub fn blocks(body: &Value) -> Vec<Block> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found: Vec<Block> = list(body, "tools").into_iter().map(|tool| block("tool", tool)).collect();
    found.extend(list(body, "system").into_iter().map(|part| block("system", part)));
    for message in list(body, "messages") {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        found.extend(list(&message, "content").into_iter().map(|part| block(role, part)));
    }
    found
}

fn block(of: &str, mut value: Value) -> Block {
    let mark = value.as_object_mut().and_then(|fields| fields.remove("cache_control"));
    Block { text: format!("{of}{value}"), marked: mark.is_some() }
}
