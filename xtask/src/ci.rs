//! Everything a change must pass, in the order that finds a fault soonest.
//!
//! Owns the list of steps and the report. What a step checks is its own module's.
//! Invariant: the first step that fails ends the run with exit code 1, and the report shows which steps never
//! ran.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::deny::Scope;
use crate::workspace::Workspace;
use crate::{bench::Bench, core_deps, deny, docs, docs_links, layers, proof, sdk, servers, simulate, wire};

/// Seeds of the short proof: enough to meet every planted bug, little enough to wait for.
const SHORT_SEEDS: &str = "20000";

/// The crates that the planted bugs are compiled into.
const PLANTED_CRATES: &str = "-p lariat-core -p lariat-runtime -p lariat-testkit";

/// The vendors' own credential chains are behind features that nothing else in the workspace enables.
const CLIPPY_FEATURES: &str = "clippy -p lariat-model --lib --locked --features aws,google -- -D warnings";

/// The machine's own tests must catch its planted mistakes, too.
const PLANTED_TESTS: &str = "test -p lariat-core --lib --locked --features planted -- planted";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proofs {
    Run,
    Skip,
}

struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    Command(CommandLine),
    Check(fn(&Workspace) -> Result<()>),
}

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

/// What runs the unit and integration tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    /// The fallback: stops at the first failing binary and has no time limits.
    CargoTest,
}

pub(crate) fn run(workspace: &Workspace, proofs: Proofs) -> Result<()> {
    let steps = steps(workspace, Runner::installed(workspace), proofs)?;
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
        println!("<== {}: {}", step.name, seconds(took));
        match result {
            Ok(()) => report.push((step.name, Outcome::Passed(took))),
            Err(error) => {
                report.push((step.name, Outcome::Failed(took)));
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

fn steps(workspace: &Workspace, runner: Runner, proofs: Proofs) -> Result<Vec<Step>> {
    let clippy = CommandLine::cargo("clippy --workspace --all-targets --locked -- -D warnings");
    let clippy_planted = CommandLine::cargo("clippy")
        .with_arguments(PLANTED_CRATES.split(' '))
        .with_arguments("--all-targets --locked --features lariat-testkit/planted -- -D warnings".split(' '));
    let mut steps = vec![
        Step::command("fmt", CommandLine::cargo("fmt --all --check")),
        Step::check("layers", layers::run),
        Step::check("core-deps", core_deps::run),
        Step::check("docs-links", docs_links::run),
        Step::check("deny", |workspace| deny::run(workspace, Scope::Offline)),
        Step::command("clippy", clippy),
        Step::command("clippy-planted", clippy_planted),
        Step::command("clippy-features", CommandLine::cargo(CLIPPY_FEATURES)),
        Step::command("clippy-proofs", proof::clippy()),
        Step::command("docs", docs::command_line()),
        Step::command("test", runner.command_line()),
        Step::command("test-planted", CommandLine::cargo(PLANTED_TESTS)),
        Step::command("doc-test", CommandLine::cargo("test --doc --workspace --locked")),
        Step::command("example", CommandLine::cargo("run --quiet --locked -p lariat --example embed")),
    ];
    if proofs == Proofs::Run {
        steps.extend(short_proofs(workspace)?);
    }
    Ok(steps)
}

fn short_proofs(workspace: &Workspace) -> Result<Vec<Step>> {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let seeds = words(&format!("--seeds {SHORT_SEEDS}"));
    Ok(vec![
        Step::command("simulate", simulate::command_line(workspace, &seeds)),
        Step::command("simulate-planted", simulate::command_line(workspace, &words("--planted"))),
        Step::command("sse", wire::command_line("sse", &words("--streams 3 --random 20"))),
        Step::command("histories", wire::command_line("histories", &words("--count 2000"))),
        Step::command("faults", wire::command_line("faults", &[])),
        Step::command("prefix", wire::command_line("prefix", &words("--runs 1"))),
        Step::command("prefix-planted", wire::command_line("prefix", &words("--planted --turns 60"))),
        Step::command(
            "crash-sqlite",
            proof::one_of("store", "crash", &words("--store sqlite --points 12 --random 20")),
        ),
        Step::command(
            "crash-jsonl",
            proof::one_of("store", "crash", &words("--store jsonl --points 12 --random 20")),
        ),
        Step::command(
            "crash-postgres",
            proof::one_of("store", "crash", &words("--store postgres --points 6 --random 20")),
        ),
        Step::command("crash-planted", proof::one_of("store", "crash", &words("--store sqlite --planted"))),
        Step::command(
            "disk-faults-sqlite",
            proof::one_of("store", "disk-faults", &words("--store sqlite --points 6")),
        ),
        Step::command(
            "disk-faults-jsonl",
            proof::one_of("store", "disk-faults", &words("--store jsonl --points 6")),
        ),
        Step::command(
            "disk-faults-planted",
            proof::one_of("store", "disk-faults", &words("--store sqlite --planted")),
        ),
        Step::command(
            "power-loss-sqlite",
            proof::one_of("store", "power-loss", &words("--store sqlite --images 300")),
        ),
        Step::command(
            "power-loss-jsonl",
            proof::one_of("store", "power-loss", &words("--store jsonl --images 300")),
        ),
        Step::command("power-loss-planted", proof::one_of("store", "power-loss", &words("--planted"))),
        Step::command(
            "writers-sqlite",
            proof::one_of("store", "writers", &words("--store sqlite --rounds 60")),
        ),
        Step::command(
            "writers-jsonl",
            proof::one_of("store", "writers", &words("--store jsonl --rounds 60")),
        ),
        Step::command(
            "writers-planted",
            proof::one_of("store", "writers", &words("--store sqlite --rounds 60 --planted")),
        ),
        Step::command("escape", proof::alone("escape", &words("--operations 50000"))),
        Step::command("escape-planted", proof::alone("escape", &words("--planted"))),
        Step::command("sandbox", proof::one_of("host", "sandbox", &[])),
        Step::command("sandbox-planted", proof::one_of("host", "sandbox", &words("--planted"))),
        Step::command("processes", proof::one_of("host", "processes", &words("--runs 60"))),
        Step::command("processes-planted", proof::one_of("host", "processes", &words("--planted"))),
        Step::command("undo", proof::alone("undo", &words("--sequences 60"))),
        Step::command("undo-planted", proof::alone("undo", &words("--planted"))),
        Step::command("shell-diff", proof::shell(&words("--count 2000"))),
        Step::command("shell-diff-planted", proof::shell(&words("--planted"))),
        Step::command("injections", proof::with_own_mistakes("injections", &words("--count 300"))),
        Step::command("injections-planted", proof::with_own_mistakes("injections", &words("--planted"))),
        Step::command("hostile-repos", proof::with_own_mistakes("repos", &[])),
        Step::command("hostile-repos-planted", proof::with_own_mistakes("repos", &words("--planted"))),
        Step::check("sdk", sdk::run),
        Step::check("servers", servers::run),
        Step::command("bench-machine", Bench::parse(&words("machine --short"))?.command_line(workspace)),
        Step::command("bench-gate", Bench::parse(&words("gate --short"))?.command_line(workspace)),
        Step::command("bench-runs", Bench::parse(&words("runs --short"))?.command_line(workspace)),
        Step::command("bench-store", Bench::parse(&words("store --short"))?.command_line(workspace)),
        Step::command("bench-tools", Bench::parse(&words("tools --short"))?.command_line(workspace)),
    ])
}

impl Runner {
    fn installed(workspace: &Workspace) -> Self {
        if CommandLine::cargo("nextest --version").succeeds_quietly(workspace) {
            Self::Nextest
        } else {
            Self::CargoTest
        }
    }

    fn command_line(self) -> CommandLine {
        match self {
            Self::Nextest => CommandLine::cargo("nextest run --workspace --locked --profile ci"),
            Self::CargoTest => CommandLine::cargo("test --workspace --locked --lib --bins --tests"),
        }
    }
}

impl Step {
    fn command(name: &'static str, line: CommandLine) -> Self {
        Self { name, action: Action::Command(line) }
    }

    fn check(name: &'static str, check: fn(&Workspace) -> Result<()>) -> Self {
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
            Self::Check(_) => formatter.write_str("checked in xtask"),
        }
    }
}

fn table(report: &[(&str, Outcome)]) -> String {
    let width = report.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut total = Duration::ZERO;
    for (name, outcome) in report {
        let (word, took) = match outcome {
            Outcome::Passed(took) => ("ok", Some(*took)),
            Outcome::Failed(took) => ("FAILED", Some(*took)),
            Outcome::NotRun => ("not run", None),
        };
        total += took.unwrap_or_default();
        let took = took.map(seconds).unwrap_or_default();
        text.push_str(format!("{name:width$}  {word:7}  {took:>9}").trim_end());
        text.push('\n');
    }
    text.push_str(&format!("{:width$}  {:7}  {:>9}\n", "total", "", seconds(total)));
    text
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
#[path = "ci_tests.rs"]
mod tests;
