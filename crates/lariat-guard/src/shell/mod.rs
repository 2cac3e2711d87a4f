//! Analyzes what a shell command would do, without running it.
//!
//! A [`Script`] lists every simple command that bash could start, every file that bash itself would open, and every reason
//! why these lists may be incomplete. Two parsers must agree on the commands; where they do not, and wherever something
//! depends on a word that is unknown before run time, there is a [`Doubt`]. No rule allows a script with a doubt. A build
//! without the feature `second-parser` has a doubt about everything that is more than simple commands.

mod arithmetic;
mod builtins;
mod first_parser;
mod grammar;
mod heredoc;
mod names;
mod operator;
mod option;
mod parameter;
mod parsed;
mod runner;
mod runner_table;
mod scanner;
mod script_builder;
#[cfg(feature = "second-parser")]
mod second_parser;
mod sed;
mod subcommand;
mod word;
mod wrapper;

use std::ops::Range;

pub(crate) use option::Options;
pub(crate) use subcommand::options_before_subcommand;

/// Maximum bytes of a text that is parsed.
const MAX_BYTES: usize = 1 << 20;
/// Maximum doubts that are recorded: one is enough to ask, and each is compared with the others.
const MAX_DOUBTS: usize = 32;
/// Maximum characters of a text without a doubt; a longer one is parsed, but always has one.
const MAX_CHARS: usize = 10_000;

/// An analyzed shell command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script {
    /// Every simple command, in the order of the text, including those in substitutions, in functions, and in text that a
    /// wrapper passes to a shell.
    pub commands: Vec<Command>,
    /// Every file that the shell itself would open for a redirection.
    pub files: Vec<OpenedFile>,
    /// Why the effect is uncertain; empty if it is not.
    pub doubts: Vec<Doubt>,
    /// Whether a command may run after a later one, because of a loop or a function.
    pub repeats: bool,
}

/// One simple command: a program or builtin with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The words after the wrappers, the program first.
    pub words: Vec<Word>,
    /// Variables that are set before it, or by it if it has no words.
    pub assignments: Vec<Assignment>,
    /// The wrappers in front of it, such as `timeout 5`.
    pub wrappers: Vec<String>,
    /// Its range in the analyzed text; empty for a command inside the text of a wrapper.
    pub place: Range<usize>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes if it is known; as written if not.
    pub text: String,
    /// False if bash would expand something in it: a variable, a substitution, a pattern, a brace.
    pub is_known: bool,
}

/// An assignment of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name of the variable.
    pub name: String,
    /// The new value.
    pub value: Word,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedFile {
    /// The path of the file.
    pub path: Word,
    /// Opened for writing (`>`, `>>`, `>|`, `&>`, `<>`), not only for reading.
    pub is_written: bool,
}

/// Why the effect of a script is uncertain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// A parser rejects it as not valid bash.
    Unreadable(String),
    /// It is too long.
    TooLong,
    /// The parsers do not agree on what would run.
    Disagreement(String),
    /// Only one parser read it, because this build has no second one.
    OneParser,
    /// A construct that is not analyzed.
    Unknown(String),
    /// The program is unknown before run time: `$X`, `$(...)`, `eval`.
    HiddenProgram(String),
    /// Bash treats a value as arithmetic and evaluates it: `$((x))`, `[[ $x -eq 1 ]]`.
    Evaluated(String),
    /// A here-document in a form that is not analyzed.
    Document(String),
}

/// Analyzes a command.
///
/// ```
/// let script = lariat_guard::shell::analyse("timeout 5 rm -rf \"a b\" && echo done > log");
/// let words: Vec<&str> = script.commands[0].words.iter().map(|word| word.text.as_str()).collect();
/// assert_eq!(words, ["rm", "-rf", "a b"]);
/// assert!(script.files[0].is_written);
/// assert!(script.doubts.is_empty());
/// assert!(!lariat_guard::shell::analyse("$X -rf .").doubts.is_empty());
/// ```
pub fn analyse(command: &str) -> Script {
    analyse_at(command, 0)
}

fn analyse_at(text: &str, depth: usize) -> Script {
    let mut script_builder = script_builder::ScriptBuilder { script: Script::default(), depth };
    if text.len() > MAX_CHARS && text.chars().count() > MAX_CHARS {
        script_builder.doubt(Doubt::TooLong);
        if text.len() > MAX_BYTES {
            return script_builder.script;
        }
    }
    if let Some(doubt) = unusual_character(text).or_else(|| inner_continuation(text)) {
        script_builder.doubt(doubt);
    }
    let parsed = scanner::read(text).unwrap_or_else(|| parse_twice(text, &script_builder.script.doubts));
    for doubt in &parsed.doubts {
        script_builder.doubt(doubt.clone());
    }
    script_builder.script.repeats |= parsed.repeats;
    parsed.commands.iter().for_each(|command| script_builder.command(command));
    parsed.files.iter().for_each(|file| script_builder.file(file));
    script_builder.script
}

/// Returns a doubt for a line continuation that is not between words. Bash joins the lines first, so `$\` and `X` on the next
/// line are `$X`, and parsers differ on what they see.
fn inner_continuation(text: &str) -> Option<Doubt> {
    let is_inner = |(at, _): &(usize, &str)| {
        let before = text.get(..*at).unwrap_or_default();
        let rest = before.trim_end_matches('\\');
        // After an odd number of further backslashes, this one is escaped.
        let continues = (before.len() - rest.len()) % 2 == 0;
        continues && !rest.is_empty() && !rest.ends_with(char::is_whitespace)
    };
    let found = text.match_indices("\\\n").any(|found| is_inner(&found));
    found.then(|| Doubt::Unknown("a line continuation inside a word".to_owned()))
}

/// Parses with both parsers. If they disagree, the result lists everything that either of them found, with a doubt. A
/// build without the second parser adds a doubt to every script.
fn parse_twice<'a>(text: &'a str, doubts: &[Doubt]) -> parsed::ParsedScript<'a> {
    let mut first = first_parser::read(text);
    // With a doubt the user is asked anyway, and the second parser is not built for very long texts.
    if !doubts.is_empty() || !first.doubts.is_empty() {
        return first;
    }
    #[cfg(feature = "second-parser")]
    compare(&mut first, second_parser::read(text));
    #[cfg(not(feature = "second-parser"))]
    first.doubt(Doubt::OneParser);
    first
}

#[cfg(feature = "second-parser")]
fn compare(first: &mut parsed::ParsedScript<'_>, second: parsed::ParsedScript<'static>) {
    let (ours, theirs) = (first.lines(), second.lines());
    if ours != theirs {
        let odd = ours
            .iter()
            .find(|line| !theirs.contains(line))
            .or_else(|| theirs.iter().find(|line| !ours.contains(line)));
        let odd = odd.map(|line| line.replace(['\u{1}', '\u{2}', '\u{3}'], " ")).unwrap_or_default();
        first.doubt(Doubt::Disagreement(odd));
        first.commands.extend(second.commands);
        first.files.extend(second.files);
    }
    first.repeats |= second.repeats;
    second.doubts.into_iter().for_each(|doubt| first.doubt(doubt));
}

/// Returns a doubt for a character that bash reads as a letter but that looks like a blank, or like nothing.
fn unusual_character(text: &str) -> Option<Doubt> {
    let is_odd = |c: char| match c {
        '\t' | '\n' | ' '..='~' => false,
        _ => c.is_control() || c.is_whitespace() || INVISIBLE.iter().any(|range| range.contains(&c)),
    };
    let c = text.chars().find(|c| is_odd(*c))?;
    let doubt = if c == '\0' { Doubt::Unreadable } else { Doubt::Unknown };
    Some(doubt(format!("the character U+{:04X}", u32::from(c))))
}

/// Characters that are invisible or change the direction of text.
const INVISIBLE: &[std::ops::RangeInclusive<char>] = &[
    '\u{AD}'..='\u{AD}',
    '\u{115F}'..='\u{1160}',
    '\u{17B4}'..='\u{17B5}',
    '\u{180B}'..='\u{180F}',
    '\u{200B}'..='\u{200F}',
    '\u{202A}'..='\u{202E}',
    '\u{2060}'..='\u{206F}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{FEFF}'..='\u{FEFF}',
    '\u{FFA0}'..='\u{FFA0}',
    '\u{FFF9}'..='\u{FFFB}',
    '\u{E0000}'..='\u{E01EF}',
];

#[cfg(test)]
mod tests;
