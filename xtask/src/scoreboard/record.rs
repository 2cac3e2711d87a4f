//! Keeps the results of proofs: one small file for each row of the scoreboard, in `docs/scoreboard`.
//!
//! A file has a block for each command that passed: the command, the date, the commit, the seconds it took and the line in
//! which the proof states its result. Invariant: only a command that succeeded has a block.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::rows::{ROWS, Row};
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Longest result that is kept, in characters.
const LONGEST: usize = 160;
/// Words of the line in which a proof counts what went wrong.
const FAULTS: [&str; 9] = [
    "violations",
    " wrong",
    " faults",
    "took effect",
    "did harm",
    "all cases",
    "executed-but-not-judged",
    "forbidden peers",
    "guarantees held",
];

/// How lines begin that are never a result.
const NOISE: [&str; 2] = ["test result:", "LARIAT_SEED="];

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
        if !plants(&self.command) {
            return 0;
        }
        let digits = self.result.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
    }
}

/// Whether a command plants mistakes.
fn plants(command: &str) -> bool {
    command.contains("--planted") || command.starts_with("mistakes")
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
///
/// `--missing` runs only commands without a kept result, of all rows if none is named. A command that fails keeps nothing, and
/// the others run all the same.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let stamp = Stamp::now(workspace)?;
    if let [flag, log] = arguments
        && flag == "--log"
    {
        let found = from_log(&std::fs::read_to_string(log)?, &stamp);
        for entry in &found {
            println!("{}: {}", entry.command, entry.result);
        }
        keep(workspace, &found)?;
        return super::write(workspace);
    }
    let (flags, numbers): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    let selection = match flags.as_slice() {
        [] => Selection::All,
        [flag] if *flag == "--missing" => Selection::Missing,
        _ => bail!("`record` accepts numbers of rows and `--missing`, or `--log FILE`"),
    };
    let rows = rows(&numbers)?;
    if rows.is_empty() && selection == Selection::All {
        bail!("`record` needs numbers of rows, `--missing`, or `--log FILE`");
    }
    let rows = if rows.is_empty() { ROWS.iter().collect() } else { rows };
    let mut failed = Vec::new();
    for row in rows {
        for command in row.commands {
            // Read each time: rows share commands.
            let is_kept = entries(workspace, row).iter().any(|entry| entry.command == *command);
            if is_kept && selection == Selection::Missing {
                continue;
            }
            println!("==> row {}: cargo xtask {command}", row.number);
            let start = Instant::now();
            match CommandLine::cargo("xtask")
                .with_arguments(command.split(' '))
                .run_and_keep_output(workspace)
            {
                Ok(output) => {
                    keep(
                        workspace,
                        &[stamp.entry(command, start.elapsed().as_secs(), result_of(command, &output))],
                    )?;
                    super::write(workspace)?;
                }
                Err(error) => {
                    println!("<== row {}: cargo xtask {command}: {error}", row.number);
                    failed.push(*command);
                }
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("these commands failed: {}", failed.join(", ")) }
}

/// Which commands of a row to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selection {
    All,
    Missing,
}

fn rows(numbers: &[&String]) -> Result<Vec<&'static Row>> {
    let find = |number: &&String| {
        let row = ROWS.iter().find(|row| row.number.to_string() == **number);
        row.with_context(|| format!("no row {number}; the scoreboard has 1 to {}", ROWS.len()))
    };
    numbers.iter().map(find).collect()
}

/// When, and on which sources, results were obtained.
struct Stamp {
    date: String,
    commit: String,
}

impl Stamp {
    fn now(workspace: &Workspace) -> Result<Self> {
        let date = CommandLine::of("date", "-u +%F").capture(workspace)?.trim().to_owned();
        let commit = CommandLine::of("git", "rev-parse --short=8 HEAD").capture(workspace)?.trim().to_owned();
        Ok(Self { date, commit })
    }

    fn entry(&self, command: &str, seconds: u64, result: String) -> Entry {
        let (command, date, commit) = (command.to_owned(), self.date.clone(), self.commit.clone());
        Entry { command, date, commit, seconds, result }
    }
}

/// The results in a log of `cargo xtask nightly`, which names each command before it and after it passed.
fn from_log(log: &str, stamp: &Stamp) -> Vec<Entry> {
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
            None => result_of(command, output),
            Some(names) => {
                // A mistake with several tests has several lines.
                let noticed: BTreeSet<&str> = output
                    .lines()
                    .filter(|line| line.starts_with(names) && line.ends_with(": noticed"))
                    .collect();
                match noticed.len() {
                    0 => continue,
                    count => format!("the tests caught all {count} planted mistakes"),
                }
            }
        };
        found.push(stamp.entry(command, seconds, result));
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

/// What a proof states at its end.
fn result_of(command: &str, output: &str) -> String {
    let result = if plants(command) { caught_in(output) } else { stated_in(output) };
    let words: Vec<&str> = result.split_whitespace().collect();
    shortened(&words.join(" "))
}

/// At most [`LONGEST`] characters, and then what counts faults.
fn shortened(text: &str) -> String {
    let start: String = text.chars().take(LONGEST).collect();
    if start.len() == text.len() {
        return start;
    }
    let counts = |part: &&str| FAULTS.iter().any(|word| part.contains(word));
    match text.split([';', ',']).find(counts).filter(|part| !start.contains(part)) {
        Some(part) => format!("{start}… {}", part.trim()),
        None => format!("{start}…"),
    }
}

/// The last line that counts what went wrong; else the last that states a figure; else the last. Neither the summary of a test
/// program nor the seed that repeats a run is a result.
fn stated_in(output: &str) -> String {
    let lines = || {
        let lines = output.lines().rev().map(str::trim);
        lines.filter(|line| !line.is_empty() && !NOISE.iter().any(|start| line.starts_with(start)))
    };
    let states = |line: &&str| line.contains(|c: char| c.is_ascii_digit());
    let counts = |line: &&str| states(line) && FAULTS.iter().any(|word| line.contains(word));
    let line = lines().find(counts).or_else(|| lines().find(states)).or_else(|| lines().next());
    line.unwrap_or("passed").to_owned()
}

/// How many mistakes a proof caught: as it says, or one for each name before `noticed`.
fn caught_in(output: &str) -> String {
    let total = output.lines().rev().find(|line| line.contains("planted mistakes caught"));
    if let Some(total) = total {
        return total.to_owned();
    }
    // One mistake may be tried with several backends.
    let name = |line: &str| {
        let name = line.split_once("noticed")?.0.split_whitespace().next_back()?;
        Some(name.trim_end_matches(':').to_owned())
    };
    let names: BTreeSet<String> =
        output.lines().filter(|line| !line.starts_with("every mistake")).filter_map(name).collect();
    // A proof with one mistake passes only if it caught it.
    format!("{} planted mistakes caught", names.len().max(1))
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
    fn caught_mistakes_are_those_that_the_proof_names_and_no_other_figure() {
        let by_name = "bwrap no-sandbox   noticed: 93 of 93 cases escaped\nNoGate: noticed: 7 of 10\nNoGate: noticed: 9 of 10\n\
            every mistake was noticed in 49 s\n";
        assert_eq!(result_of("sandbox --planted", by_name), "2 planted mistakes caught");
        let by_total = "a noticed\n5 of 5 planted mistakes caught\nseconds 9\n";
        assert_eq!(result_of("egress --planted", by_total), "5 of 5 planted mistakes caught");
        assert_eq!(
            result_of("disk-faults --planted", "ignores: position 33 twice\n"),
            "1 planted mistakes caught"
        );
        assert_eq!(result_of("simulate", "violations      0\nseconds   9 (2/s)\n"), "violations 0");
        let test = "200 kills, 0 lost\nLARIAT_SEED=7 repeats it\ntest kills ... ok\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(result_of("kill-host", test), "200 kills, 0 lost");
        let long = format!("0 wrong, {}", "é".repeat(300));
        assert_eq!(result_of("escape", &long), format!("0 wrong, {}…", "é".repeat(151)));
        let hidden = format!("{}, 3 wrong, 9 s", "é".repeat(300));
        assert_eq!(result_of("escape", &hidden), format!("{}… 3 wrong", "é".repeat(160)));
    }

    #[test]
    fn a_log_yields_only_commands_that_passed() {
        let log = "\n==> cargo xtask sandbox\nprograms\n240 contained\n\n<== cargo xtask sandbox: 9 s\n\
            ==> cargo xtask sandbox --planted\nerror: not caught\n\
            ==> cargo xtask mistakes\nmcp: a: noticed\nmcp: a: noticed\nmcp: b: noticed\nsecrets: c: NOT NOTICED\n\
            <== cargo xtask mistakes: 70 s\n";
        let stamp = Stamp { date: "2026-11-18".to_owned(), commit: "01234567".to_owned() };
        let found = from_log(log, &stamp);
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
