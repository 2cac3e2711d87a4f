//! A real tokenizer for the estimate of what is new in a conversation: OpenAI's o200k.
//!
//! Other services' tokenizers are not public; what their reports teach makes up for the difference. Its tables are
//! read with the first text, not before. Invariant: the time for a text is bounded, whatever is in it.

use bpe_openai::Tokenizer;
use lariat_core::context::{CharacterClasses, TokenCounter};

/// Bytes that are counted exactly; what is longer goes on by estimate, corrected by what was counted. Most texts take
/// 0.1 µs a byte, a row of dashes ten times that: so no text takes more than some 75 ms.
const EXACT_BYTES: usize = 64 * 1024;

/// Counts as the newer models of OpenAI do.
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
    fn it_counts_as_the_published_tokenizer_does() {
        for (text, tokens) in [("", 0), ("hello world", 2), ("fn main() {}", 4), ("こんにちは世界", 2)]
        {
            assert_eq!(O200k.count(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_counted_about_right() {
        let text = "The words go on and on, 12 of them in a line.\n".repeat(400);
        let tokenizer = bpe_openai::o200k_base();
        let (exact, bounded) = (tokenizer.count(&text) as u64, bounded(tokenizer, &text, 1_000));
        assert!(bounded.abs_diff(exact) * 50 < exact, "{bounded} for {exact}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is about time on the wall")]
    fn a_megabyte_of_one_letter_is_counted_in_reasonable_time() {
        for letter in ["a", " ", "\n", "漢", "ab", "0", "-", "=", "\u{301}"] {
            let text = letter.repeat((1 << 20) / letter.len());
            let began = std::time::Instant::now();
            assert!(O200k.count(&text) > 0);
            // Generous: this is a build without optimisation, on a machine that does other work, too.
            assert!(began.elapsed().as_secs() < 5, "{letter:?}: {:?}", began.elapsed());
        }
    }
}
