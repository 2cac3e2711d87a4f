//! Generates docs/scoreboard.md from kept results: what is proven, how large the last run was, and what is missing.
//!
//! Invariant: a row is green only if every one of its commands passed in full size, planted mistakes were caught, and
//! nothing of the row is missing.

mod guarantees;
mod record;
mod rows;

use std::fmt::Write as _;

use anyhow::Result;

use crate::workspace::Workspace;
use record::Entry;
use rows::{Gap, ROWS, Row};

pub(crate) use record::run as record;

const PAGE: &str = "docs/scoreboard.md";

/// Planted mistakes that a row must catch: a proof that cannot fail proves nothing.
const LEAST_CAUGHT: u64 = 3;

const HEAD: &str = "# Scoreboard

You want to know what is proven, by which command, and when it last ran. `cargo xtask scoreboard` writes this page from the results in `docs/scoreboard`;
`cargo xtask record ROW` runs the commands of a row and keeps their results. [guarantees.md](guarantees.md) says what each proof is worth.

A row is green if all of its commands passed in full size, at least three planted mistakes were caught, and nothing that the row asks for is missing. A run
without a failure in N independent cases means a rate below 3/N with 95 % confidence.

";

const TAIL: &str = "
Not measured here: how often real models obey injected text, terminal-bench, SWE-bench, sandboxes of macOS and Windows, a real power cut, networks that split
between several machines.
";

/// The commands of all rows.
#[cfg(test)]
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|row| row.commands).copied()
}

/// Writes the page.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    guarantees::check(workspace)?;
    workspace.write(PAGE, &page(workspace))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// The state of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Green,
    Partial(String),
    Waiting(&'static str),
}

impl State {
    fn of(row: &Row, entries: &[Entry]) -> Self {
        let caught: u64 = entries.iter().map(Entry::caught).sum();
        let unrecorded = row.commands.len() - entries.len();
        match row.gap {
            Gap::Waiting(what) => Self::Waiting(what),
            Gap::Partial(what) => Self::Partial(format!("missing: {what}")),
            Gap::None if unrecorded > 0 => {
                Self::Partial(format!("{unrecorded} of {} commands not recorded", row.commands.len()))
            }
            Gap::None if caught < LEAST_CAUGHT => {
                Self::Partial(format!("{caught} of {LEAST_CAUGHT} planted mistakes"))
            }
            Gap::None => Self::Green,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Green => "**green**".to_owned(),
            Self::Partial(what) => format!("partial; {what}"),
            Self::Waiting(what) => format!("waiting for {what}"),
        }
    }
}

fn page(workspace: &Workspace) -> String {
    let rows: Vec<(&Row, Vec<Entry>)> =
        ROWS.iter().map(|row| (row, record::entries(workspace, row))).collect();
    let green = rows.iter().filter(|(row, entries)| State::of(row, entries) == State::Green).count();
    let mut planted: Vec<&Entry> = rows.iter().flat_map(|(_, entries)| entries).collect();
    planted.sort_by(|one, other| one.command.cmp(&other.command));
    planted.dedup_by(|one, other| one.command == other.command);
    let caught: u64 = planted.iter().map(|entry| entry.caught()).sum();
    let mut text = HEAD.to_owned();
    let _ = writeln!(text, "**{green} of {} rows green, {caught} planted mistakes caught.**\n", ROWS.len());
    text.push_str(
        "| # | proof | command | last run | caught | state |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for (row, entries) in &rows {
        let _ = writeln!(text, "{}", line(row, entries));
    }
    text.push_str(TAIL);
    text
}

fn line(row: &Row, entries: &[Entry]) -> String {
    let commands: Vec<String> =
        row.commands.iter().map(|command| format!("`cargo xtask {command}`")).collect();
    let shown = |entry: &Entry| {
        let Entry { command, date, commit, seconds, result } = entry;
        format!("{date} at {commit}, {seconds} s: `{command}`: {}", result.replace('|', "\\|"))
    };
    let runs: Vec<String> = entries.iter().map(shown).collect();
    let caught: u64 = entries.iter().map(Entry::caught).sum();
    format!(
        "| {} | {}: {} | {} | {} | {caught} | {} |",
        row.number,
        row.title,
        row.target,
        commands.join("<br>"),
        runs.join("<br>"),
        State::of(row, entries).text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::menu;

    #[test]
    fn the_page_is_up_to_date() {
        let workspace = Workspace::repository();
        let kept = workspace.read(PAGE).unwrap_or_default();
        assert!(kept == page(&workspace), "{PAGE} is stale; run `cargo xtask scoreboard`");
        assert!(
            workspace.read("README.md").unwrap().contains(PAGE),
            "README.md does not link the scoreboard"
        );
    }

    #[test]
    fn rows_are_numbered_and_their_commands_parse() {
        for (row, number) in ROWS.iter().zip(1..) {
            assert_eq!(row.number, number);
            for command in row.commands {
                let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
                assert!(menu::parse(&words).is_ok(), "row {number}: {command}");
            }
            assert!(row.commands.is_empty() == matches!(row.gap, Gap::Waiting(_)), "row {number}");
        }
        assert_eq!(ROWS.len(), 25);
    }

    #[test]
    fn a_row_is_green_only_with_every_command_and_three_mistakes() {
        let row = Row {
            number: 1,
            title: "t",
            target: "s",
            commands: &["sandbox", "sandbox --planted"],
            gap: Gap::None,
        };
        let entry = |command: &str, result: &str| Entry {
            command: command.to_owned(),
            date: "2026-11-18".to_owned(),
            commit: "01234567".to_owned(),
            seconds: 1,
            result: result.to_owned(),
        };
        let (run, planted) = (entry("sandbox", "240"), entry("sandbox --planted", "3 of 3 caught"));
        assert_eq!(State::of(&row, &[run.clone(), planted.clone()]), State::Green);
        assert!(matches!(State::of(&row, std::slice::from_ref(&run)), State::Partial(_)));
        assert!(matches!(
            State::of(&row, &[run.clone(), entry("sandbox --planted", "2 of 3")]),
            State::Partial(_)
        ));
        let row = Row { gap: Gap::Partial("races"), ..row };
        assert!(matches!(State::of(&row, &[run, planted]), State::Partial(what) if what.contains("races")));
    }
}
