//! Detects a model that repeats itself.
//!
//! Recognises the same tool call with the same result, a cycle of a few calls, a call that fails the same way
//! with trivially different arguments, different calls that fail the same way, and an edit and its reversal.
//! A fold over the results of a loop that keeps fingerprints of the newest ones. Invariant: a call whose
//! output changes is not a repetition, because polling until something is done is legitimate work; neither is a call that the end of
//! a process interrupted, because every such call fails in the same way.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::NOTE_PREFIX;
use crate::content::{Content, ToolCall};
use crate::event::LoopPattern;

/// Number of results to keep: six rounds of the longest cycle.
const HISTORY_LENGTH: usize = 24;
/// The longest cycle of calls that is detected.
const LONGEST_CYCLE: usize = 4;
/// Similar but not identical rounds are reported one round later.
const SIMILARITY_DELAY: u32 = 1;

/// The newest results of a loop, and the repetition that they show.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RepetitionDetector {
    #[serde(rename = "seen")]
    results: VecDeque<CallFingerprint>,
    #[serde(rename = "sighting")]
    pub(super) detected: DetectedRepetition,
}

/// A repetition, and how often it occurred.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DetectedRepetition {
    pub(super) pattern: LoopPattern,
    pub(super) count: u32,
}

/// Fingerprint of a tool call and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallFingerprint {
    turn: u32,
    /// Call and result.
    whole: u32,
    /// The call, without its numbers and white space.
    call: u32,
    /// The error, without numbers and white space; 0 if the call succeeded.
    error: u32,
    /// The edit of a file: path, replaced text (0: unknown), new text; all 0 if the call is not an edit.
    edit: (u32, u32, u32),
}

impl CallFingerprint {
    /// Computes the fingerprint of a result, recorded or about to be.
    pub(super) fn of(turn: u32, call: &ToolCall, content: &[Content], is_error: bool) -> Self {
        let mut whole = DefaultHasher::new();
        call.name.hash(&mut whole);
        hash_value(&call.arguments, &mut whole, hash_exact);
        is_error.hash(&mut whole);
        let mut error = DefaultHasher::new();
        for block in content {
            match block {
                Content::Text { text } if text.starts_with(NOTE_PREFIX) => {}
                Content::Text { text } => {
                    text.hash(&mut whole);
                    hash_normalised(text, &mut error);
                }
                Content::Image { data, .. } => data.hash(&mut whole),
                _ => {}
            }
        }
        let mut alike = DefaultHasher::new();
        call.name.hash(&mut alike);
        hash_value(&call.arguments, &mut alike, hash_normalised);
        Self {
            turn,
            whole: short(&whole),
            call: short(&alike),
            error: if is_error { short(&error).max(1) } else { 0 },
            edit: if is_error { (0, 0, 0) } else { edit(&call.arguments) },
        }
    }
}

impl RepetitionDetector {
    /// Returns the repetition that would exist after this result.
    pub(super) fn detect(&self, next: CallFingerprint) -> DetectedRepetition {
        let back = || std::iter::once(&next).chain(self.results.iter().rev());
        let same = back().take_while(|seen| seen.whole == next.whole).count();
        let mut found = DetectedRepetition { pattern: LoopPattern::Same, count: to_u32(same) };
        let mut consider = |pattern, count: u32| {
            if count > found.count {
                found = DetectedRepetition { pattern, count };
            }
        };
        for period in 2..=LONGEST_CYCLE {
            consider(LoopPattern::Cycle, rounds(&back, period));
        }
        if next.error != 0 {
            // Calls of one reply cannot know of each other's failure.
            let failures = || back().take_while(|seen| seen.error == next.error);
            let alike = turns(failures().take_while(|seen| seen.call == next.call));
            consider(LoopPattern::NearlySame, alike.saturating_sub(SIMILARITY_DELAY));
            consider(LoopPattern::SameError, turns(failures()).saturating_sub(SIMILARITY_DELAY));
        }
        if next.edit.0 != 0 {
            consider(
                LoopPattern::BackAndForth,
                count_reversals(back().filter(|seen| seen.edit.0 == next.edit.0)),
            );
        }
        found
    }

    /// Adds the next result.
    pub(super) fn push(&mut self, next: CallFingerprint) {
        self.detected = self.detect(next);
        if self.results.len() == HISTORY_LENGTH {
            self.results.pop_front();
        }
        self.results.push_back(next);
    }
}

/// Returns how often the newest `period` results occurred in a row, if they are not all the same.
fn rounds<'a, I: Iterator<Item = &'a CallFingerprint>>(back: &impl Fn() -> I, period: usize) -> u32 {
    let first = back().next().map(|seen| seen.whole);
    let varied = back().take(period).any(|seen| Some(seen.whole) != first);
    if !varied || back().count() < period * 2 {
        return 0;
    }
    let again = back().zip(back().skip(period)).take_while(|(one, other)| one.whole == other.whole).count();
    if again < period { 0 } else { to_u32((again + period) / period) }
}

/// Counts the turns of results that come newest first.
fn turns<'a>(results: impl Iterator<Item = &'a CallFingerprint>) -> u32 {
    let (mut count, mut last) = (0, None);
    for seen in results {
        if last != Some(seen.turn) {
            (count, last) = (count + 1, Some(seen.turn));
        }
    }
    count
}

/// Counts how often edits of one file, newest first, reversed the previous one.
fn count_reversals<'a>(edits: impl Iterator<Item = &'a CallFingerprint>) -> u32 {
    let edits: Vec<(u32, u32)> = edits.map(|seen| (seen.edit.1, seen.edit.2)).collect();
    let undoes = |window: &&[(u32, u32)]| match window {
        // The newest edit restored the text from before the previous edit: known from the replaced text, or
        // from the edit before that.
        [(from, to), (before, after), ..] if *from != 0 && *before != 0 => from == after && to == before,
        [(_, to), (_, after), (_, older)] => to == older && to != after,
        _ => false,
    };
    let mut count = 0;
    let mut rest = edits.as_slice();
    while undoes(&rest.get(..rest.len().min(3)).unwrap_or_default()) {
        count += 1;
        rest = rest.get(1..).unwrap_or_default();
    }
    count
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Half of a hash is sufficient.
fn short(hasher: &DefaultHasher) -> u32 {
    hasher.finish() as u32
}

/// Returns the fingerprint of an edit, using the argument names of common editing tools.
fn edit(arguments: &Value) -> (u32, u32, u32) {
    let text = |names: &[&str]| names.iter().find_map(|name| arguments.get(name)?.as_str());
    let hashed = |text: &str| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        short(&hasher).max(1)
    };
    let path = text(&["path", "file_path", "file", "filename"]);
    let new = text(&["new_string", "new_str", "new_text", "replacement", "content"]);
    let old = text(&["old_string", "old_str", "old_text", "search"]);
    match (path, new) {
        (Some(path), Some(new)) => (hashed(path), old.map(hashed).unwrap_or_default(), hashed(new)),
        _ => (0, 0, 0),
    }
}

fn hash_exact(text: &str, hasher: &mut DefaultHasher) {
    text.hash(hasher);
}

/// Hashes digits in a row as one digit and ignores white space.
fn hash_normalised(text: &str, hasher: &mut DefaultHasher) {
    let mut in_number = false;
    for letter in text.chars() {
        match letter {
            letter if letter.is_whitespace() => in_number = false,
            '0'..='9' if in_number => {}
            '0'..='9' => {
                in_number = true;
                '0'.hash(hasher);
            }
            letter => {
                in_number = false;
                letter.hash(hasher);
            }
        }
    }
    0xFF_u8.hash(hasher);
}

fn hash_value(value: &Value, hasher: &mut DefaultHasher, text: fn(&str, &mut DefaultHasher)) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(hasher),
        Value::Number(number) => text(&number.to_string(), hasher),
        Value::String(words) => text(words, hasher),
        Value::Array(items) => items.iter().for_each(|item| hash_value(item, hasher, text)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| {
            name.hash(hasher);
            hash_value(item, hasher, text);
        }),
    }
}

#[cfg(test)]
#[path = "repetition_tests.rs"]
mod tests;
