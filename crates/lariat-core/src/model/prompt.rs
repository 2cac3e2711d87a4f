//! Builds the system prompt from named sections.
//!
//! Static sections come before semi-static ones. The end of each of the two parts is a cache breakpoint for
//! providers that cache by prefix. Invariant: the same sections give the same bytes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How often a section of the context changes, which decides its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SectionStability {
    /// Identical in many sessions: base prompt, rules, skills. First in the system prompt.
    #[default]
    Static,
    /// Constant within a session: memory files, learnings, the repository map. Second in the system prompt.
    SemiStatic,
    /// Changes during a session. Never in the system prompt: the run sends it in notes.
    Dynamic,
}

/// A section of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PromptSection {
    /// Name; unique in its prompt.
    pub name: String,
    /// How often the section changes.
    #[serde(default)]
    pub place: SectionStability,
    /// Text for the model.
    pub text: Arc<str>,
}

impl PromptSection {
    /// Creates a section.
    pub fn new(name: impl Into<String>, place: SectionStability, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), place, text: text.into() }
    }
}

/// Separator between two sections.
const SEPARATOR: &str = "\n\n";

/// The text of a system prompt, and where its static part ends.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SystemPrompt {
    text: Arc<str>,
    /// Byte offset at a character boundary of the text.
    static_end: usize,
}

impl SystemPrompt {
    /// Creates a prompt that is entirely static.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self { static_end: text.len(), text }
    }

    /// Joins sections: static ones first, then semi-static ones, each in the given order. Skips dynamic and
    /// empty sections.
    pub fn of_sections(sections: &[PromptSection]) -> Self {
        let part = |place: SectionStability| {
            let texts = sections.iter().filter(|section| section.place == place);
            let texts = texts.map(|section| section.text.trim_end()).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join(SEPARATOR)
        };
        let mut text = part(SectionStability::Static);
        let rest = part(SectionStability::SemiStatic);
        if !text.is_empty() && !rest.is_empty() {
            text.push_str(SEPARATOR);
        }
        let static_end = text.len();
        text.push_str(&rest);
        Self { text: text.into(), static_end }
    }

    /// Returns the whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the prompt has no visible text.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns the static and the semi-static part, skipping blank ones. Together they are the whole text;
    /// the end of each is a cache breakpoint.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let (first, second) = self.text.split_at_checked(self.static_end).unwrap_or((&self.text, ""));
        let parts = if first.trim().is_empty() || second.trim().is_empty() {
            [self.as_str(), ""]
        } else {
            [first, second]
        };
        parts.into_iter().filter(|part| !part.trim().is_empty())
    }
}

impl Default for SystemPrompt {
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

impl AsRef<str> for SystemPrompt {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl From<&str> for SystemPrompt {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for SystemPrompt {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Arc<str>> for SystemPrompt {
    fn from(text: Arc<str>) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
