//! The one build that all of CI runs from, and where its programs are.
//!
//! Owns the features. Every cargo command of CI names the whole workspace, its tests and the same features, also where less would
//! do: only then is what is below our crates compiled once. Mistakes made on purpose compile only our own crates again.
//! Invariant: programs with mistakes take the place of the others, so they are built last, and the others are put back after them.

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Every proof, and the exporter of telemetry with its tests.
const FEATURES: &str = "lariat-testkit/proofs,lariat/otlp";
/// What is only looked at, not run: also the benches, and the vendors' own credential chains, which nothing else enables.
const CHECKED: &str =
    "lariat-testkit/proofs,lariat/otlp,lariat-testkit/bench,lariat-model/aws,lariat-model/google";
/// Mistakes made on purpose, in our own crates.
const PLANTED: &str = "lariat-testkit/planted";

/// One test, the smallest, because with a test cargo takes the features of all tests into account, as it does for the rest.
const PLANTED_BINARIES: &str = "build --workspace --bin simulate --bin budgets --bin escape --bin undo --bin shell --test guard --locked --features";

/// The features that decide how other people's crates are compiled, so that they are not compiled again.
const WITHOUT_STORES: &str = "lariat-testkit/injections,lariat-testkit/guard,lariat-testkit/tokens";

const EXAMPLES: &str = "crates/lariat/examples";

/// Everything that CI runs.
pub(crate) fn all() -> CommandLine {
    CommandLine::cargo("build --workspace --all-targets --locked --features").with_arguments([FEATURES])
}

/// The proofs that need mistakes in the product's own code, without the stores: they have none and take longest to build.
pub(crate) fn planted() -> CommandLine {
    CommandLine::cargo(PLANTED_BINARIES).with_arguments([&format!("{WITHOUT_STORES},{PLANTED}")])
}

pub(crate) fn clippy() -> CommandLine {
    lint(CHECKED)
}

pub(crate) fn clippy_planted() -> CommandLine {
    lint(&format!("{CHECKED},{PLANTED}"))
}

fn lint(features: &str) -> CommandLine {
    CommandLine::cargo("clippy --workspace --all-targets --locked --features")
        .with_arguments([features, "--", "-D", "warnings"])
}

/// Rustdoc over every crate, a warning is an error. Examples for the same reason: clippy has read what is below our crates already.
/// Every program but `lariat`: the page of that name is the facade's, and `--bins` would ask for both.
pub(crate) fn docs() -> CommandLine {
    CommandLine::cargo(
        "doc --workspace --no-deps --lib --bin [!l]* --bin l[!a]* --examples --locked --features",
    )
    .with_arguments([CHECKED])
    .with_environment("RUSTDOCFLAGS", "-D warnings")
}

/// Tests of the build; `words` choose which and how.
pub(crate) fn tests(words: &str) -> CommandLine {
    CommandLine::cargo(words)
        .with_arguments("--workspace --locked --features".split(' '))
        .with_arguments([FEATURES])
}

/// A program of the build, with its arguments: `NAME WORD...`.
pub(crate) fn program(workspace: &Workspace, line: &str) -> CommandLine {
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    CommandLine::of(&workspace.absolute(&format!("{}/debug/{name}", workspace.target())), words)
}

/// Runs every example of the facade.
pub(crate) fn examples(workspace: &Workspace) -> Result<()> {
    let names = workspace.names(EXAMPLES, ".rs")?;
    if names.is_empty() {
        bail!("no example in {EXAMPLES}");
    }
    for name in names {
        println!("== {name}");
        program(workspace, &format!("examples/{name}"))
            .run(workspace)
            .with_context(|| format!("{EXAMPLES}/{name}.rs"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{all, clippy, clippy_planted, docs, planted, program, tests};
    use crate::workspace::Workspace;

    #[test]
    fn what_is_built_is_what_is_tested() {
        let features = "--locked --features lariat-testkit/proofs,lariat/otlp";
        assert_eq!(all().to_string(), format!("cargo build --workspace --all-targets {features}"));
        assert_eq!(tests("test --doc").to_string(), format!("cargo test --doc --workspace {features}"));
        let planted = planted().to_string();
        assert!(planted.starts_with("cargo build --workspace --bin"), "{planted}");
        assert!(planted.ends_with(",lariat-testkit/planted"), "{planted}");
    }

    #[test]
    fn clippy_sees_every_feature_with_and_without_the_mistakes() {
        let line = "cargo clippy --workspace --all-targets --locked \
                    --features lariat-testkit/proofs,lariat/otlp,lariat-testkit/bench,lariat-model/aws,lariat-model/google";
        assert_eq!(clippy().to_string(), format!("{line} -- -D warnings"));
        assert_eq!(clippy_planted().to_string(), format!("{line},lariat-testkit/planted -- -D warnings"));
    }

    #[test]
    fn the_page_of_the_facade_is_not_written_over_by_the_program_of_its_name() {
        let line = docs().to_string();
        assert!(line.contains("--bin '[!l]*' --bin 'l[!a]*'") && !line.contains("--bins"), "{line}");
    }

    #[test]
    fn programs_are_where_the_target_directory_is() {
        let line = program(&Workspace::fake("/elsewhere"), "store crash --points 12").to_string();
        assert_eq!(line, "/elsewhere/debug/store crash --points 12");
    }
}
