//! The result of a parser, before anything is decided about it.
//!
//! Both parsers produce this form so that they can be compared: simple commands and the files of redirections, in words as
//! written. [`ParsedScript::lines`] is equal for two results exactly if the same words would run, in whatever order.

use std::borrow::Cow;
use std::ops::Range;

#[cfg(feature = "second-parser")]
use super::word;
use super::{Doubt, MAX_DOUBTS};

#[derive(Debug, Default)]
pub(super) struct ParsedScript<'a> {
    pub(super) commands: Vec<RawCommand<'a>>,
    pub(super) files: Vec<RawFile<'a>>,
    pub(super) doubts: Vec<Doubt>,
    /// Whether the text contains a loop or a function.
    pub(super) repeats: bool,
}

/// A simple command, its words as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawCommand<'a> {
    /// Each as `NAME=VALUE`.
    pub(super) assignments: Vec<Cow<'a, str>>,
    pub(super) words: Vec<Cow<'a, str>>,
    pub(super) place: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawFile<'a> {
    pub(super) target: Cow<'a, str>,
    pub(super) is_written: bool,
}

impl ParsedScript<'_> {
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.doubts.len() < MAX_DOUBTS && !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Returns every command and file as one line, sorted.
    #[cfg(feature = "second-parser")]
    pub(super) fn lines(&self) -> Vec<String> {
        let commands = self.commands.iter().filter(|command| !command.is_empty()).map(RawCommand::line);
        let files = self.files.iter().map(RawFile::line);
        let mut lines: Vec<String> = commands.chain(files).collect();
        lines.sort();
        lines
    }
}

#[cfg(feature = "second-parser")]
impl RawCommand<'_> {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.assignments.is_empty()
    }

    fn line(&self) -> String {
        // `time` is a reserved word to one parser and a program to the other.
        let timed = usize::from(self.words.first().is_some_and(|word| word == "time"));
        let options =
            self.words.iter().skip(timed).take_while(|word| timed == 1 && (*word == "-p" || *word == "--"));
        let skipped = timed + options.count();
        let joined = |words: &mut dyn Iterator<Item = &Cow<'_, str>>| {
            words.map(|raw| spelling(raw)).collect::<Vec<_>>().join("\u{1}")
        };
        // An assignment and a word that is run must not be mistaken for each other.
        format!(
            "{}\u{3}{}",
            joined(&mut self.assignments.iter()),
            joined(&mut self.words.iter().skip(skipped))
        )
    }
}

#[cfg(feature = "second-parser")]
impl RawFile<'_> {
    fn line(&self) -> String {
        format!("\u{2}{}{}", if self.is_written { '>' } else { '<' }, spelling(&self.target))
    }
}

#[cfg(feature = "second-parser")]
fn spelling(raw: &str) -> String {
    match raw.get(..2) {
        // The commands inside are compared as commands.
        Some(start @ ("<(" | ">(")) => format!("{start})"),
        _ => word::comparable(raw),
    }
}
