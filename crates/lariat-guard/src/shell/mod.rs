//! What a shell command would do, as far as reading it tells.
//!
//! Owns [`Script`]: every simple command that bash could start, every file that it would open itself, and every reason
//! why that list may be short. Two parsers must agree on the commands; where they do not, and wherever a word decides
//! that is not known before it runs, there is a [`Doubt`]. A script with a doubt is never allowed by a rule.

use std::ops::Range;

/// A shell command, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script {
    /// Every simple command, in the order of the text. Those in substitutions, functions, and in the text that a wrapper
    /// hands to a shell are among them.
    pub commands: Vec<Command>,
    /// Every file that the shell itself would open for a redirection.
    pub files: Vec<Opened>,
    /// Why it cannot be judged by its words; empty when it can.
    pub doubts: Vec<Doubt>,
}

/// One simple command: a program or builtin with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The words after the wrappers: the program first.
    pub words: Vec<Word>,
    /// Variables that are set in front of it, or by it when it has no words.
    pub assignments: Vec<Assignment>,
    /// What stood in front of it and was looked through, as `timeout 5`.
    pub wrappers: Vec<String>,
    /// Its place in the text that was analysed; empty for a command inside of a wrapper's text.
    pub place: Range<usize>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes when it is known; as it was written where it is not.
    pub text: String,
    /// False when bash would expand something in it: a variable, a substitution, a pattern, a brace.
    pub is_known: bool,
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Which file.
    pub path: Word,
    /// Opened to write (`>`, `>>`, `>|`, `&>`, `<>`), not only to read.
    pub is_written: bool,
}

/// Why a script cannot be judged by its words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// Not bash, as far as a parser can tell.
    Unreadable(String),
    /// Longer than is looked at.
    TooLong,
    /// The parsers do not agree on what would run.
    Disagreement(String),
    /// A construct that is not looked into.
    Unknown(String),
    /// The program is not known before it runs: `$X`, `$(...)`, `eval`.
    HiddenProgram(String),
}
