//! Turns words as written into commands that rules can match.
//!
//! In this order: removes quotes, looks through wrappers, analyzes the texts of inner shells, checks builtins. Every
//! command that a parser found ends up in the script, as it is or as what it runs, or there is a doubt.

use std::ops::Range;

use super::parsed::RawCommand;
use super::wrapper::{self, ShellText, WrappedProgram};
use super::{
    Assignment, Command, Doubt, MAX_DOUBTS, OpenedFile, Script, Word, builtins, names, parsed, word,
};

/// Maximum nesting of shells that is analyzed.
const MAX_DEPTH: usize = 6;

pub(super) struct ScriptBuilder {
    pub(super) script: Script,
    pub(super) depth: usize,
}

impl ScriptBuilder {
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.script.doubts.len() < MAX_DOUBTS && !self.script.doubts.contains(&doubt) {
            self.script.doubts.push(doubt);
        }
    }

    fn unknown(&mut self, what: impl Into<String>) {
        self.doubt(Doubt::Unknown(what.into()));
    }

    fn remove_quotes(&mut self, raw: &str) -> Word {
        word::remove_quotes(raw).unwrap_or_else(|_| {
            self.doubt(Doubt::Unreadable(format!("`{raw}` is not a word")));
            Word::unknown(raw)
        })
    }

    pub(super) fn file(&mut self, raw: &parsed::RawFile<'_>) {
        let path = self.remove_quotes(&raw.target);
        if path.text.starts_with("/dev/tcp/") || path.text.starts_with("/dev/udp/") {
            self.unknown("a network connection by redirection");
        }
        self.script.files.push(OpenedFile { path, is_written: raw.is_written });
    }

    pub(super) fn command(&mut self, raw: &RawCommand<'_>) {
        if raw.words.first().is_some_and(|word| names::RESERVED.contains(&word.as_ref())) {
            self.unknown("a reserved word in place of a program");
        }
        let target = raw.words.first().and_then(|word| word.split_once('=')).map(|(target, _)| target);
        if target.is_some_and(|target| names::is_name(target.strip_suffix('+').unwrap_or(target))) {
            self.unknown("an assignment in place of a program");
        }
        let assignments = raw.assignments.iter().map(|raw| self.assignment(raw)).collect();
        let words = raw.words.iter().map(|raw| self.remove_quotes(raw)).collect();
        self.unwrap_command(Command { words, assignments, wrappers: Vec::new(), place: raw.place.clone() });
    }

    fn assignment(&mut self, raw: &str) -> Assignment {
        let (target, value) = raw.split_once('=').unwrap_or((raw, ""));
        let name = target.strip_suffix('+').unwrap_or(target);
        let name = name.split('[').next().unwrap_or(name);
        let value = if value.starts_with('(') { Word::unknown(value) } else { self.remove_quotes(value) };
        self.set(name, &value);
        Assignment { name: name.to_owned(), value }
    }

    /// Checks a variable that is set to a value.
    fn set(&mut self, name: &str, value: &Word) {
        if names::is_dangerous_value(name, value.as_known()) {
            self.unknown(format!("the effect of setting `{name}` on other programs"));
        }
    }

    /// Looks through wrappers, one after the other.
    fn unwrap_command(&mut self, mut command: Command) {
        loop {
            match wrapper::wrapped_program(&command.words) {
                WrappedProgram::Nothing => break,
                WrappedProgram::Hidden => {
                    self.doubt_hidden_program(&command);
                    break;
                }
                WrappedProgram::Program { at, sets } => {
                    for (name, value) in sets {
                        self.set(&name, &value);
                        command.assignments.push(Assignment { name, value });
                    }
                    let rest = command.words.split_off(at);
                    let wrapper = std::mem::replace(&mut command.words, rest);
                    if wrapper.first().and_then(Word::as_known).map(wrapper::base) == Some("xargs") {
                        fill_in(&mut command.words, &wrapper);
                    }
                    command.wrappers.push(join_words(&wrapper));
                }
            }
        }
        self.program(command);
    }

    fn doubt_hidden_program(&mut self, command: &Command) {
        self.doubt(Doubt::HiddenProgram(join_words(&command.words)));
    }

    /// Adds a command without wrappers.
    fn program(&mut self, command: Command) {
        let Some(first) = command.words.first() else {
            self.script.commands.push(command);
            return;
        };
        let name = first.as_known().map(|name| wrapper::base(name).to_owned());
        match wrapper::shell_text(&command.words) {
            ShellText::Nothing => {}
            ShellText::Hidden => self.doubt_hidden_program(&command),
            ShellText::Known { text, is_ours } => {
                if !is_ours {
                    self.unknown("a shell with another language");
                }
                let mut wrappers = command.wrappers.clone();
                wrappers.push(format!("{} -c", first.text));
                if self.analyse_inner_shell(text, &wrappers) {
                    return;
                }
            }
        }
        match name.as_deref() {
            None => self.doubt_hidden_program(&command),
            Some("find") => self.add_find_commands(&command),
            Some("flock" | "watch" | "su" | "script" | "runuser") => {
                self.unknown("a program that runs a text as a command")
            }
            Some("eval" | "trap") => {
                if let Some(text) = command.words.get(1..).map(join_words) {
                    self.analyse_inner_shell(&text, &command.wrappers);
                }
            }
            Some(_) => {}
        }
        if let Some(doubt) = builtins::doubt(&command.words) {
            self.doubt(doubt);
        }
        self.script.commands.push(command);
    }

    /// Analyzes the text that an inner shell would run. Returns false if there is nothing in it.
    fn analyse_inner_shell(&mut self, text: &str, wrappers: &[String]) -> bool {
        if self.depth >= MAX_DEPTH {
            self.unknown("a deeply nested shell");
            return false;
        }
        let inner = super::analyse_at(text, self.depth + 1);
        let has_commands = !inner.commands.is_empty();
        for mut command in inner.commands {
            command.place = Range::default();
            command.wrappers.splice(0..0, wrappers.iter().cloned());
            self.script.commands.push(command);
        }
        self.script.files.extend(inner.files);
        self.script.repeats |= inner.repeats;
        inner.doubts.into_iter().for_each(|doubt| self.doubt(doubt));
        has_commands
    }

    /// Adds what `find` runs for each file.
    fn add_find_commands(&mut self, command: &Command) {
        let mut rest = command.words.as_slice();
        while let Some(at) =
            rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            rest = rest.get(at + 1..).unwrap_or_default();
            let end =
                rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
            let (run, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = after;
            let words = run
                .iter()
                .map(|word| if word.text.contains("{}") { Word::unknown(&word.text) } else { word.clone() });
            let mut wrappers = command.wrappers.clone();
            wrappers.push("find -exec".to_owned());
            self.unwrap_command(Command {
                words: words.collect(),
                assignments: Vec::new(),
                wrappers,
                place: Range::default(),
            });
        }
    }
}

/// Marks the words that `xargs` fills in as unknown: in place of a mark or at the end.
fn fill_in(words: &mut Vec<Word>, wrapper: &[Word]) {
    let mut mark = None;
    let mut options = wrapper.iter().filter_map(Word::as_known);
    while let Some(option) = options.next() {
        mark = match option.strip_prefix("-I") {
            Some("") => options.next(),
            Some(attached) => Some(attached),
            None => option.strip_prefix("--replace=").or(mark),
        };
    }
    match mark {
        Some(mark) => {
            for word in words.iter_mut().filter(|word| word.text.contains(mark)) {
                word.is_known = false;
            }
        }
        None => words.push(Word::unknown("")),
    }
}

fn join_words(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
