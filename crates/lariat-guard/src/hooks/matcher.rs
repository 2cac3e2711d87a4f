//! Which tools, triggers or reasons a handler wants to hear of.

use regex::Regex;

/// A matcher of the contract: empty or `*` for all; a plain list of names; anything else is an expression.
#[derive(Clone, Debug)]
pub struct Matcher(Kind);

#[derive(Clone, Debug)]
enum Kind {
    All,
    Names(Vec<String>),
    Expression(Regex),
}

impl Matcher {
    /// Reads a matcher; the error is told to the person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self(Kind::All));
        }
        let is_plain = |letter: char| letter.is_alphanumeric() || "_- ,|".contains(letter);
        if text.chars().all(is_plain) {
            let names = text.split([',', '|']).map(|name| name.trim().to_owned());
            return Ok(Self(Kind::Names(names.filter(|name| !name.is_empty()).collect())));
        }
        // The crate knows no look-around and no back-references; such an expression is told, not ignored.
        Regex::new(text).map(|regex| Self(Kind::Expression(regex))).map_err(|error| error.to_string())
    }

    /// True when one of these names of the same thing matches.
    pub fn matches(&self, names: &[&str]) -> bool {
        match &self.0 {
            Kind::All => true,
            Kind::Names(listed) => names.iter().any(|name| listed.iter().any(|one| one == name)),
            Kind::Expression(expression) => names.iter().any(|name| expression.is_match(name)),
        }
    }
}
