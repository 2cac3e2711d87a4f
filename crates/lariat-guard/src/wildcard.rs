//! Text with `*` in it, which stands for any characters, none included.
//!
//! Owns the one matcher of names, commands and parameters. Linear in the text: a pattern cannot be made slow.

/// A text pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcard {
    /// What stands between the stars; a single piece has no star.
    pieces: Vec<Box<str>>,
}

impl Wildcard {
    pub(crate) fn new(pattern: &str) -> Self {
        Self { pieces: pattern.split('*').map(Box::from).collect() }
    }

    /// True without a star.
    pub(crate) fn is_literal(&self) -> bool {
        self.pieces.len() == 1
    }

    /// What stands before the first star.
    pub(crate) fn start(&self) -> &str {
        self.pieces.first().map_or("", AsRef::as_ref)
    }

    /// True when the whole text fits.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|only| **only == *text);
        };
        let Some(mut rest) = text.strip_prefix(&**first) else { return false };
        for piece in middle {
            let Some((_, after)) = rest.split_once(&**piece) else { return false };
            rest = after;
        }
        rest.ends_with(&**last)
    }
}

#[cfg(test)]
#[path = "wildcard_tests.rs"]
mod tests;
