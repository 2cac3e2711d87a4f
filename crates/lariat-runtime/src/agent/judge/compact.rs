//! Makes what a judge reads fit its context window.
//!
//! In two iterations: first only the conversation before the request, then the conversation and the answers. Each text goes
//! through three tiers, in the order of what they lose: the ends of long paragraphs, everything but the first line of each
//! paragraph, the middle.

use lariat_core::context::estimate_tokens;

use crate::compaction::excerpt::shorten;

/// Bytes of a paragraph that the first tier keeps.
const PARAGRAPH_BYTES: usize = 400;
/// Bytes of a line that the second tier keeps.
const LINE_BYTES: usize = 160;
/// Approximate number of bytes per token.
const TOKEN_BYTES: u64 = 4;
/// Share of the room for the conversation if it is compacted, in percent. The rest is for the answers.
const CONTEXT_PERCENT: u64 = 25;
/// An answer that was longer and has fewer tokens left can no longer be judged.
const LEAST_ANSWER_TOKENS: u64 = 100;

/// What a judge reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedText {
    pub(super) query: String,
    pub(super) context: String,
    pub(super) answers: Vec<String>,
}

/// Whether a judge can work with what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactedFit {
    /// Everything is there, or what is missing does not matter.
    Readable,
    /// Too little is left of an answer, or the request alone is too long.
    TooLarge,
}

impl JudgedText {
    /// Writes the judge's prompt.
    pub(super) fn prompt(&self) -> String {
        let block = |name: &str, text: &str| {
            // Data must not close its own block.
            let text = text.replace(&format!("</{name}"), &format!("<\\/{name}"));
            format!("<{name}>\n{text}\n</{name}>\n\n")
        };
        let mut prompt = String::new();
        if !self.context.is_empty() {
            prompt.push_str(&block("conversation", &self.context));
        }
        prompt.push_str(&block("request", &self.query));
        for (index, answer) in self.answers.iter().enumerate() {
            prompt.push_str(&format!("Answer {}:\n", index + 1));
            prompt.push_str(&block("answer", answer));
        }
        prompt.push_str(&format!("Which of the {} answers is the best?", self.answers.len()));
        prompt
    }

    fn tokens(&self) -> u64 {
        estimate_tokens(&self.prompt())
    }

    /// Compacts until the prompt has at most `room` tokens.
    pub(super) fn fit(self, room: u64) -> (Self, CompactedFit) {
        if self.tokens() <= room {
            return (self, CompactedFit::Readable);
        }
        // First iteration: only the conversation. The answers stay as they are.
        let without_context = Self { context: String::new(), ..self.clone() };
        let left = room.saturating_sub(without_context.tokens());
        let first = Self { context: compact(&self.context, left), ..self.clone() };
        if first.tokens() <= room {
            return (first, CompactedFit::Readable);
        }
        // Second iteration: each text by itself.
        let frame =
            Self { context: String::new(), answers: vec![String::new(); self.answers.len()], ..self.clone() };
        let left = room.saturating_sub(frame.tokens());
        let for_context = (left * CONTEXT_PERCENT / 100).min(estimate_tokens(&self.context));
        let share = (left - for_context) / (self.answers.len() as u64).max(1);
        let answers: Vec<String> = self.answers.iter().map(|answer| compact(answer, share)).collect();
        let is_readable = |(answer, left): (&String, &String)| {
            let tokens = estimate_tokens(left);
            tokens >= LEAST_ANSWER_TOKENS || tokens >= estimate_tokens(answer)
        };
        let readable = self.answers.iter().zip(&answers).all(is_readable);
        let second = Self { context: compact(&self.context, for_context), answers, query: self.query };
        let fit =
            if readable && second.tokens() <= room { CompactedFit::Readable } else { CompactedFit::TooLarge };
        (second, fit)
    }
}

/// Compacts a text to at most `tokens`, tier by tier.
fn compact(text: &str, tokens: u64) -> String {
    let fits = |text: &str| estimate_tokens(text) <= tokens;
    if fits(text) {
        return text.to_owned();
    }
    let tiers: [fn(&str) -> String; 2] = [truncate_tails, first_lines];
    if let Some(compacted) = tiers.iter().map(|tier| tier(text)).find(|compacted| fits(compacted)) {
        return compacted;
    }
    hard_limit(&first_lines(text), tokens)
}

/// Keeps the beginning of each paragraph.
fn truncate_tails(text: &str) -> String {
    let cut = |paragraph: &str| {
        let end = paragraph.floor_char_boundary(PARAGRAPH_BYTES);
        let kept = paragraph.get(..end).unwrap_or(paragraph);
        if end < paragraph.len() { format!("{kept}…") } else { kept.to_owned() }
    };
    text.split("\n\n").map(cut).collect::<Vec<_>>().join("\n\n")
}

/// Keeps the first line of each paragraph, and who wrote it.
fn first_lines(text: &str) -> String {
    let mut kept = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut lines = paragraph.lines();
        let author = lines.next().unwrap_or_default();
        // The first line of a message names its author.
        let line = match author.starts_with('[') && author.ends_with(']') {
            true => format!("{author} {}", lines.next().unwrap_or_default()),
            false => author.to_owned(),
        };
        let end = line.floor_char_boundary(LINE_BYTES);
        kept.push(line.get(..end).unwrap_or(&line).trim_end().to_owned());
    }
    kept.join("\n")
}

/// Keeps the beginning and the end.
fn hard_limit(text: &str, tokens: u64) -> String {
    let mut bytes = usize::try_from(tokens * TOKEN_BYTES).unwrap_or(usize::MAX);
    let mut cut = shorten(text, bytes);
    while estimate_tokens(&cut) > tokens && bytes > 0 {
        bytes = bytes * 3 / 4;
        cut = if bytes == 0 { String::new() } else { shorten(text, bytes) };
    }
    cut
}
