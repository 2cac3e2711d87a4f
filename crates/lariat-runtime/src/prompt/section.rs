//! A section of a prompt: a name, a place, a text and a size limit.

use lariat_core::context::estimate_tokens;
use lariat_core::model::{PromptSection, SectionStability};

/// Default limit of a section, in tokens.
const DEFAULT_MAX_TOKENS: u64 = 8_000;
/// Approximate number of bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

/// A section of the text that a model receives besides the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The name, unique in its prompt.
    pub name: String,
    /// Where in the prompt it goes.
    pub place: SectionStability,
    /// What the model reads.
    pub text: String,
    /// Maximum size in tokens.
    pub max_tokens: u64,
    /// Where to find the whole text, in case it is truncated.
    pub whole: Option<String>,
    /// Whether it describes the state at the start of the session, so that later changes are not reported.
    pub once: bool,
}

impl Section {
    /// Creates a section of at most 8,000 tokens.
    pub fn new(name: impl Into<String>, place: SectionStability, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            place,
            text: text.into(),
            max_tokens: DEFAULT_MAX_TOKENS,
            whole: None,
            once: false,
        }
    }

    /// Sets another limit.
    #[must_use]
    pub const fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets where to find the whole text: a path, or the call of a tool.
    #[must_use]
    pub fn with_full_text_at(mut self, whole: impl Into<String>) -> Self {
        self.whole = Some(whole.into());
        self
    }

    /// Marks the section as the state at the start of the session: later changes are not reported.
    #[must_use]
    pub const fn without_updates(mut self) -> Self {
        self.once = true;
        self
    }

    /// Returns the text within the limit. If it was truncated, it ends with how much is left out and where
    /// the rest is.
    pub fn bounded_text(&self) -> String {
        let text = self.text.trim_end();
        if estimate_tokens(text) <= self.max_tokens {
            return text.to_owned();
        }
        let max_bytes =
            usize::try_from(self.max_tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        let shown = truncate(text, max_bytes);
        let left = self.text.len() - shown.len();
        let whole = self.whole.as_ref().map_or_else(String::new, |whole| format!(" Full text: {whole}."));
        let (total, name) = (self.text.len(), &self.name);
        format!("{shown}[{left} of {total} bytes of section `{name}` left out here.{whole}]")
    }

    /// Returns the section as it is sent.
    pub fn to_prompt_section(&self) -> PromptSection {
        PromptSection::new(self.name.clone(), self.place, self.bounded_text())
    }
}

/// Returns the beginning of a text: whole lines if one fits, otherwise whole characters.
pub(super) fn truncate(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let fits = text.get(..end).unwrap_or_default();
    fits.rfind('\n').and_then(|line| fits.get(..=line)).unwrap_or(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_that_fits_is_complete() {
        let section = Section::new("a", SectionStability::Static, "one\ntwo\n\n");
        assert_eq!(section.bounded_text(), "one\ntwo");
    }

    #[test]
    fn long_section_is_truncated_at_a_line_and_says_where_the_rest_is() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let section = Section::new("memory", SectionStability::SemiStatic, text.clone()).with_max_tokens(5);
        let section = section.with_full_text_at("`read_file` CLAUDE.md");
        let shown = section.bounded_text();
        assert_eq!(
            shown,
            format!(
                "line 0\nline 1\n[{} of {} bytes of section `memory` left out here. Full text: `read_file` CLAUDE.md.]",
                text.len() - 14,
                text.len()
            )
        );
    }

    #[test]
    fn truncation_never_splits_a_character() {
        for most in 0..20 {
            let section =
                Section::new("a", SectionStability::Static, "日本語".repeat(9)).with_max_tokens(most);
            assert!(section.bounded_text().contains("left out here"));
        }
    }
}
