//! Matches texts with patterns in which `*` stands for any characters, including none.
//!
//! Names, commands and parameters share this matcher. It runs in linear time, so that no pattern can make it slow.

/// A text pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcard {
    /// The pieces between the stars; a single piece means no star.
    pieces: Vec<Box<str>>,
}

impl Wildcard {
    pub(crate) fn new(pattern: &str) -> Self {
        Self { pieces: pattern.split('*').map(Box::from).collect() }
    }

    /// Whether the pattern has no star.
    pub(crate) fn is_literal(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Returns the part before the first star.
    pub(crate) fn start(&self) -> &str {
        self.pieces.first().map_or("", AsRef::as_ref)
    }

    /// Whether the pattern matches the whole text.
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
mod tests {
    use super::Wildcard;

    #[test]
    fn star_matches_any_characters_anywhere() {
        for (pattern, text, fits) in [
            ("ls", "ls", true),
            ("ls", "ls -l", false),
            ("ls*", "lsof", true),
            ("*", "", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "a b b c", true),
            ("a*b*c", "ac", false),
            ("ab*bc", "abc", false),
            ("* --version", "node --version", true),
            ("**", "x", true),
            ("a*", "ba", false),
        ] {
            assert_eq!(Wildcard::new(pattern).matches(text), fits, "{pattern} on {text}");
        }
    }
}
