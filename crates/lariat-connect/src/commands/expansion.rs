//! Fills the arguments into the text of a command and separates the shell commands in it.
//!
//! `$ARGUMENTS` is everything after the name, `$1` to `$9` are its words (quotes keep words together), and `` !`git status` ``
//! is a shell command whose output belongs in its place. Invariant: the text is split before arguments are filled in, so an
//! argument never becomes a shell command of its own.

/// A part of an expanded command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandedPart {
    /// Text for the model.
    Text(String),
    /// A shell command to run; its output replaces this part.
    Shell(String),
}

/// Splits a message that invokes a command into its name and its arguments; `None` if it is an ordinary message. A path such as
/// `/usr/bin/env` is not a name.
pub fn is_invocation(message: &str) -> Option<(&str, &str)> {
    let rest = message.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    (!name.is_empty() && name.chars().all(fits)).then(|| (name, arguments.trim()))
}

pub(super) fn expand(body: &str, arguments: &str) -> Vec<ExpandedPart> {
    let words = words(arguments);
    let fill = |text: &str| filled(text, arguments, &words);
    let mut parts = Vec::new();
    let mut rest = body;
    while let Some((before, command, after)) = next_shell(rest) {
        parts.push(ExpandedPart::Text(fill(before)));
        parts.push(ExpandedPart::Shell(fill(command)));
        rest = after;
    }
    let mut last = fill(rest);
    if !arguments.is_empty() && !takes_arguments(body) {
        last.push_str(&format!("\n\nARGUMENTS: {arguments}"));
    }
    parts.push(ExpandedPart::Text(last));
    parts.retain(|part| !matches!(part, ExpandedPart::Text(text) if text.is_empty()));
    parts
}

/// The text before the next `` !`command` ``, the command, and the text after it.
fn next_shell(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find("!`")?;
        let (before, after) = (text.get(..start)?, text.get(start + 2..)?);
        // In the middle of a word the sign belongs to the text.
        let is_start = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([-:*>".contains(c));
        match after.split_once('`').filter(|(command, _)| !command.contains('\n')) {
            Some((command, rest)) if is_start && !command.trim().is_empty() => {
                return Some((before, command.trim(), rest));
            }
            _ => from = start + 2,
        }
    }
}

fn takes_arguments(body: &str) -> bool {
    body.contains("$ARGUMENTS") || ('1'..='9').any(|digit| body.contains(&format!("${digit}")))
}

/// Replaces the places for arguments, in one pass: what an argument contains is not looked at again.
fn filled(text: &str, arguments: &str, words: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let digit = after.chars().next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0);
        if let Some(after) = after.strip_prefix("ARGUMENTS") {
            out.push_str(arguments);
            rest = after;
        } else if let Some(digit) = digit {
            out.push_str(words.get(digit as usize - 1).map_or("", String::as_str));
            rest = after.get(1..).unwrap_or_default();
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The words of the arguments. Quotes keep words together; an unfinished quote reaches to the end.
pub fn words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in arguments.chars() {
        match (character, quote) {
            (end, Some(open)) if end == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(character),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}
