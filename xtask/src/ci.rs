//! Runs everything that a change must pass, and reports the result.
//!
//! The `steps` module lists the steps. Invariant: the first failing step ends the run with exit code 1, and
//! the report shows which steps did not run.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::disk::{gigabytes, usage};
use crate::steps::{Runner, steps};
use crate::workspace::Workspace;

/// Longest expected time of a run from an empty target directory on two cores. Exceeding it only prints a
/// note, because the machine may be slow.
const TIME_TARGET: Duration = Duration::from_secs(40 * 60);
/// Largest expected size of the target directory in bytes. Exceeding it only prints a note, because the
/// directory may contain other builds.
const SIZE_TARGET: u64 = 8_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proofs {
    Run,
    Skip,
}

/// The steps of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    WithoutProofs,
    /// The step with this name and those after it, to continue after a failure.
    From(String),
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) action: Action,
}

pub(crate) enum Action {
    Command(CommandLine),
    Check(fn(&Workspace) -> Result<()>),
}

/// The result of a step, with the size of the target directory after it in bytes.
enum Outcome {
    Passed(Duration, u64),
    Failed(Duration, u64),
    NotRun,
}

pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<()> {
    let proofs = if *selection == Selection::WithoutProofs { Proofs::Skip } else { Proofs::Run };
    let mut steps = steps(workspace, Runner::installed(workspace), proofs);
    if let Selection::From(name) = selection {
        let Some(start) = steps.iter().position(|step| step.name == name) else {
            let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
            bail!("unknown step `{name}`; the steps are {}", names.join(", "));
        };
        steps.drain(..start);
    }
    let mut report = Vec::new();
    let mut failure = None;
    for step in &steps {
        if failure.is_some() {
            report.push((step.name, Outcome::NotRun));
            continue;
        }
        println!("\n==> {}: {}", step.name, step.action);
        let start = Instant::now();
        let result = step.action.perform(workspace);
        let took = start.elapsed();
        let size = usage(workspace.root().join(workspace.target()));
        println!("<== {}: {}, target: {}", step.name, seconds(took), gigabytes(size));
        match result {
            Ok(()) => report.push((step.name, Outcome::Passed(took, size))),
            Err(error) => {
                report.push((step.name, Outcome::Failed(took, size)));
                failure = Some((step, error));
            }
        }
    }
    println!("\n{}", table(&report));
    match failure {
        None => Ok(()),
        Some((step, error)) => bail!("step `{}` failed: {error:#}", step.name),
    }
}

impl Step {
    pub(crate) fn command(name: &'static str, line: CommandLine) -> Self {
        Self { name, action: Action::Command(line) }
    }

    pub(crate) fn check(name: &'static str, check: fn(&Workspace) -> Result<()>) -> Self {
        Self { name, action: Action::Check(check) }
    }
}

impl Action {
    fn perform(&self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::Command(line) => line.run(workspace),
            Self::Check(check) => check(workspace),
        }
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(line) => line.fmt(formatter),
            Self::Check(_) => formatter.write_str("built-in check"),
        }
    }
}

fn table(report: &[(&str, Outcome)]) -> String {
    let width = report.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    let (mut total, mut largest) = (Duration::ZERO, 0);
    let mut row = |name: &str, word: &str, took: &str, size: &str| {
        text.push_str(format!("{name:width$}  {word:7}  {took:>9}  {size:>8}").trim_end());
        text.push('\n');
    };
    for (name, outcome) in report {
        let (word, measured) = match outcome {
            Outcome::Passed(took, size) => ("ok", Some((*took, *size))),
            Outcome::Failed(took, size) => ("FAILED", Some((*took, *size))),
            Outcome::NotRun => ("not run", None),
        };
        let (took, size) = measured.unwrap_or_default();
        total += took;
        largest = largest.max(size);
        let (took, size) = measured.map(|_| (seconds(took), gigabytes(size))).unwrap_or_default();
        row(name, word, &took, &size);
    }
    row("total", "", &seconds(total), &gigabytes(largest));
    if total > TIME_TARGET {
        text.push_str(&format!("slow: the run should take at most {} minutes\n", TIME_TARGET.as_secs() / 60));
    }
    if largest > SIZE_TARGET {
        text.push_str(&format!(
            "large: starting empty, the target directory should stay below {}\n",
            gigabytes(SIZE_TARGET)
        ));
    }
    text
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Outcome, table};

    #[test]
    fn report_shows_passed_failed_and_skipped_steps() {
        let report = [
            ("fmt", Outcome::Passed(Duration::from_millis(1_250), 1_300_000_000)),
            ("layers", Outcome::Failed(Duration::from_secs(2), 900_000_000)),
            ("test", Outcome::NotRun),
        ];
        let expected = "\
    fmt     ok           1.2 s    1.3 GB
layers  FAILED       2.0 s    0.9 GB
test    not run
total                3.2 s    1.3 GB
";
        assert_eq!(table(&report), expected);
    }

    #[test]
    fn report_notes_slow_runs_and_large_target_directories() {
        let large = [("test", Outcome::Passed(Duration::from_secs(2_401), 8_000_000_001))];
        let text = table(&large);
        assert!(text.contains("slow: ") && text.contains("large: "), "{text}");
        let fair = [("test", Outcome::Passed(Duration::from_secs(2_400), 8_000_000_000))];
        assert_eq!(table(&fair).lines().count(), 2);
    }
}
