//! Keeps the results of proofs: one small file for each row of the scoreboard, in `docs/scoreboard`.
//!
//! A file has a block for each command that passed: the command, the date, the commit, the seconds it took and the line in
//! which the proof states its result. Invariant: only a command that succeeded has a block.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::rows::{ROWS, Row};
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Longest result that is kept, in characters.
const LONGEST: usize = 160;

/// A command that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) seconds: u64,
    pub(super) result: String,
}

impl Entry {
    fn text(&self) -> String {
        let Self { command, date, commit, seconds, result } = self;
        format!("command: {command}\ndate: {date}\ncommit: {commit}\nseconds: {seconds}\nresult: {result}\n")
    }

    fn parse(block: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        Some(Self {
            command: field("command")?,
            date: field("date")?,
            commit: field("commit")?,
            seconds: field("seconds")?.parse().ok()?,
            result: field("result")?,
        })
    }

    /// The planted mistakes that the command caught; 0 if it plants none.
    pub(super) fn caught(&self) -> u64 {
        let plants = self.command.contains("--planted") || self.command.starts_with("mistakes");
        if !plants {
            return 0;
        }
        let digits = self.result.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
    }
}

fn path(row: &Row) -> String {
    format!("docs/scoreboard/{:02}.txt", row.number)
}

/// The kept results of a row that its commands still name, in their order.
pub(super) fn entries(workspace: &Workspace, row: &Row) -> Vec<Entry> {
    let text = workspace.read(&path(row)).unwrap_or_default();
    let kept: Vec<Entry> = text.split("\n\n").filter_map(Entry::parse).collect();
    let of = |command: &&str| kept.iter().find(|entry| entry.command == **command).cloned();
    row.commands.iter().filter_map(of).collect()
}

/// Replaces the results of some commands in the files of all rows that name them.
fn keep(workspace: &Workspace, new: &[Entry]) -> Result<()> {
    std::fs::create_dir_all(workspace.root().join("docs/scoreboard"))?;
    for row in ROWS {
        let old = entries(workspace, row);
        let mut text = String::new();
        for command in row.commands {
            let entry = new.iter().chain(&old).find(|entry| entry.command == *command);
            if let Some(entry) = entry {
                let gap = if text.is_empty() { "" } else { "\n" };
                let _ = write!(text, "{gap}{}", entry.text());
            }
        }
        if new.iter().any(|entry| row.commands.contains(&entry.command.as_str())) {
            workspace.write(&path(row), &text)?;
        }
    }
    Ok(())
}

/// Runs the commands of rows and keeps their results; or takes them from the log of `cargo xtask nightly`.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let date = CommandLine::of("date", "-u +%F").capture(workspace)?.trim().to_owned();
    let commit = CommandLine::of("git", "rev-parse --short=8 HEAD").capture(workspace)?.trim().to_owned();
    match arguments {
        [flag, log] if flag == "--log" => {
            let log = std::fs::read_to_string(log)?;
            let found = from_log(&log, &date, &commit);
            for entry in &found {
                println!("{}: {}", entry.command, entry.result);
            }
            keep(workspace, &found)
        }
        [] => bail!("`record` needs numbers of rows, or `--log FILE`"),
        numbers => {
            for number in numbers {
                let row = ROWS.iter().find(|row| row.number.to_string() == *number);
                let Some(row) = row else { bail!("no row {number}; the scoreboard has 1 to {}", ROWS.len()) };
                for command in row.commands {
                    println!("==> cargo xtask {command}");
                    let start = std::time::Instant::now();
                    let line = CommandLine::cargo("xtask").with_arguments(command.split(' '));
                    let output = line.run_and_keep_output(workspace)?;
                    let (seconds, result) = (start.elapsed().as_secs(), result_of(&output));
                    let command = (*command).to_owned();
                    keep(
                        workspace,
                        &[Entry { command, date: date.clone(), commit: commit.clone(), seconds, result }],
                    )?;
                }
            }
            super::write(workspace)
        }
    }
}

/// The results in a log of `cargo xtask nightly`, which names each command before it and after it passed.
fn from_log(log: &str, date: &str, commit: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let commands = ROWS.iter().flat_map(|row| row.commands);
    for command in commands {
        if found.iter().any(|entry| entry.command == *command) {
            continue;
        }
        let (shown, names) = match command.split_once(' ') {
            Some(("mistakes", names)) => ("mistakes", Some(names)),
            _ => (*command, None),
        };
        let Some((output, seconds)) = section(log, shown) else { continue };
        let result = match names {
            None => result_of(output),
            Some(names) => {
                let noticed =
                    output.lines().filter(|line| line.starts_with(names) && line.ends_with(": noticed"));
                match noticed.count() {
                    0 => continue,
                    count => format!("the tests caught all {count} planted mistakes"),
                }
            }
        };
        let (command, date, commit) = ((*command).to_owned(), date.to_owned(), commit.to_owned());
        found.push(Entry { command, date, commit, seconds, result });
    }
    found
}

/// The output of a command that passed, and its seconds.
fn section<'a>(log: &'a str, command: &str) -> Option<(&'a str, u64)> {
    let (_, after) = log.split_once(&format!("==> cargo xtask {command}\n"))?;
    let (output, end) = after.split_once(&format!("<== cargo xtask {command}: "))?;
    let seconds = end.split(' ').next()?.parse().ok()?;
    (!output.contains("\n==> cargo xtask ")).then_some((output, seconds))
}

/// The last line that states a figure, or the last line.
fn result_of(output: &str) -> String {
    let lines = || output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let stated = lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).or_else(|| lines().next());
    stated.unwrap_or("passed").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(command: &str, result: &str) -> Entry {
        let (date, commit) = ("2026-11-18".to_owned(), "01234567".to_owned());
        Entry { command: command.to_owned(), date, commit, seconds: 7, result: result.to_owned() }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = entry("crash --store sqlite", "412 kills: nothing lost");
        assert_eq!(Entry::parse(&entry.text()), Some(entry));
        assert_eq!(Entry::parse("command: crash\n"), None);
    }

    #[test]
    fn only_planted_commands_report_caught_mistakes() {
        assert_eq!(entry("sandbox --planted", "9 of 9 planted mistakes caught").caught(), 9);
        assert_eq!(entry("mistakes mcp:", "the tests caught all 12 planted mistakes").caught(), 12);
        assert_eq!(entry("session-stores --planted", "unclosed sessions noticed: true").caught(), 1);
        assert_eq!(entry("sandbox", "240 programs").caught(), 0);
    }

    #[test]
    fn a_log_yields_only_commands_that_passed() {
        let log = "\n==> cargo xtask sandbox\nprograms\n240 contained\n\n<== cargo xtask sandbox: 9 s\n\
            ==> cargo xtask sandbox --planted\nerror: not caught\n\
            ==> cargo xtask mistakes\nmcp: a: noticed\nmcp: b: noticed\nsecrets: c: NOT NOTICED\n\
            <== cargo xtask mistakes: 70 s\n";
        let found = from_log(log, "2026-11-18", "01234567");
        let found: Vec<(&str, u64, &str)> = found
            .iter()
            .map(|entry| (entry.command.as_str(), entry.seconds, entry.result.as_str()))
            .collect();
        let expected = [
            ("sandbox", 9, "240 contained"),
            ("mistakes mcp:", 70, "the tests caught all 2 planted mistakes"),
        ];
        assert_eq!(found, expected);
    }
}
