//! Removes the quotes of a word.
//!
//! Implements the quoting rules of bash: backslash, single and double quotes, `$'...'` and `$"..."`. Expands nothing: a word
//! in which bash would expand something is unknown and keeps its text as written. A known word is, byte for byte, what bash
//! passes to the program.

use super::Word;

/// A text that is not a word of bash.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotAWord;

impl Word {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: true }
    }

    pub(super) fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: false }
    }

    /// Whether bash may turn it into several words with unknown beginnings: by an unquoted variable or substitution, or by a
    /// list. A pattern does not: what matches it starts like it.
    pub(crate) fn may_become_several(&self) -> bool {
        !self.is_known && splits(&self.text)
    }

    /// Whether it is unknown and could be an option: its beginning is unknown, or it may become several words.
    pub(crate) fn may_be_option(&self) -> bool {
        let inner = self.text.trim_start_matches(['"', '\'']);
        let opens = inner.is_empty() || inner.starts_with(['$', '`', '-', '{', '*', '?', '[', '\\']);
        !self.is_known && (opens || self.may_become_several())
    }

    /// Returns the text if it is known.
    pub fn as_known(&self) -> Option<&str> {
        self.is_known.then_some(self.text.as_str())
    }
}

/// Whether a word as written may become several. Returns true where that is not easy to see.
fn splits(raw: &str) -> bool {
    let is_list = raw.contains("$@") || raw.contains("@]") || raw.contains("@}") || raw.contains("{!");
    let whole = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    if whole.is_some_and(|inner| !inner.contains(['"', '\\'])) {
        return is_list;
    }
    if is_list || raw.contains("$(") || raw.contains('`') {
        return true;
    }
    let (mut double, mut single) = (false, false);
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !single => drop(letters.next()),
            '"' if !single => double = !double,
            '\'' if !double => single = !single,
            '$' if !double && !single => return true,
            _ => {}
        }
    }
    false
}

/// Removes the quotes of a word as written.
pub(super) fn remove_quotes(raw: &str) -> Result<Word, NotAWord> {
    let mut quotes =
        QuoteRemover { rest: raw, text: String::with_capacity(raw.len()), is_known: true, brace: false };
    quotes.read(raw)?;
    let QuoteRemover { text, is_known, .. } = quotes;
    if is_known { Ok(Word::known(text)) } else { Ok(Word::unknown(raw)) }
}

/// Returns a word in the spelling by which two parsers are compared: known words without quotes, everything else as written
/// except for line continuations.
#[cfg(feature = "second-parser")]
pub(super) fn comparable(raw: &str) -> String {
    match remove_quotes(raw) {
        Ok(word) if word.is_known => word.text,
        _ => raw.replace("\\\n", ""),
    }
}

struct QuoteRemover<'a> {
    rest: &'a str,
    text: String,
    is_known: bool,
    /// An unquoted `{` came before.
    brace: bool,
}

impl QuoteRemover<'_> {
    fn read(&mut self, raw: &str) -> Result<(), NotAWord> {
        if raw.starts_with('~') {
            self.is_known = false;
        }
        let mut before = None;
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped) => self.text.push(escaped),
                    None => self.text.push('\\'),
                },
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' if self.rest.starts_with('\'') => {
                    self.next();
                    self.ansi()?;
                }
                '$' if self.rest.starts_with('"') => {
                    self.next();
                    self.double()?;
                }
                '$' if expands(self.rest) => return self.give_up(),
                '`' => return self.give_up(),
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => {
                    // A process substitution is part of a word; all others of these end a word.
                    let is_process = matches!(c, '<' | '>') && self.rest.starts_with('(');
                    // An array, whose elements the parsers read.
                    let is_array = c == '(' && before == Some('=');
                    return if is_process || is_array { self.give_up() } else { Err(NotAWord) };
                }
                '*' | '?' => self.is_known = false,
                '[' if self.rest.contains(']') => self.is_known = false,
                '~' if matches!(before, Some('=' | ':')) => self.is_known = false,
                '{' => {
                    self.brace = true;
                    self.text.push(c);
                }
                ',' if self.brace => self.is_known = false,
                '.' if self.brace && self.rest.starts_with('.') => self.is_known = false,
                _ => self.text.push(c),
            }
            before = Some(c);
        }
        Ok(())
    }

    fn give_up(&mut self) -> Result<(), NotAWord> {
        self.is_known = false;
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn single(&mut self) -> Result<(), NotAWord> {
        let (inside, rest) = self.rest.split_once('\'').ok_or(NotAWord)?;
        self.text.push_str(inside);
        self.rest = rest;
        Ok(())
    }

    fn double(&mut self) -> Result<(), NotAWord> {
        loop {
            match self.next().ok_or(NotAWord)? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or(NotAWord)? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => self.text.push(c),
                    c => self.text.extend(['\\', c]),
                },
                '`' => {
                    self.rest = "";
                    return self.give_up();
                }
                '$' if expands(self.rest) => {
                    self.rest = "";
                    return self.give_up();
                }
                c => self.text.push(c),
            }
        }
    }

    /// Reads `$'...'`. What is not text (a non-ASCII byte, or a NUL, which ends the text) is unknown.
    fn ansi(&mut self) -> Result<(), NotAWord> {
        loop {
            match self.next().ok_or(NotAWord)? {
                '\'' => return Ok(()),
                '\\' => {
                    let code = match self.next().ok_or(NotAWord)? {
                        'a' => Some(7),
                        'b' => Some(8),
                        'e' | 'E' => Some(27),
                        'f' => Some(12),
                        'n' => Some(10),
                        'r' => Some(13),
                        't' => Some(9),
                        'v' => Some(11),
                        c @ ('\\' | '\'' | '"' | '?') => Some(u32::from(c)),
                        'x' => self.digits(2, 16).filter(|code| *code < 128),
                        // Beyond ASCII the bytes depend on the locale.
                        'u' => self.digits(4, 16).filter(|code| *code < 128),
                        'U' => self.digits(8, 16).filter(|code| *code < 128),
                        c @ '0'..='7' => self.octal(c).filter(|code| *code < 128),
                        // Control characters and invalid escapes, which are rare.
                        _ => None,
                    };
                    match code.filter(|code| *code != 0).and_then(char::from_u32) {
                        Some(c) => self.text.push(c),
                        None => self.is_known = false,
                    }
                }
                c => self.text.push(c),
            }
        }
    }

    fn digits(&mut self, most: usize, radix: u32) -> Option<u32> {
        let count = self.rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        u32::from_str_radix(digits, radix).ok()
    }

    fn octal(&mut self, first: char) -> Option<u32> {
        let high = first.to_digit(8)?;
        let count = self.rest.chars().take(2).take_while(|c| c.is_digit(8)).count();
        let low = if count == 0 { 0 } else { self.digits(count, 8)? };
        Some(high * 8_u32.pow(u32::try_from(count).ok()?) + low)
    }
}

/// Whether a `$` before this text starts an expansion.
fn expands(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || "_({[@*#?-$!".contains(c))
}

#[cfg(test)]
#[path = "word_tests.rs"]
mod tests;
