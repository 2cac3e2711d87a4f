//! Compares what ran with what the analysis listed.
//!
//! The rule: every program that started is listed by name with the same words, and every file that a shell
//! opened for writing is listed; or the script is uncertain, or a part of it is marked as running its
//! arguments.

use std::collections::HashSet;

use lariat_guard::shell::{Command, Script};

use super::trace::TracedCommand;

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) is_doubted: bool,
    /// Whether a part is marked as running its arguments.
    pub(crate) is_runner: bool,
    pub(crate) is_stopped: bool,
    pub(crate) started: usize,
    pub(crate) written: usize,
    /// How many of those were judged because they are listed.
    pub(crate) judged: usize,
    pub(crate) faults: Vec<String>,
}

pub(crate) fn judge(script: &Script, seen: &TracedCommand) -> Verdict {
    let mut verdict = Verdict {
        is_doubted: !script.doubts.is_empty(),
        is_runner: script.commands.iter().any(Command::runs_its_arguments),
        is_stopped: seen.is_stopped,
        started: seen.started.len(),
        written: seen.written.len(),
        ..Verdict::default()
    };
    if verdict.is_doubted || verdict.is_runner {
        return verdict;
    }
    let wrappers: HashSet<&str> = script
        .commands
        .iter()
        .flat_map(|command| &command.wrappers)
        .filter_map(|wrapper| wrapper.split(' ').next().map(base))
        .collect();
    for (path, words) in &seen.started {
        let name = base(path);
        let listed = script.commands.iter().filter(|command| command.program() == Some(name));
        let is_listed = wrappers.contains(name) || listed.clone().next().is_some();
        let is_same =
            wrappers.contains(name) || listed.clone().any(|command| has_words(command, words.as_deref()));
        match (is_listed, is_same) {
            (false, _) => verdict.faults.push(format!("`{path}` ran and is not listed")),
            (true, false) => {
                verdict.faults.push(format!("`{name}` ran with words that are not listed: {words:?}"))
            }
            (true, true) => verdict.judged += 1,
        }
    }
    for path in &seen.written {
        let mut written = script.files.iter().filter(|file| file.is_written);
        if written.any(|file| !file.path.is_known || base(&file.path.text) == base(path)) {
            verdict.judged += 1;
        } else {
            verdict.faults.push(format!("`{path}` was opened for writing and is not listed"));
        }
    }
    verdict
}

/// The words after the program, if all of them are known.
fn has_words(command: &Command, words: Option<&[String]>) -> bool {
    let Some(words) = words else { return true };
    let listed = command.words.get(1..).unwrap_or_default();
    listed.iter().any(|word| !word.is_known)
        || listed.iter().map(|word| word.text.as_str()).eq(words.iter().skip(1).map(String::as_str))
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
