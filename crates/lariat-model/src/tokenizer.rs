//! Counts tokens with OpenAI's o200k tokenizer, to estimate the size of what is new in a conversation.
//!
//! Other providers do not publish their tokenizers; the context estimate corrects the difference with the
//! usage that they report. The tables are loaded with the first text. Invariant: counting takes bounded time,
//! whatever the text contains.

use bpe_openai::Tokenizer;
use lariat_core::context::{CharacterClasses, TokenCounter};

/// Number of bytes that are tokenized exactly. The rest of a longer text is estimated, scaled by how the
/// estimate compared with the exact count. Most texts take 0.1 µs per byte, a row of dashes ten times that,
/// so no text takes more than about 75 ms.
const EXACT_BYTES: usize = 64 * 1024;

/// Counts tokens the way OpenAI's newer models do.
///
/// ```
/// use lariat_core::context::TokenCounter;
/// use lariat_model::tokenizer::O200k;
///
/// assert_eq!(O200k.count("hello world"), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct O200k;

impl TokenCounter for O200k {
    fn count(&self, text: &str) -> u64 {
        bounded(bpe_openai::o200k_base(), text, EXACT_BYTES)
    }
}

fn bounded(tokenizer: &Tokenizer, text: &str, limit: usize) -> u64 {
    let (head, rest) = text.split_at(text.floor_char_boundary(limit));
    let exact = tokenizer.count(head) as u64;
    if rest.is_empty() {
        return exact;
    }
    let estimate = |text: &str| u128::from(CharacterClasses.count(text));
    let beyond = estimate(rest) * u128::from(exact) / estimate(head).max(1);
    exact.saturating_add(u64::try_from(beyond).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_match_the_published_tokenizer() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("fn main() {}", 4), ("こんにちは世界", 2)]
        {
            assert_eq!(O200k.count(text), tokens, "{text}");
        }
    }

    #[test]
    fn text_beyond_the_exact_limit_is_estimated_within_two_percent() {
        let text = "The words go on and on, 12 of them in a line.\n".repeat(400);
        let tokenizer = bpe_openai::o200k_base();
        let (exact, bounded) = (tokenizer.count(&text) as u64, bounded(tokenizer, &text, 1_000));
        assert!(bounded.abs_diff(exact) * 50 < exact, "{bounded} for {exact}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test measures wall time")]
    fn counts_a_megabyte_of_one_letter_within_five_seconds() {
        for letter in ["a", " ", "\n", "漢", "ab", "0", "-", "=", "\u{301}"] {
            let text = letter.repeat((1 << 20) / letter.len());
            let began = std::time::Instant::now();
            assert!(O200k.count(&text) > 0);
            // Generous, because this is an unoptimised build and the machine also does other work.
            assert!(began.elapsed().as_secs() < 5, "{letter:?}: {:?}", began.elapsed());
        }
    }
}
