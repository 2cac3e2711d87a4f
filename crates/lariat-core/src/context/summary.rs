//! Writes the summary message that replaces a compacted part of the conversation.
//!
//! A summary contains a text, the work log, the open tasks, and the range of messages that it replaces, for
//! `recall`. A later summary includes the text and the range of a summary that it replaces, so that no
//! message becomes unreachable.

use super::compaction::CompactionQuery;
use crate::message::{Origin, SharedMessage};

/// Start of a summary. Later summaries search for this text in journals, so a change affects existing
/// sessions.
const OPENING: &str = "[A part of the conversation was left out to save context. This stands for it; it is a record of what \
                       happened, not a request.]";
const TEXT_END: &str = "[End of the summary.]";
/// Percentage of the window that the work log may use, and that text from an earlier summary may use.
const SHARE_PERCENT: u64 = 5;
/// Approximate bytes per token.
const TOKEN_BYTES: u64 = 4;

/// Returns the text of a summary.
pub(super) fn text(query: &CompactionQuery, words: Option<&str>, middle: &[&SharedMessage]) -> String {
    let share = query.config.max_context_tokens as u64 * SHARE_PERCENT / 100 * TOKEN_BYTES;
    let share = usize::try_from(share).unwrap_or(usize::MAX);
    let mut text = format!("{OPENING}\n");
    let earlier: Vec<String> = middle.iter().filter_map(|message| summary_text(message)).collect();
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => push_words(&mut text, words),
        // Without a text of its own, the summary includes that of the summaries it replaces; if space is
        // short, the newest part.
        None => {
            let words: Vec<&str> = earlier.iter().filter_map(|text| words_of(text)).collect();
            let words = words.join("\n\n");
            if !words.is_empty() {
                push_words(&mut text, tail(&words, share));
            }
        }
    }
    text.push_str(&query.work.render(share));
    // A message that was never recorded (the note at the start of a truncated conversation) cannot be
    // recalled.
    let middle: Vec<&SharedMessage> =
        middle.iter().copied().filter(|message| !message.id().is_nil()).collect();
    if let (Some(first), Some(last)) = (middle.first(), middle.last()) {
        let known = earlier.iter().find_map(|text| range_of(text)).map(|(first, _)| first.to_owned());
        let first = known.filter(|_| is_summary(middle.first())).unwrap_or_else(|| first.id().short());
        let last_known = earlier.last().and_then(|text| range_of(text)).map(|(_, last)| last.to_owned());
        let last = last_known.filter(|_| is_summary(middle.last())).unwrap_or_else(|| last.id().short());
        text.push_str(&format!(
            "[To read the removed messages, use `recall` with the id `{first}..{last}`; `pattern` searches them.]\n"
        ));
    }
    text
}

fn push_words(text: &mut String, words: &str) {
    text.push_str(words);
    text.push_str(&format!("\n{TEXT_END}\n"));
}

fn is_summary(message: Option<&&SharedMessage>) -> bool {
    message.is_some_and(|message| message.as_user().is_some_and(|user| user.origin == Origin::Summary))
}

fn summary_text(message: &SharedMessage) -> Option<String> {
    is_summary(Some(&message)).then(|| message.as_llm().map(crate::message::Message::text))?
}

/// Returns the text of a summary, without the work log.
fn words_of(text: &str) -> Option<&str> {
    let (words, _) = text.split_once(TEXT_END)?;
    let (_, words) = words.split_once(OPENING)?;
    Some(words.trim()).filter(|words| !words.is_empty())
}

/// Returns the last range that a text names.
fn range_of(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.rsplit_once("the id `")?;
    rest.split_once('`')?.0.split_once("..")
}

/// Returns the end of a text, starting at a line.
fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    if from == 0 {
        return text;
    }
    let from = text.get(..from).map_or_else(|| text.ceil_char_boundary(from), str::len);
    let rest = text.get(from..).unwrap_or_default();
    rest.split_once('\n').map_or("", |(_, rest)| rest)
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
