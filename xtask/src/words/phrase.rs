//! A phrase of the list, and where it occurs in a text.

use anyhow::{Context, Result, bail};

/// A sequence of words that prose should not contain, with what to write instead.
#[derive(Debug)]
pub(super) struct Phrase {
    source: String,
    advice: String,
    /// A word that makes the phrase fine when it stands before it.
    unless_after: Option<String>,
    /// For each position, the words that match.
    words: Vec<Vec<String>>,
}

impl Phrase {
    /// Reads lines of the form `PHRASE => ADVICE`.
    pub(super) fn list(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Self::parse).collect()
    }

    fn parse(line: &str) -> Result<Self> {
        let (source, advice) = line.split_once(" => ").with_context(|| format!("`{line}` has no ` => `"))?;
        let mut positions: Vec<&str> = source.split(' ').collect();
        let unless_after = positions.first().and_then(|first| first.strip_prefix('~')).map(str::to_owned);
        if unless_after.is_some() {
            positions.remove(0);
        }
        if positions.is_empty() {
            bail!("`{line}` has no words");
        }
        let words =
            positions.iter().map(|position| position.split('|').map(str::to_owned).collect()).collect();
        Ok(Self { source: source.to_owned(), advice: advice.to_owned(), unless_after, words })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn advice(&self) -> &str {
        &self.advice
    }

    pub(super) fn occurs_in(&self, text: &str) -> bool {
        let words = words(text);
        (0..words.len()).any(|start| self.matches_at(&words, start))
    }

    fn matches_at(&self, words: &[String], start: usize) -> bool {
        let follows = |word: &String| start.checked_sub(1).and_then(|before| words.get(before)) == Some(word);
        if self.unless_after.as_ref().is_some_and(follows) {
            return false;
        }
        self.words
            .iter()
            .enumerate()
            .all(|(offset, accepted)| words.get(start + offset).is_some_and(|word| accepted.contains(word)))
    }
}

/// Lower-case words, with `$` for the end of a clause.
fn words(text: &str) -> Vec<String> {
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
