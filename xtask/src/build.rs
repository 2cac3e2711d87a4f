//! Defines the one build that all CI steps use, and where its programs are.
//!
//! Every cargo command of CI names the whole workspace, its tests and the same features, even where fewer
//! would do: only then are third-party crates compiled once. The build with planted mistakes is not one of them:
//! `mistakes` makes it from a copy, in a target directory of its own.

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Every proof, and the telemetry exporter with its tests.
const FEATURES: &str = "lariat-proofs/proofs,lariat/otlp";
/// Features for lints and docs, which only read the code: additionally the benches.
const CHECKED: &str = "lariat-proofs/proofs,lariat/otlp,lariat-proofs/bench";

/// Everything that is built: not `--all-targets`, which builds programs without tests a second time, as benches.
const TARGETS: &str = "--workspace --lib --bins --tests --examples --locked --features";

const EXAMPLES: &str = "crates/lariat/examples";

/// Builds everything that CI runs, with a report of the time that each crate took.
pub(crate) fn all() -> CommandLine {
    CommandLine::cargo(&format!("build --timings {TARGETS}")).with_arguments([FEATURES])
}

pub(crate) fn clippy() -> CommandLine {
    CommandLine::cargo(&format!("clippy {TARGETS}")).with_arguments([CHECKED, "--", "-D", "warnings"])
}

/// Runs rustdoc over every crate, with warnings as errors. It includes the examples so that third-party
/// crates need no second check after clippy, and every program except `lariat`: its page would overwrite the
/// facade's, and `--bins` would include it.
pub(crate) fn docs() -> CommandLine {
    CommandLine::cargo(
        "doc --workspace --no-deps --lib --bin [!l]* --bin l[!a]* --examples --locked --features",
    )
    .with_arguments([CHECKED])
    .with_environment("RUSTDOCFLAGS", "-D warnings")
}

/// Runs the tests of the build; `words` selects which and how.
pub(crate) fn tests(words: &str) -> CommandLine {
    CommandLine::cargo(words)
        .with_arguments("--workspace --locked --features".split(' '))
        .with_arguments([FEATURES])
}

/// Builds some programs of that build.
pub(crate) fn programs(names: &[&str]) -> CommandLine {
    let names = names.iter().flat_map(|name| ["--bin", name]);
    CommandLine::cargo("build --workspace --locked --features")
        .with_arguments([FEATURES])
        .with_arguments(names)
}

/// A program of the build with its arguments: `NAME WORD...`.
pub(crate) fn program(workspace: &Workspace, line: &str) -> CommandLine {
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    CommandLine::of(&workspace.absolute(&format!("{}/debug/{name}", workspace.target())), words)
}

/// Runs every example of the facade.
pub(crate) fn examples(workspace: &Workspace) -> Result<()> {
    let names = workspace.names(EXAMPLES, ".rs")?;
    if names.is_empty() {
        bail!("no examples found in {EXAMPLES}");
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
    use super::{all, clippy, docs, program, tests};
    use crate::workspace::Workspace;

    #[test]
    fn builds_and_tests_the_same_features() {
        let features = "--locked --features lariat-proofs/proofs,lariat/otlp";
        let targets = "--lib --bins --tests --examples";
        assert_eq!(all().to_string(), format!("cargo build --timings --workspace {targets} {features}"));
        assert_eq!(tests("test --doc").to_string(), format!("cargo test --doc --workspace {features}"));
    }

    #[test]
    fn clippy_checks_every_feature() {
        let line = "cargo clippy --workspace --lib --bins --tests --examples --locked \
                    --features lariat-proofs/proofs,lariat/otlp,lariat-proofs/bench";
        assert_eq!(clippy().to_string(), format!("{line} -- -D warnings"));
    }

    #[test]
    fn docs_of_the_program_do_not_overwrite_the_facade() {
        let line = docs().to_string();
        assert!(line.contains("--bin '[!l]*' --bin 'l[!a]*'") && !line.contains("--bins"), "{line}");
    }

    #[test]
    fn finds_programs_in_the_target_directory() {
        let line = program(&Workspace::fake("/elsewhere"), "store crash --points 12").to_string();
        assert_eq!(line, "/elsewhere/debug/store crash --points 12");
    }
}
