//! Decides which tools, triggers or reasons a handler runs for.

use regex::Regex;

/// A matcher in Claude Code's syntax: empty or `*` matches all; a plain list of names; anything else is an expression.
#[derive(Clone, Debug)]
pub struct Matcher(MatcherKind);

#[derive(Clone, Debug)]
enum MatcherKind {
    All,
    Names(Vec<String>),
    Expression(Regex),
}

impl Matcher {
    /// Parses a matcher. The error is text for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self(MatcherKind::All));
        }
        let is_plain = |letter: char| letter.is_alphanumeric() || "_- ,|".contains(letter);
        if text.chars().all(is_plain) {
            let names = text.split([',', '|']).map(|name| name.trim().to_owned());
            return Ok(Self(MatcherKind::Names(names.filter(|name| !name.is_empty()).collect())));
        }
        // The regex crate supports neither look-around nor back-references; such an expression is an error, not ignored.
        Regex::new(text).map(|regex| Self(MatcherKind::Expression(regex))).map_err(|error| error.to_string())
    }

    /// Returns the first of several names of the same thing that matches; an empty name if the matcher matches everything
    /// and there are no names.
    pub fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        match &self.0 {
            MatcherKind::All => Some(names.first().copied().unwrap_or_default()),
            MatcherKind::Names(listed) => {
                names.iter().find(|name| listed.iter().any(|one| one == *name)).copied()
            }
            MatcherKind::Expression(expression) => {
                names.iter().find(|name| expression.is_match(name)).copied()
            }
        }
    }

    /// Whether one of these names of the same thing matches.
    pub fn matches(&self, names: &[&str]) -> bool {
        self.first(names).is_some()
    }
}
