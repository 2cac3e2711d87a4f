//! A section: a name, a place, a text, and how much of it is shown.

use lariat_core::context::estimate_tokens;
use lariat_core::model::{Place, PromptSection};

/// Tokens of a section that does not say how many it may take.
const MOST_TOKENS: u64 = 8_000;
/// Bytes a token takes, roughly.
const BYTES_PER_TOKEN: u64 = 4;

/// A section of what a model is told.
///
/// ```
/// use lariat_runtime::prompt::{Place, Section};
///
/// let rules = Section::new("rules", Place::Static, "Never push.\nNever force.\n").with_max_tokens(3);
/// assert_eq!(rules.bounded(), "Never push.\n[13 of 25 bytes of section `rules` are left out here.]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// Names it; unique in its prompt.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// What the model reads.
    pub text: String,
    /// How much of it is shown.
    pub max_tokens: u64,
    /// Where all of it is, for when not all of it is shown.
    pub whole: Option<String>,
    /// Whether it tells how things were when the session began, so that later changes of it are not told.
    pub once: bool,
}

impl Section {
    /// A section of at most 8,000 tokens.
    pub fn new(name: impl Into<String>, place: Place, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            place,
            text: text.into(),
            max_tokens: MOST_TOKENS,
            whole: None,
            once: false,
        }
    }

    /// Bounds it otherwise.
    #[must_use]
    pub const fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Says where all of it is: a path, the call of a tool.
    #[must_use]
    pub fn with_whole(mut self, whole: impl Into<String>) -> Self {
        self.whole = Some(whole.into());
        self
    }

    /// Tells how things are when the session begins; later changes are not told.
    #[must_use]
    pub const fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// What is shown of it. When that is not all, it ends with how much is left out and where the rest is.
    pub fn bounded(&self) -> String {
        let text = self.text.trim_end();
        if estimate_tokens(text) <= self.max_tokens {
            return text.to_owned();
        }
        let most = usize::try_from(self.max_tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        let shown = cut(text, most);
        let left = self.text.len() - shown.len();
        let whole = self.whole.as_ref().map_or_else(String::new, |whole| format!(" All of it: {whole}."));
        let (total, name) = (self.text.len(), &self.name);
        format!("{shown}[{left} of {total} bytes of section `{name}` are left out here.{whole}]")
    }

    /// As it is sent.
    pub fn sent(&self) -> PromptSection {
        PromptSection::new(self.name.clone(), self.place, self.bounded())
    }
}

/// The beginning of a text: whole lines where there is one that fits, whole characters otherwise.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let fits = text.get(..end).unwrap_or_default();
    fits.rfind('\n').and_then(|line| fits.get(..=line)).unwrap_or(fits)
}

#[cfg(test)]
#[path = "section_tests.rs"]
mod tests;
