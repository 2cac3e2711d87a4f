//! Scans simple commands without a parser: words with at most plain variables in them, joined by `&&`, `||`, `|` and `;`.
//!
//! The scanner gives up at the first character it is not sure of. What it accepts, the parsers read in the same way; a
//! property test compares them.

use std::borrow::Cow;

use super::names::RESERVED;
use super::parsed::{ParsedScript, RawCommand, RawFile};

/// The known redirections, longest first: the operator, and whether a file follows that is written (or read).
const REDIRECTIONS: &[(&str, Option<bool>)] = &[
    ("2>&1", None),
    ("1>&2", None),
    (">&2", None),
    ("2>>", Some(true)),
    ("&>>", Some(true)),
    ("2>", Some(true)),
    ("&>", Some(true)),
    (">>", Some(true)),
    (">", Some(true)),
    ("<", Some(false)),
];

/// Scans a text; `None` leaves it to the parsers.
pub(super) fn read(text: &str) -> Option<ParsedScript<'_>> {
    let mut scanner = Scanner {
        text,
        at: 0,
        parsed: ParsedScript::default(),
        command: RawCommand::default(),
        is_redirected: false,
    };
    scanner.run()?;
    Some(scanner.parsed)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    parsed: ParsedScript<'a>,
    command: RawCommand<'a>,
    is_redirected: bool,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) -> Option<()> {
        let mut wants_more = false;
        loop {
            self.blanks();
            let rest = self.text.get(self.at..)?;
            if rest.is_empty() {
                if !self.command.words.is_empty() {
                    self.end()?;
                } else if wants_more || self.parsed.commands.is_empty() {
                    return None;
                }
                return Some(());
            }
            let separator = ["&&", "||", "|", ";"].into_iter().find(|separator| rest.starts_with(separator));
            if let Some(separator) = separator {
                if rest.starts_with("|&") || rest.starts_with(";;") || rest.starts_with(";&") {
                    return None;
                }
                self.at += separator.len();
                self.end()?;
                wants_more = separator != ";";
                continue;
            }
            if self.command.words.is_empty() {
                self.command.place.start = self.at;
            } else if let Some((written, file)) =
                REDIRECTIONS.iter().find(|(written, _)| rest.starts_with(written))
            {
                self.redirection(written, *file)?;
                continue;
            }
            let word = self.word()?;
            if self.command.words.is_empty() && !is_plain_program(word) {
                return None;
            }
            self.command.words.push(Cow::Borrowed(word));
            if !self.is_redirected {
                self.command.place.end = self.at;
            }
            wants_more = false;
        }
    }

    fn end(&mut self) -> Option<()> {
        if self.command.words.is_empty() {
            return None;
        }
        self.parsed.commands.push(std::mem::take(&mut self.command));
        self.is_redirected = false;
        Some(())
    }

    fn redirection(&mut self, written: &str, file: Option<bool>) -> Option<()> {
        self.at += written.len();
        self.is_redirected = true;
        let after = self.text.get(self.at..)?;
        match file {
            // Anything directly after the descriptor would belong to it.
            None if after.is_empty() || after.starts_with([' ', '\t', '|', ';']) => Some(()),
            None => None,
            Some(is_written) => {
                self.blanks();
                let target = Cow::Borrowed(self.word()?);
                self.parsed.files.push(RawFile { target, is_written });
                Some(())
            }
        }
    }

    fn blanks(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }

    /// Reads a word of safe characters and simple quotes that ends at a blank, a separator or the end.
    fn word(&mut self) -> Option<&'a str> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None | Some(b' ' | b'\t' | b';' | b'|') => break,
                Some(b'&') if bytes.get(self.at + 1) == Some(&b'&') => break,
                Some(b'\'') => self.at += self.quoted(b'\'')?,
                Some(b'"') => self.at += self.quoted(b'"')?,
                Some(b'$') => self.at += variable(bytes.get(self.at + 1..)?)? + 1,
                Some(byte) if byte.is_ascii_alphanumeric() || b"_./:,@%+=^*~-".contains(byte) => self.at += 1,
                Some(_) => return None,
            }
        }
        (self.at > start).then(|| self.text.get(start..self.at)).flatten()
    }

    /// Returns the length of a quoted text with its quotes, in which nothing but variables is expanded.
    fn quoted(&self, quote: u8) -> Option<usize> {
        let inside = self.text.as_bytes().get(self.at + 1..)?;
        let mut length = 0;
        loop {
            match inside.get(length)? {
                byte if *byte == quote => return Some(length + 2),
                b'$' if quote == b'"' => length += variable(inside.get(length + 1..)?)? + 1,
                b'`' | b'\\' | b'!' if quote == b'"' => return None,
                b' '..=b'~' => length += 1,
                _ => return None,
            }
        }
    }
}

/// Returns the length of a variable's name after a `$`, with its braces if it has them.
fn variable(rest: &[u8]) -> Option<usize> {
    let braces = usize::from(rest.first() == Some(&b'{'));
    let name = rest.get(braces..)?;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let length = name.iter().take_while(|byte| is_letter(byte) || byte.is_ascii_digit()).count();
    let is_complete = name.first().is_some_and(is_letter) && (braces == 0 || name.get(length) == Some(&b'}'));
    is_complete.then_some(length + 2 * braces)
}

/// Whether no parser would take a program's name for a reserved word or an assignment.
fn is_plain_program(word: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
    let starts = !word.starts_with('-');
    is_plain && starts && word.get(..end).is_some_and(|start| start != "time" && !RESERVED.contains(&start))
}

#[cfg(test)]
#[path = "scanner_tests.rs"]
mod tests;
