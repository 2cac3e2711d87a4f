//! Decides which `sed` commands only print, delete and replace lines.
//!
//! Lists the options and commands of `sed` that are understood. A script that contains anything else (`e` runs a program,
//! `w` writes a file, `r` reads one, `-f` reads a script from a file) runs its arguments.

use super::Word;

/// Long options that are understood.
const LONG: &[&str] = &[
    "--quiet",
    "--silent",
    "--regexp-extended",
    "--posix",
    "--debug",
    "--null-data",
    "--separate",
    "--unbuffered",
    "--sandbox",
    "--in-place",
];

/// What the arguments of `sed` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SedUse {
    /// All scripts are understood.
    Plain,
    /// There is no script yet: this is the beginning of a command.
    Nothing,
    /// It may do anything.
    Unknown,
}

/// Classifies the arguments of `sed`.
pub(super) fn classify(arguments: &[Word]) -> SedUse {
    let mut words = arguments.iter();
    let mut scripts = 0;
    let mut by_option = false;
    let mut options_end = false;
    while let Some(word) = words.next() {
        let Some(text) = word.as_known() else {
            if scripts > 0 && !word.may_be_option() {
                continue;
            }
            return SedUse::Unknown;
        };
        let script = if options_end || text == "-" || !text.starts_with('-') {
            if by_option || scripts > 0 {
                continue;
            }
            text
        } else {
            match option(text) {
                SedOption::Flag => continue,
                SedOption::End => {
                    options_end = true;
                    continue;
                }
                SedOption::Script(attached) => {
                    by_option = true;
                    match attached.or_else(|| words.next().and_then(Word::as_known)) {
                        Some(script) => script,
                        None => return SedUse::Unknown,
                    }
                }
                SedOption::Number => match words.next().and_then(Word::as_known) {
                    Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => continue,
                    _ => return SedUse::Unknown,
                },
                SedOption::Other => return SedUse::Unknown,
            }
        };
        if !is_plain(script) {
            return SedUse::Unknown;
        }
        scripts += 1;
    }
    if scripts > 0 { SedUse::Plain } else { SedUse::Nothing }
}

enum SedOption<'a> {
    Flag,
    End,
    /// A script follows, attached or as the next word.
    Script(Option<&'a str>),
    /// A number follows.
    Number,
    Other,
}

fn option(text: &str) -> SedOption<'_> {
    if text == "--" {
        return SedOption::End;
    }
    if text.starts_with("--") {
        return match text.split_once('=') {
            Some(("--expression", script)) => SedOption::Script(Some(script)),
            Some(("--in-place", suffix)) if is_suffix(suffix) => SedOption::Flag,
            Some(("--line-length", number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                SedOption::Flag
            }
            None if text == "--expression" => SedOption::Script(None),
            None if LONG.contains(&text) => SedOption::Flag,
            _ => SedOption::Other,
        };
    }
    let letters = text.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        match letter {
            'n' | 'r' | 'E' | 's' | 'u' | 'z' => {}
            'i' => return if is_suffix(rest) { SedOption::Flag } else { SedOption::Other },
            'e' => return SedOption::Script((!rest.is_empty()).then_some(rest)),
            'l' if rest.is_empty() => return SedOption::Number,
            _ => return SedOption::Other,
        }
    }
    SedOption::Flag
}

/// Whether a backup suffix stays in the directory of the file.
fn is_suffix(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "._~-".contains(c))
}

/// Whether every command of a script is understood.
fn is_plain(script: &str) -> bool {
    let mut scanner = Scanner { rest: script };
    scanner.script().is_some()
}

/// Reads a script; `None` at the first thing that is not understood.
struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(" \t;\n");
            if self.rest.is_empty() {
                return Some(());
            }
            self.addresses()?;
            self.command()?;
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    fn skip(&mut self, letters: &str) {
        self.rest = self.rest.trim_start_matches(|c: char| letters.contains(c));
    }

    fn digits(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
    }

    fn addresses(&mut self) -> Option<()> {
        if !self.address()? {
            return Some(());
        }
        self.skip(" \t");
        if self.peek() == Some(',') {
            self.next();
            self.skip(" \t");
            if matches!(self.peek(), Some('+' | '~')) {
                self.next();
            }
            self.address()?.then_some(())?;
            self.skip(" \t");
        }
        while self.peek() == Some('!') {
            self.next();
            self.skip(" \t");
        }
        Some(())
    }

    /// Reads one address. Returns whether there was one.
    fn address(&mut self) -> Option<bool> {
        match self.peek() {
            Some('0'..='9') => {
                self.digits();
                if self.peek() == Some('~') {
                    self.next();
                    self.digits();
                }
                Some(true)
            }
            Some('$') => self.next().map(|_| true),
            Some('/') => {
                self.next();
                self.part('/', true)?;
                self.skip("IM");
                Some(true)
            }
            _ => Some(false),
        }
    }

    fn command(&mut self) -> Option<()> {
        match self.next()? {
            '{' | '}' => Some(()),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => self.ends(),
            'l' | 'q' | 'Q' => {
                self.skip(" ");
                self.digits();
                self.ends()
            }
            's' => {
                let delimiter = self.delimiter()?;
                self.part(delimiter, true)?;
                self.part(delimiter, false)?;
                self.rest =
                    self.rest.trim_start_matches(|c: char| "gpIiMm".contains(c) || c.is_ascii_digit());
                self.ends()
            }
            'y' => {
                let delimiter = self.delimiter()?;
                self.part(delimiter, false)?;
                self.part(delimiter, false)?;
                self.ends()
            }
            'a' | 'i' | 'c' => {
                // The rest of the line is text; a text that continues on the next line is not analyzed.
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                (!line.ends_with('\\')).then_some(())
            }
            'b' | 't' | 'T' | ':' => {
                self.skip(" ");
                self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                self.ends()
            }
            '#' => {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
                Some(())
            }
            _ => None,
        }
    }

    fn delimiter(&mut self) -> Option<char> {
        self.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')
    }

    /// Skips past the next delimiter. Inside brackets, programs differ about where that is.
    fn part(&mut self, delimiter: char, is_pattern: bool) -> Option<()> {
        let mut brackets = 0_i32;
        loop {
            match self.next()? {
                c if c == delimiter => break,
                '\\' => drop(self.next().filter(|c| *c != '\n')?),
                '\n' => return None,
                '[' => brackets += 1,
                ']' => brackets -= 1,
                _ => {}
            }
        }
        (!is_pattern || brackets <= 0).then_some(())
    }

    /// Checks that a command ends here.
    fn ends(&mut self) -> Option<()> {
        self.skip(" \t");
        match self.peek() {
            None | Some(';' | '\n' | '}') => Some(()),
            Some('#') => self.command(),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
#[path = "sed_tests.rs"]
mod tests;
