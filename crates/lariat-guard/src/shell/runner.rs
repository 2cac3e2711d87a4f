//! Decides whether a command runs what its arguments say.
//!
//! A rule never covers such a command by the beginning of its words, and it is never read-only: `python *` is everything,
//! while `python -m json.tool` is one thing. The table of programs is in `runner_table`.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::runner_table::{ALWAYS, GIT_ANY, GIT_GLOBAL, GIT_OWN, GIT_RUNNING, INTERPRETERS, Runs, SOMETIMES};
use super::sed::{self, SedUse};
use super::subcommand::options_before_subcommand;
use super::wrapper::{base, is_shell};
use super::{Command, Word};

/// What in an `awk` program runs, reads or writes something.
const AWK: &[&str] = &["system", "|", ">", "getline", "@", "\\\n"];

impl Command {
    /// Returns the name of the program without its directory, if it is known.
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::as_known).map(base)
    }

    /// Whether the program interprets programs: a shell, `python`, `node`, `psql`, `source`.
    pub fn is_interpreter(&self) -> bool {
        self.program()
            .is_some_and(|program| is_shell(program) || INTERPRETER_NAMES.contains(strip_version(program)))
    }

    /// Whether its arguments or its input are run: interpreters, `xargs`, `find -exec`, `git -c`, `npx`, `make`. A rule must
    /// name such a command in full.
    pub fn runs_its_arguments(&self) -> bool {
        self.runs(|found| found != SedUse::Plain)
    }

    /// Whether these words, as the beginning of a command, already make it run code.
    pub(crate) fn begins_to_run(&self) -> bool {
        self.runs(|found| found == SedUse::Unknown)
    }

    /// Whether the program is in a table, so that it is known what it does with its arguments.
    pub(crate) fn is_in_a_table(&self) -> bool {
        self.program().is_some_and(|program| {
            self.is_interpreter() || is_always(program) || SOMETIMES.iter().any(|(name, _)| *name == program)
        })
    }

    fn runs(&self, runs_as_sed: fn(SedUse) -> bool) -> bool {
        let Some(program) = self.program() else { return true };
        if self.is_interpreter() || is_always(program) {
            return true;
        }
        let Some((_, runs)) = SOMETIMES.iter().find(|(name, _)| *name == program) else { return false };
        let arguments = self.words.get(1..).unwrap_or_default();
        match runs {
            Runs::With { options, words } => {
                let is_word =
                    |word: &Word| words.split(' ').any(|listed| !listed.is_empty() && word.text == listed);
                options.are_in(arguments)
                    || arguments.iter().any(|word| word.may_be_option() || is_word(word))
            }
            Runs::Awk => !is_plain_awk(arguments),
            Runs::Git => git(arguments),
            Runs::SedUse => runs_as_sed(sed::classify(arguments)),
        }
    }
}

static INTERPRETER_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| names(INTERPRETERS));
static ALWAYS_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| names(ALWAYS));
static GIT_RUNNING_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| names(GIT_RUNNING));

/// The names in the lines of a table.
fn names(lines: &[&'static str]) -> HashSet<&'static str> {
    lines.iter().flat_map(|line| line.split(' ')).collect()
}

/// Whether a program always runs its arguments. The dynamic loader has many names and runs the program it is given.
fn is_always(program: &str) -> bool {
    let is_loader = (program.starts_with("ld-") || program.starts_with("ld.")) && program.contains("so");
    is_loader || ALWAYS_NAMES.contains(program)
}

fn git(arguments: &[Word]) -> bool {
    let before = options_before_subcommand("git", arguments.iter().map(|word| word.text.as_str()));
    let (global, rest) = arguments.split_at_checked(before).unwrap_or((arguments, &[]));
    if global.iter().any(|word| word.may_be_option() || GIT_GLOBAL.has(&word.text)) {
        return true;
    }
    let Some((subcommand, rest)) = rest.split_first() else { return false };
    let Some(name) = subcommand.as_known() else { return true };
    let own = GIT_OWN.iter().find(|(listed, _)| *listed == name).map(|(_, options)| options);
    let reaches = |word: &Word| word.text.contains("ext::") || word.text.contains("fd::");
    GIT_RUNNING_NAMES.contains(name)
        || GIT_ANY.are_in(rest)
        || own.is_some_and(|options| options.are_in(rest))
        || rest
            .iter()
            .enumerate()
            .any(|(at, word)| reaches(word) || word.may_be_option() && !is_message(name, rest, at))
}

/// Whether a word is the message of `git commit -m "$(cat …)"`: whatever it expands to, it stays one word.
fn is_message(subcommand: &str, arguments: &[Word], at: usize) -> bool {
    let takes = matches!(subcommand, "commit" | "tag" | "merge" | "stash");
    let is_one_word = arguments.get(at).is_some_and(|word| !word.may_become_several());
    let before = at.checked_sub(1).and_then(|at| arguments.get(at)).and_then(Word::as_known);
    takes && is_one_word && before.is_some_and(|option| matches!(option, "-m" | "-am" | "--message"))
}

/// Strips the version: `python3.12` is `python`.
fn strip_version(program: &str) -> &str {
    let end = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if end.is_empty() || end.len() == program.len() { program } else { end }
}

/// Whether the arguments are only `-F`, `-v` and a program that runs, reads and writes nothing.
fn is_plain_awk(arguments: &[Word]) -> bool {
    if !arguments.iter().all(|word| word.is_known) {
        return false;
    }
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "-F" | "-v" => drop(words.next()),
            "--" => {
                return words.next().is_none_or(|program| !AWK.iter().any(|name| program.contains(name)));
            }
            _ if word.starts_with("-F") || word.starts_with("-v") => {}
            _ if word.starts_with('-') => return false,
            program => return !AWK.iter().any(|name| program.contains(name)),
        }
    }
    true
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
