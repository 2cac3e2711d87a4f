//! Splits source text into terms, so that a file can be compared with the words of a task.
//!
//! A term is one word of an identifier or of prose, in lower case and without its ending: `SessionStore` and
//! "stores of a session" share two terms. Terms are compared by hash.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of parts of a file that are counted separately.
pub(crate) const PARTS: usize = 4;
/// The names of definitions.
const DEFINITIONS: usize = 0;
/// The comments.
const COMMENTS: usize = 1;
/// The whole text.
const TEXT: usize = 2;
/// The comment at the start of the file.
const HEAD: usize = 3;
/// Maximum number of different terms of one file.
const MAX_TERMS: usize = 4_000;
/// Minimum length of a word, in bytes, from which endings are removed.
const MIN_STEM: usize = 5;

/// Words that say nothing about a topic, without their endings.
const STOP: &[&str] = &[
    "the", "an", "and", "or", "of", "to", "in", "on", "for", "is", "are", "be", "with", "that", "this", "it",
    "as", "by", "at", "from", "not", "no", "than", "what", "which", "its", "one", "so", "also", "more",
    "into", "out", "up", "only", "own", "us", "we", "our", "has", "have", "had", "was", "were", "will",
    "can", "may", "must", "do", "does", "did", "if", "when", "where", "how", "all", "any", "each", "other",
    "such", "then", "them", "they", "their", "there", "these", "those", "after", "before", "again", "over",
    "now", "say", "set", "use", "new", "let", "make", "made", "get", "same", "two",
];

/// How often each term occurs in each part of a file.
#[derive(Debug, Default)]
pub(crate) struct FileTerms {
    /// Sorted by term.
    counts: Vec<(u32, [u16; PARTS])>,
    /// Number of terms in each part.
    pub(crate) lengths: [u32; PARTS],
}

impl FileTerms {
    /// Counts the terms of a source file. `names` are the names of its definitions.
    pub(crate) fn of<'n>(source: &[u8], names: impl Iterator<Item = &'n str>) -> Self {
        let text = String::from_utf8_lossy(source);
        let mut counting = TermCounter::default();
        names.for_each(|name| counting.add(DEFINITIONS, name));
        let mut is_head = true;
        for line in text.lines() {
            let comment = comment(line);
            if let Some(comment) = comment {
                counting.add(COMMENTS, comment);
            }
            is_head &= comment.is_some();
            if let Some(comment) = comment.filter(|_| is_head) {
                counting.add(HEAD, comment);
            }
            counting.add(TEXT, line);
        }
        let mut counts: Vec<_> = counting.counts.into_iter().collect();
        counts.sort_unstable();
        Self { counts, lengths: counting.lengths }
    }

    /// Returns how often a term occurs in each part.
    pub(crate) fn count(&self, term: u32) -> Option<[u16; PARTS]> {
        let place = self.counts.binary_search_by_key(&term, |(known, _)| *known).ok()?;
        self.counts.get(place).map(|(_, counts)| *counts)
    }
}

#[derive(Default)]
struct TermCounter {
    counts: HashMap<u32, [u16; PARTS]>,
    lengths: [u32; PARTS],
}

impl TermCounter {
    fn add(&mut self, part: usize, text: &str) {
        each_term(text, |term| {
            if let Some(length) = self.lengths.get_mut(part) {
                *length += 1;
            }
            if self.counts.len() < MAX_TERMS || self.counts.contains_key(&term) {
                let counts = self.counts.entry(term).or_default();
                if let Some(count) = counts.get_mut(part) {
                    *count = count.saturating_add(1);
                }
            }
        });
    }
}

/// Returns the text of a line that is a comment in one of the supported languages.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marks = ["//!", "///", "//", "/*", "* ", "# "];
    marks.iter().find_map(|mark| line.strip_prefix(mark))
}

/// Calls `take` with the hash of every term of a text, in order.
pub(crate) fn each_term(text: &str, mut take: impl FnMut(u32)) {
    let mut word = String::new();
    let mut previous = CharClass::Other;
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        let class = CharClass::of(next);
        let begins = match (previous, class) {
            (CharClass::Lower | CharClass::Digit, CharClass::Upper)
            | (CharClass::Digit, CharClass::Lower)
            | (CharClass::Lower | CharClass::Upper, CharClass::Digit) => true,
            // The last capital of `HTTPClient` begins a word.
            (CharClass::Upper, CharClass::Upper) => {
                chars.peek().is_some_and(|after| CharClass::of(*after) == CharClass::Lower)
            }
            _ => false,
        };
        if begins || class == CharClass::Other {
            finish(&mut word, &mut take);
        }
        if class != CharClass::Other {
            word.extend(next.to_lowercase());
        }
        previous = class;
    }
    finish(&mut word, &mut take);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    Other,
}

impl CharClass {
    fn of(character: char) -> Self {
        match character {
            _ if character.is_uppercase() => Self::Upper,
            _ if character.is_alphabetic() => Self::Lower,
            _ if character.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

fn finish(word: &mut String, take: &mut impl FnMut(u32)) {
    if word.len() > 1 {
        remove_ending(word);
        if !STOP.contains(&word.as_str()) {
            take(hash(word));
        }
    }
    word.clear();
}

/// Removes the ending of an English word, so that `stores`, `stored` and `storing` are one term.
fn remove_ending(word: &mut String) {
    let cut = |word: &mut String, bytes: usize| word.truncate(word.len().saturating_sub(bytes));
    if word.len() >= MIN_STEM {
        if word.ends_with("ies") {
            cut(word, 3);
            word.push('y');
        } else if ["sses", "xes", "ches", "shes"].iter().any(|ending| word.ends_with(ending)) {
            cut(word, 2);
        } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
            cut(word, 1);
        }
    }
    if let Some(ending) = ["ing", "ed"].iter().find(|ending| word.ends_with(**ending))
        && word.len() >= ending.len() + 4
    {
        cut(word, ending.len());
        // `stopped` is `stop`, but `called` is `call`.
        let mut last = word.bytes().rev();
        if let (Some(one), Some(two)) = (last.next(), last.next())
            && one == two
            && one.is_ascii_alphabetic()
            && !b"lsz".contains(&one)
        {
            cut(word, 1);
        }
    }
    if word.len() >= MIN_STEM && word.ends_with('e') {
        cut(word, 1);
    }
}

fn hash(term: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    //! Tests the splitting of text into terms.

    use super::{FileTerms, each_term};

    fn terms(text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        each_term(text, |term| found.push(term));
        found
    }

    #[test]
    fn splits_identifiers_into_the_words_of_prose() {
        for (identifier, prose) in [
            ("SessionStore", "session stores"),
            ("http_client_config", "HTTPClient configs"),
            ("retryDelays2", "retry the delay 2"),
            ("stopped", "stopping"),
        ] {
            assert_eq!(
                terms(identifier)[..2.min(terms(identifier).len())],
                terms(prose)[..2.min(terms(prose).len())]
            );
        }
        assert!(terms("the of and a").is_empty());
    }

    #[test]
    fn counts_names_comments_text_and_head_separately() {
        let source = b"//! Undo of files.\n\n// Restores.\nfn undo() {}\n";
        let found = FileTerms::of(source, ["undo"].into_iter());
        assert_eq!(found.count(terms("undo")[0]), Some([1, 1, 2, 1]));
        assert_eq!(found.count(terms("restore")[0]), Some([0, 1, 1, 0]));
        assert_eq!(found.count(terms("absent")[0]), None);
    }
}
