//! The system prompt: named sections, and the text they come to.
//!
//! Owns the order of sections (static before semi-static) and where each of those two parts ends, which is where
//! services that cache by prefix are told to. Invariant: the same sections give the same bytes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How long a section of the context stays as it is, which decides where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Place {
    /// The same in many sessions: base prompt, rules, skills. First in the system prompt.
    #[default]
    Static,
    /// The same for a session: memory files, learnings, the map of the repository. Second in the system prompt.
    SemiStatic,
    /// Changes while a session goes on. Never in the system prompt: it is told in notes.
    Dynamic,
}

/// A section of a system prompt as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PromptSection {
    /// Names it; unique in its prompt.
    pub name: String,
    /// Where it stands.
    #[serde(default)]
    pub place: Place,
    /// What the model reads.
    pub text: Arc<str>,
}

impl PromptSection {
    /// A section.
    pub fn new(name: impl Into<String>, place: Place, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), place, text: text.into() }
    }
}

/// Stands between two sections.
const BETWEEN: &str = "\n\n";

/// A system prompt: a text, and where its static part ends.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SystemPrompt {
    text: Arc<str>,
    /// A character boundary of the text.
    static_end: usize,
}

impl SystemPrompt {
    /// A prompt that is static as a whole.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self { static_end: text.len(), text }
    }

    /// The prompt of sections: static ones first, then semi-static ones, each in the given order. Dynamic and empty
    /// sections are no part of it.
    pub fn of_sections(sections: &[PromptSection]) -> Self {
        let part = |place: Place| {
            let texts = sections.iter().filter(|section| section.place == place);
            let texts = texts.map(|section| section.text.trim_end()).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join(BETWEEN)
        };
        let mut text = part(Place::Static);
        let rest = part(Place::SemiStatic);
        if !text.is_empty() && !rest.is_empty() {
            text.push_str(BETWEEN);
        }
        let static_end = text.len();
        text.push_str(&rest);
        Self { text: text.into(), static_end }
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether there is nothing to read.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The static part, then the semi-static part, as far as there is something to read in them. Together they are
    /// the whole text; a service that caches by prefix is told to after each.
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
