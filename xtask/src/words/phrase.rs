//! A phrase of the list, and where it occurs in a text.

use anyhow::{Context, Result, bail};

/// A sequence of words that prose should not contain, with what to write instead.
#[derive(Debug)]
pub(super) struct Phrase {
    source: String,
    advice: String,
    /// A word that makes the phrase acceptable when it comes right before.
    unless_after: Option<String>,
    positions: Vec<Position>,
}

/// The words that match at one position of a phrase.
#[derive(Debug)]
enum Position {
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
}

impl Position {
    fn parse(text: &str) -> Self {
        let words = |text: &str| text.split('|').map(str::to_owned).collect();
        match text.strip_prefix('!') {
            Some(rest) => Self::NoneOf(words(rest)),
            None => Self::OneOf(words(text)),
        }
    }

    fn accepts(&self, word: &String) -> bool {
        match self {
            Self::OneOf(words) => words.contains(word),
            Self::NoneOf(words) => !words.contains(word),
        }
    }
}

impl Phrase {
    /// Reads lines of the form `PHRASE => ADVICE`.
    pub(super) fn list(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Self::parse).collect()
    }

    fn parse(line: &str) -> Result<Self> {
        let (source, advice) = line.split_once(" => ").with_context(|| format!("`{line}` has no ` => `"))?;
        let (unless_after, phrase) = match source.strip_prefix('~').and_then(|rest| rest.split_once(' ')) {
            Some((word, phrase)) => (Some(word.to_owned()), phrase),
            None => (None, source),
        };
        if phrase.trim().is_empty() {
            bail!("`{line}` has no words");
        }
        let positions = phrase.split(' ').map(Position::parse).collect();
        Ok(Self { source: source.to_owned(), advice: advice.to_owned(), unless_after, positions })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn advice(&self) -> &str {
        &self.advice
    }

    /// Whether the phrase occurs in a text, given as its [`words`].
    pub(super) fn occurs_in(&self, words: &[String]) -> bool {
        (0..words.len()).any(|start| self.matches_at(words, start))
    }

    fn matches_at(&self, words: &[String], start: usize) -> bool {
        let before = start.checked_sub(1).and_then(|before| words.get(before));
        if before.is_some() && before == self.unless_after.as_ref() {
            return false;
        }
        let mut positions = (start..).zip(&self.positions);
        positions.all(|(at, position)| words.get(at).is_some_and(|word| position.accepts(word)))
    }
}

/// Lower-case words, with `$` for the end of a clause.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().chain(std::iter::once('.')) {
        if c.is_alphanumeric() || c == '\'' {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if ".,;:!?".contains(c) {
            words.push("$".to_owned());
        }
    }
    words
}
