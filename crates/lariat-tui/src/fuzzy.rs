//! Fuzzy matching: files, commands and items of lists.
//!
//! The only module that uses the matcher: its generic code takes a minute to compile for each type of text.

use frizbee::{Config, Match, Matcher, Pattern, SortStrategy, radix_sort_matches};

/// So many matches are enough: a query with more is answered from the texts that come first. It bounds the time of a query
/// that nearly every path matches, because ranking a match costs far more than rejecting a path.
const MAX_MATCHES: usize = 16_384;
/// How many texts are matched between two looks at the number of matches.
const CHUNK: usize = 4_096;

/// A text that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FuzzyMatch {
    /// Its place in the list.
    pub(crate) at: usize,
    /// How well it matches; a matched character has 16 points.
    pub(crate) points: u32,
}

/// The texts that match every word of a query, best first; of equals, the one that comes first. An empty query matches
/// everything. At most about [`MAX_MATCHES`], from the start of the list.
pub(crate) fn find(query: &str, texts: &[&str]) -> Vec<FuzzyMatch> {
    // Each word is plain text, without the special characters of the matcher's own query language.
    let words: Vec<Pattern> = query.split_whitespace().map(Pattern::from).collect();
    let mut matcher = Matcher::from_patterns(&words, &Config::default().sort(SortStrategy::IndexAsc));
    let mut found: Vec<Match> = Vec::new();
    for (offset, chunk) in (0_u32..).step_by(CHUNK).zip(texts.chunks(CHUNK)) {
        let matches = matcher.match_list(chunk).into_iter();
        found.extend(matches.map(|found| Match { index: found.index + offset, ..found }));
        if found.len() >= MAX_MATCHES {
            break;
        }
    }
    // Stable: of equals, the one that comes first stays first.
    radix_sort_matches(&mut found);
    found
        .iter()
        .map(|found| FuzzyMatch { at: found.index as usize, points: u32::from(found.score) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(query: &str, texts: &[&str]) -> Vec<usize> {
        find(query, texts).iter().map(|found| found.at).collect()
    }

    #[test]
    fn every_word_has_to_match_and_special_characters_are_text() {
        let texts = ["fix the parser", "parse the fix", "!fix$", "other"];
        assert_eq!(places("fix pars", &texts), [0, 1]);
        assert_eq!(places("!fix$", &texts), [2]);
        assert_eq!(places(" ", &texts), [0, 1, 2, 3]);
        assert_eq!(places("x", &[]), [0; 0]);
    }

    #[test]
    fn finds_in_every_chunk_and_stops_after_enough_matches() {
        let mut texts = vec!["no"; 5 * CHUNK];
        texts.extend(["a long way to the match", "match"]);
        assert_eq!(places("match", &texts), [5 * CHUNK + 1, 5 * CHUNK]);
        assert_eq!(places("no", &texts).len(), MAX_MATCHES);
        assert_eq!(places("no", &texts).first(), Some(&0));
    }
}
