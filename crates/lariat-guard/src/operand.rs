//! The files that a command's words may name.
//!
//! Owns the reading of words as paths: plain ones, values of options (`--file=x`, `of=x`, `-ox`, `@x`), patterns, and the
//! two variables whose values are known. Guesses to the wide side: a word that is no path is one that lies in the
//! workspace, and does no harm.

use std::path::PathBuf;

use crate::place::{Places, at_home};
use crate::shell::Word;

/// What a word names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// This path, relative to where the command runs.
    Path(String),
    /// Files whose names fit a pattern beneath this directory. The pattern is kept.
    Fitting(String, String),
    /// Something that is known only when it runs. As it was written.
    Hidden(String),
}

/// The operands of a command, without its program.
pub(crate) fn operands(words: &[Word], places: &Places) -> Vec<Operand> {
    words.iter().skip(1).filter_map(|word| operand(word, places)).collect()
}

/// What one word names; `None` for an option without a value.
pub(crate) fn operand(word: &Word, places: &Places) -> Option<Operand> {
    let text = value(&word.text)?;
    if word.is_known {
        return Some(Operand::Path(text.to_owned()));
    }
    if is_one_process(text) {
        return None;
    }
    let known = expanded(text, places);
    let is_expanded = known.is_some();
    let text = known.unwrap_or_else(|| text.to_owned());
    let bare = text.trim_matches('"');
    let Some(first) = bare.find(['*', '?', '[', '$', '`', '{', '~', '\'', '"', '\\', '<', '>', '(']) else {
        // Nothing in it says why it is not known: something else fills it in, as `xargs` does.
        return Some(if is_expanded { Operand::Path(bare.to_owned()) } else { Operand::Hidden(text) });
    };
    let (start, rest) = bare.split_at_checked(first)?;
    if rest.contains(['$', '`', '{', '~', '\'', '"', '\\', '<', '>', '(']) {
        return Some(Operand::Hidden(text));
    }
    let directory = start.rsplit_once('/').map_or(".", |(directory, _)| directory);
    let directory = if start.starts_with('/') && directory.is_empty() { "/" } else { directory };
    Some(Operand::Fitting(directory.to_owned(), bare.to_owned()))
}

/// The part of a word that may be a path.
fn value(text: &str) -> Option<&str> {
    let value = if text.starts_with("--") {
        text.split_once('=')?.1
    } else if text.len() > 1 && text.starts_with('-') {
        let attached = text.get(2..).unwrap_or_default();
        if !attached.contains(['/', '.', '~']) {
            return None;
        }
        attached.trim_start_matches('=')
    } else {
        match text.split_once('=') {
            Some((name, value)) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => value,
            _ => text,
        }
    };
    Some(value.strip_prefix('@').unwrap_or(value))
}

/// `<(command)` and nothing else: the file is what the command prints, and the command is judged by itself.
fn is_one_process(text: &str) -> bool {
    text.strip_prefix("<(")
        .is_some_and(|rest| rest.ends_with(')') && !rest.contains("<(") && !rest.contains(")/"))
}

/// With `~`, `$HOME` and `$PWD` at the beginning replaced.
fn expanded(text: &str, places: &Places) -> Option<String> {
    let quoted = text.strip_prefix('"').unwrap_or(text);
    if let Some(path) = at_home(text, &places.home) {
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
