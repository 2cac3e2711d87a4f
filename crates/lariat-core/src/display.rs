//! Makes untrusted text safe to display.
//!
//! Every untrusted text (a tool's output, a command to approve, a file name) passes through here before the user's screen
//! shows it. Nothing in the result moves the cursor, changes the terminal, reorders characters or is invisible; such a
//! character is written as its code point instead: `⟨U+001B⟩`.
//! [`line()`] and [`block`] lose nothing: two texts that look the same are the same, so the user approves what runs
//! ([`exact`] reverses them). [`output`] is for reading only and may omit characters.

use std::borrow::Cow;
use std::fmt::Write as _;

/// From this length on, a run of spaces is written as its count, because it could push what follows out of sight.
const MIN_PADDING: usize = 8;
/// The same limit at the start of a line in a [`block`], where spaces are indentation.
const MIN_INDENT: usize = 80;

/// Shows a text on one line without losing anything: for what a user approves.
pub fn line(text: &str) -> Cow<'_, str> {
    show(text, &[])
}

/// Shows a text of several lines without losing anything. Line breaks and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    show(text, &['\n', '\t'])
}

/// Shows the output of a program for reading: drops colours, turns `\r\n` and a lone `\r` into line breaks, and treats the
/// rest as [`block`] does.
pub fn output(text: &str) -> Cow<'_, str> {
    let text = without_colours(text);
    if !text.contains('\r') {
        return match text {
            Cow::Borrowed(text) => block(text),
            Cow::Owned(text) => Cow::Owned(block(&text).into_owned()),
        };
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(block(&text).into_owned())
}

/// Returns the text that [`line()`] or [`block`] shows as `shown`; `None` for what they never produce.
pub fn exact(shown: &str) -> Option<String> {
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        text.push_str(before);
        let (mark, after) = marked.split_once(CLOSE)?;
        match mark.strip_prefix("U+") {
            Some(code) => text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?),
            None => text.extend(std::iter::repeat_n(' ', mark.strip_suffix(" spaces")?.parse().ok()?)),
        }
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// Escapes invisible characters in a JSON document with JSON's own escapes; the result is the same document.
pub fn json(text: &str) -> Cow<'_, str> {
    // JSON has none of these between its strings, and in strings it already escapes the other control characters.
    let is_raw = |letter: char| letter > '~' && is_hidden(letter);
    if !text.contains(is_raw) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if !is_raw(letter) {
            shown.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    Cow::Owned(shown)
}

const OPEN: char = '⟨';
const CLOSE: char = '⟩';

fn show<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    // Most texts contain only letters, digits and single spaces.
    if is_plain(text, kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ' ' {
            let mut count = 1;
            while letters.next_if_eq(&' ').is_some() {
                count += 1;
            }
            let starts = before.is_none_or(|before| before == '\n');
            if count >= if starts && !kept.is_empty() { MIN_INDENT } else { MIN_PADDING } {
                let _ = write!(shown, "{OPEN}{count} spaces{CLOSE}");
            } else {
                shown.extend(std::iter::repeat_n(' ', count));
            }
        } else if kept.contains(&letter) || !is_hidden(letter) || joins(before, letter, letters.peek()) {
            shown.push(letter);
        } else {
            let _ = write!(shown, "{OPEN}U+{:04X}{CLOSE}", letter as u32);
        }
        before = Some(letter);
    }
    Cow::Owned(shown)
}

fn is_plain(text: &str, kept: &[char]) -> bool {
    let mut spaces = 0;
    text.chars().all(|letter| {
        spaces = if letter == ' ' { spaces + 1 } else { 0 };
        spaces < MIN_PADDING && (!is_hidden(letter) || kept.contains(&letter))
    })
}

/// Whether a character is invisible or changes how others appear: controls, direction marks, fillers, tags, selectors; and
/// the two marks that enclose an escaped character.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            OPEN | CLOSE
            // Spaces other than U+0020, and line separators.
            | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            // Joiners, direction marks, invisible operators, fillers.
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags and selectors: they can hide whole sentences.
            | '\u{e0000}'..='\u{e0fff}'
            // Private use: no agreed meaning.
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Whether a joiner or a variation selector stands where it belongs: between or after emoji.
fn joins(before: Option<char>, letter: char, after: Option<&char>) -> bool {
    match letter {
        '\u{fe0f}' => before.is_some_and(is_picture),
        '\u{200d}' => {
            before.is_some_and(|before| is_picture(before) || before == '\u{fe0f}')
                && after.is_some_and(|after| is_picture(*after))
        }
        _ => false,
    }
}

fn is_picture(letter: char) -> bool {
    matches!(letter, '\u{203c}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}') && !is_hidden(letter)
}

/// Removes sequences that only set colours and weight (`ESC [ … m`).
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        kept.push_str(before);
        let end = after.find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, ';' | ':')));
        rest = match end.and_then(|end| after.get(end..)).and_then(|tail| tail.strip_prefix('m')) {
            Some(tail) => tail,
            None => {
                kept.push_str("\u{1b}[");
                after
            }
        };
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
