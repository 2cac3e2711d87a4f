//! Determines which files the words of a command may name.
//!
//! A word is read as a path, as the value of an option (`--file=x`, `of=x`, `-ox`, `@x`), as a brace list, as a pattern, or
//! with one of the two variables whose values are known. A word with two readings names both files. The guesses err on the
//! wide side: a word that is not a path is taken for one in the workspace, which does no harm.

use std::path::PathBuf;

use crate::resolve::{SessionDirectories, expand_home};
use crate::shell::Word;

/// Maximum words that a brace list may expand to; a longer one is unknown.
const MAX_WORDS: usize = 64;

/// What a word names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// This path, relative to the directory of the command.
    Path(String),
    /// The files below this directory that match this pattern.
    Matching(String, String),
    /// Something that is known only at run time, as written.
    Hidden(String),
}

/// Returns the operands of a command without its program: for each word that names files, which ones.
pub(crate) fn operands(words: &[Word], places: &SessionDirectories) -> Vec<Vec<Operand>> {
    let end = words.iter().position(|word| word.is_known && word.text == "--").unwrap_or(words.len());
    let expansion_operands = |(at, word): (usize, &Word)| {
        if at > end { literal_operands(word, places) } else { possible_operands(word, places) }
    };
    let found = words.iter().enumerate().skip(1).filter(|(at, _)| *at != end).map(expansion_operands);
    found.filter(|operands| !operands.is_empty()).collect()
}

/// Returns what a word names for a command that opens it literally.
pub(crate) fn literal_operands(word: &Word, places: &SessionDirectories) -> Vec<Operand> {
    if word.is_known {
        return vec![Operand::Path(word.text.clone())];
    }
    expansion_operands(&word.text, places)
}

/// Returns what a word may name for an unknown command; nothing for an option without a value.
pub(crate) fn possible_operands(word: &Word, places: &SessionDirectories) -> Vec<Operand> {
    let mut texts: Vec<&str> = Vec::new();
    let text = word.text.as_str();
    if let Some(long) = text.strip_prefix("--") {
        texts.extend(long.split_once('=').map(|(_, value)| value));
    } else if text.len() > 1 && text.starts_with('-') {
        let attached = text.get(2..).unwrap_or_default();
        texts.extend(attached.contains(['/', '.', '~']).then(|| attached.trim_start_matches('=')));
    } else {
        texts.push(text);
        let value = text.split_once('=').filter(|(name, _)| !name.contains('/')).map(|(_, value)| value);
        texts.extend(value);
    }
    let shortened: Vec<&str> = texts.iter().filter_map(|text| text.strip_prefix('@')).collect();
    texts.extend(shortened);
    let known = |text: &&str| {
        if word.is_known { vec![Operand::Path((*text).to_owned())] } else { expansion_operands(text, places) }
    };
    texts.iter().filter(|text| !text.is_empty() || word.text.is_empty()).flat_map(known).collect()
}

/// Returns what a text with shell expansions in it names.
fn expansion_operands(text: &str, places: &SessionDirectories) -> Vec<Operand> {
    if is_process_substitution(text) {
        return Vec::new();
    }
    if !text.contains('{') || text.contains(['$', '`', '\\']) {
        return pattern_operand(text, places, false).into_iter().collect();
    }
    let bare: String = text.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let mut found = Vec::new();
    match expand_braces(&bare) {
        Some(words) => found.extend(words.iter().filter_map(|word| pattern_operand(word, places, true))),
        None => found.push(Operand::Hidden(text.to_owned())),
    }
    // Bash does not expand what is quoted, so the words above are guesses.
    if bare != text {
        found.push(Operand::Hidden(text.to_owned()));
    }
    found
}

/// Interprets a text without braces. `is_complete` says that it contains nothing but, possibly, a pattern.
fn pattern_operand(text: &str, places: &SessionDirectories, is_complete: bool) -> Option<Operand> {
    let known = expand_variable(text, places);
    let is_expanded = known.is_some() || is_complete;
    let text = known.unwrap_or_else(|| text.to_owned());
    let bare = text.trim_matches('"');
    let Some(first) = bare.find(['*', '?', '[', '$', '`', '{', '~', '\'', '"', '\\', '<', '>', '(']) else {
        // Nothing in the text says why it is unknown: another program fills it in, as `xargs` does.
        return Some(if is_expanded { Operand::Path(bare.to_owned()) } else { Operand::Hidden(text) });
    };
    let (start, rest) = bare.split_at_checked(first)?;
    if rest.contains(['$', '`', '{', '~', '\'', '"', '\\', '<', '>', '(']) {
        return Some(Operand::Hidden(text));
    }
    let directory = start.rsplit_once('/').map_or(".", |(directory, _)| directory);
    let directory = if start.starts_with('/') && directory.is_empty() { "/" } else { directory };
    Some(Operand::Matching(directory.to_owned(), bare.to_owned()))
}

/// Expands brace lists: `a{b,c}` is `ab` and `ac`. `None` if the result has too many words.
fn expand_braces(text: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut ahead = vec![text.to_owned()];
    while let Some(word) = ahead.pop() {
        let Some((before, items, after)) = first_list(&word) else {
            done.push(word);
            continue;
        };
        if items.len() + ahead.len() + done.len() > MAX_WORDS {
            return None;
        }
        ahead.extend(items.iter().rev().map(|item| format!("{before}{item}{after}")));
    }
    Some(done)
}

/// Splits a word at its first brace list: the text before, the items, the text after.
fn first_list(word: &str) -> Option<(&str, Vec<String>, &str)> {
    for (open, _) in word.match_indices('{') {
        let inside = word.get(open + 1..)?;
        let (mut level, mut commas, mut close) = (0_usize, Vec::new(), None);
        for (at, letter) in inside.char_indices() {
            match letter {
                '{' => level += 1,
                '}' if level == 0 => {
                    close = Some(at);
                    break;
                }
                '}' => level -= 1,
                ',' if level == 0 => commas.push(at),
                _ => {}
            }
        }
        let Some(close) = close else { continue };
        let body = inside.get(..close)?;
        let items = if commas.is_empty() {
            match sequence(body) {
                Some(items) => items,
                None => continue,
            }
        } else {
            let ends = commas.iter().copied().chain([close]);
            let starts = std::iter::once(0).chain(commas.iter().map(|at| at + 1));
            starts.zip(ends).filter_map(|(from, to)| inside.get(from..to)).map(str::to_owned).collect()
        };
        return Some((word.get(..open)?, items, inside.get(close + 1..)?));
    }
    None
}

/// Expands `1..3` and `a..c`.
fn sequence(body: &str) -> Option<Vec<String>> {
    let (from, to) = body.split_once("..")?;
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let most = i32::try_from(MAX_WORDS).unwrap_or_default();
        let count = from.abs_diff(to).min(u32::try_from(most).unwrap_or_default());
        let count = i32::try_from(count).ok()?;
        return Some((0..=count).map(|step| (from.min(to).saturating_add(step)).to_string()).collect());
    }
    let (mut first, mut last) = (from.chars(), to.chars());
    match (first.next(), first.next(), last.next(), last.next()) {
        (Some(from), None, Some(to), None) if from.is_ascii() && to.is_ascii() => {
            Some((from.min(to)..=from.max(to)).map(String::from).collect())
        }
        _ => None,
    }
}

/// Whether a text is exactly one `<(command)`: the file is what that command prints, and the command is rated by itself.
fn is_process_substitution(text: &str) -> bool {
    text.strip_prefix("<(")
        .is_some_and(|rest| rest.ends_with(')') && !rest.contains("<(") && !rest.contains(")/"))
}

/// Replaces `~`, `$HOME` or `$PWD` at the start of a text; `None` if it starts with none of them.
fn expand_variable(text: &str, places: &SessionDirectories) -> Option<String> {
    let quoted = text.strip_prefix('"').unwrap_or(text);
    if let Some(path) = expand_home(text, &places.home) {
        return Some(path.to_string_lossy().into_owned());
    }
    let known: [(&str, &PathBuf); 6] = [
        ("$HOME", &places.home),
        ("${HOME}", &places.home),
        ("$PWD", &places.directory),
        ("${PWD}", &places.directory),
        ("$(pwd)", &places.directory),
        ("`pwd`", &places.directory),
    ];
    for (name, path) in known {
        if let Some(rest) = quoted.strip_prefix(name)
            && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            return Some(format!("{}{rest}", path.display()).replace('"', ""));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_braces_as_bash_does() {
        for (text, expected) in [
            ("a{b,c}d", "abd acd"),
            ("{/etc,/usr}", "/etc /usr"),
            ("/{etc,usr/{a,b}}", "/etc /usr/a /usr/b"),
            ("{1..3}", "1 2 3"),
            ("x{a..c}", "xa xb xc"),
            ("{a}", "{a}"),
            ("{a,b", "{a,b"),
            ("{,x}y", "y xy"),
        ] {
            assert_eq!(expand_braces(text).unwrap().join(" "), expected, "{text}");
        }
        assert_eq!(expand_braces("{1..9}{1..9}{1..9}"), None);
    }

    #[test]
    fn word_with_two_readings_names_both_files() {
        let places = SessionDirectories::new("/w", "/people/me");
        let names = |text: &str| possible_operands(&Word { text: text.to_owned(), is_known: true }, &places);
        let path = |text: &str| Operand::Path(text.to_owned());
        assert_eq!(names("@out/x"), [path("@out/x"), path("out/x")]);
        assert_eq!(names("x=o/y"), [path("x=o/y"), path("o/y")]);
        assert_eq!(names("--file=x"), [path("x")]);
        assert_eq!(names("-l"), []);
        let words: Vec<Word> =
            ["cat", "--", "-l"].map(|text| Word { text: text.to_owned(), is_known: true }).to_vec();
        assert_eq!(operands(&words, &places), [[path("-l")]]);
    }
}
