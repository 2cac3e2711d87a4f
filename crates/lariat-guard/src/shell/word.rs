//! What a word means once its quotes are gone.
//!
//! Owns the quoting rules of bash: backslash, single and double quotes, `$'...'` and `$"..."`. Expands nothing: a word in
//! which bash would expand something is not known, and keeps the text as it was written.
//! Invariant: a word that is called known is what bash hands to the program, byte for byte.

use super::Word;

/// Why a text is no word of bash.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoWord;

impl Word {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: true }
    }

    pub(super) fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: false }
    }

    /// Whether bash may make several words of it, whose beginnings nobody knows: by a variable or a substitution that is
    /// not in quotes, or by a list. A pattern does not: what fits it begins as it does.
    pub(crate) fn may_become_several(&self) -> bool {
        !self.is_known && splits(&self.text)
    }

    /// Whether it is not known and could be an option: it begins with what is not known, or becomes several words.
    pub(crate) fn may_be_option(&self) -> bool {
        let inner = self.text.trim_start_matches(['"', '\'']);
        let opens = inner.is_empty() || inner.starts_with(['$', '`', '-', '{', '*', '?', '[', '\\']);
        !self.is_known && (opens || self.may_become_several())
    }

    /// The text, when it is known.
    pub fn as_known(&self) -> Option<&str> {
        self.is_known.then_some(self.text.as_str())
    }
}

/// Whether a word as it was written may become several. Says yes where that is not easily seen.
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

/// Takes the quotes off a word as it was written.
pub(super) fn unquoted(raw: &str) -> Result<Word, NoWord> {
    let mut quotes =
        Quotes { rest: raw, text: String::with_capacity(raw.len()), is_known: true, brace: false };
    quotes.read(raw)?;
    let Quotes { text, is_known, .. } = quotes;
    if is_known { Ok(Word::known(text)) } else { Ok(Word::unknown(raw)) }
}

/// The same word, in the spelling that two parsers can be compared by: what is known without quotes, everything else as
/// it was written but for line continuations.
pub(super) fn normal(raw: &str) -> String {
    match unquoted(raw) {
        Ok(word) if word.is_known => word.text,
        _ => raw.replace("\\\n", ""),
    }
}

struct Quotes<'a> {
    rest: &'a str,
    text: String,
    is_known: bool,
    /// An unquoted `{` came.
    brace: bool,
}

impl Quotes<'_> {
    fn read(&mut self, raw: &str) -> Result<(), NoWord> {
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
                    // A process substitution is a word of its own; anything else of these ends a word.
                    let is_process = matches!(c, '<' | '>') && self.rest.starts_with('(');
                    // An array: the parsers read its parts.
                    let is_array = c == '(' && before == Some('=');
                    return if is_process || is_array { self.give_up() } else { Err(NoWord) };
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

    fn give_up(&mut self) -> Result<(), NoWord> {
        self.is_known = false;
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn single(&mut self) -> Result<(), NoWord> {
        let (inside, rest) = self.rest.split_once('\'').ok_or(NoWord)?;
        self.text.push_str(inside);
        self.rest = rest;
        Ok(())
    }

    fn double(&mut self) -> Result<(), NoWord> {
        loop {
            match self.next().ok_or(NoWord)? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or(NoWord)? {
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

    /// `$'...'`. What is no text (a byte that is not ASCII, a NUL, which ends the text) is not known.
    fn ansi(&mut self) -> Result<(), NoWord> {
        loop {
            match self.next().ok_or(NoWord)? {
                '\'' => return Ok(()),
                '\\' => {
                    let code = match self.next().ok_or(NoWord)? {
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
                        // Control characters, and what is no escape: not worth knowing.
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

/// Whether a `$` in front of this begins an expansion.
fn expands(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || "_({[@*#?-$!".contains(c))
}

#[cfg(test)]
#[path = "word_tests.rs"]
mod tests;
