//! Lists the CI steps: checks, and short proofs.
//!
//! The benches, the long proofs and those with mistakes planted in the product are in `nightly`. Invariant: after the
//! tests, no step compiles our code.

use crate::ci::{Proofs, Step};
use crate::command_line::CommandLine;
use crate::deny::Scope;
use crate::workspace::Workspace;
use crate::{attacks, build, core_deps, crates, deny, docs_links, layers, suites, words};

/// The short proofs: a name, and the program of the build with its arguments. They include planted mistakes
/// that a proof plants itself.
const PROOFS: &[(&str, &str)] = &[
    ("simulate", "simulate --seeds 600"),
    ("budgets", "budgets --trees 2000"),
    ("agents", "agents"),
    // The tests run other orders.
    ("interleavings", "interleavings --schedules 200 --seed 2"),
    // The tests split one stream of each protocol, too.
    ("sse", "wire sse --streams 1 --random 10"),
    ("histories", "wire histories --count 2000"),
    ("compactions", "wire compactions --planted"),
    // The nightly run has all seven protocols.
    ("faults", "wire faults --protocol anthropic,responses,bedrock"),
    ("cuts", "program cuts --cases 400 --kills 9"),
    ("cuts-planted", "program cuts --planted"),
    ("prefix", "wire prefix --runs 1"),
    ("prefix-planted", "wire prefix --planted --turns 60"),
    ("crash-sqlite", "store crash --store sqlite --points 12 --random 20"),
    ("crash-jsonl", "store crash --store jsonl --points 12 --random 20"),
    ("crash-postgres", "store crash --store postgres --points 6 --random 20"),
    ("crash-planted", "store crash --store sqlite --planted"),
    ("disk-faults-sqlite", "store disk-faults --store sqlite --points 6"),
    ("disk-faults-jsonl", "store disk-faults --store jsonl --points 6"),
    ("power-loss-sqlite", "store power-loss --store sqlite --images 300"),
    ("power-loss-jsonl", "store power-loss --store jsonl --images 300"),
    ("power-loss-planted", "store power-loss --planted"),
    ("writers-sqlite", "store writers --store sqlite --rounds 60"),
    ("writers-jsonl", "store writers --store jsonl --rounds 60"),
    ("writers-planted", "store writers --store sqlite --rounds 60 --planted"),
    ("session-stores-sqlite", "store sessions --store sqlite"),
    ("session-stores-jsonl", "store sessions --store jsonl"),
    ("session-stores-planted", "store sessions --store sqlite --planted"),
    // The tests run the suite with its planted mistakes, the races and the kills of the background host.
    ("sessions-seeds", "sessions seeds --count 10"),
    ("sessions-attach", "sessions attach --short"),
    ("escape", "escape --operations 8000"),
    ("sandbox", "host sandbox"),
    ("processes", "host processes --runs 60"),
    ("undo", "undo --sequences 60"),
    ("shell-diff", "shell --count 2000"),
    ("injections", "injections --count 300"),
    ("hostile-repos", "repos"),
    ("hostile-repos-program", "repos --by-program --sample 8"),
    ("secrets", "program secrets"),
    ("secrets-planted", "program secrets --planted"),
    ("egress", "egress"),
    ("egress-planted", "egress --planted"),
    ("tokens", "tokens --short"),
    ("long-run", "long --turns 120 --window 120000"),
];

/// Runs the unit and integration tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    /// The fallback, which stops at the first failing binary and has no timeouts.
    CargoTest,
}

/// Returns the steps in the order that finds a failure soonest.
pub(crate) fn steps(workspace: &Workspace, runner: Runner, proofs: Proofs) -> Vec<Step> {
    let mut steps = vec![
        Step::command("fmt", CommandLine::cargo("fmt --all --check")),
        Step::check("layers", layers::run),
        Step::check("core-deps", core_deps::run),
        Step::check("crates", |workspace| crates::run(workspace, crates::Timing::Skip)),
        Step::check("docs-links", docs_links::run),
        Step::check("words", |workspace| words::run(workspace, &[])),
        Step::check("deny", |workspace| deny::run(workspace, Scope::Offline)),
        Step::command("clippy", build::clippy()),
        Step::command("docs", build::docs()),
        Step::command("build", build::all()),
        Step::command("test", runner.command_line()),
        Step::command("doc-test", build::tests("test --doc")),
        Step::check("examples", build::examples),
    ];
    if proofs == Proofs::Skip {
        return steps;
    }
    let built = |&(name, line): &(&'static str, &str)| Step::command(name, build::program(workspace, line));
    steps.extend(PROOFS.iter().map(built));
    steps.push(Step::command("attacks", attacks::built(workspace)));
    steps.push(Step::check("schemas", suites::prove));
    steps
}

impl Runner {
    pub(crate) fn installed(workspace: &Workspace) -> Self {
        if CommandLine::cargo("nextest --version").succeeds_quietly(workspace) {
            Self::Nextest
        } else {
            Self::CargoTest
        }
    }

    fn command_line(self) -> CommandLine {
        build::tests(match self {
            Self::Nextest => "nextest run --profile ci",
            Self::CargoTest => "test --lib --bins --tests",
        })
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
