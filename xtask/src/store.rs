//! The command lines of the stores' proofs.
//!
//! Owns the choice of profile: the proofs wait for disks and processes, so an unoptimised build will do; only a million
//! damaged files want an optimised one. The proofs themselves are a binary and tests of the crates.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;

/// Mutants of a full run.
const MUTANTS: &str = "1000000";

pub(crate) fn command_line(name: &str, arguments: &[String]) -> CommandLine {
    let run = "run --locked -p lariat-testkit --no-default-features --features store --bin store --";
    CommandLine::cargo(run).with_arguments([name]).with_arguments(arguments)
}

/// What is behind a feature that nothing else enables.
pub(crate) fn clippy() -> CommandLine {
    CommandLine::cargo(
        "clippy --locked -p lariat-testkit --no-default-features --features store --bin store --bin bench -- -D warnings",
    )
}

/// Damaged files; `--mutants N`, or `--seed N` for one of them.
pub(crate) fn corrupt(arguments: &[String]) -> Result<CommandLine> {
    let (name, value) = match arguments {
        [] => ("LARIAT_CORRUPT_MUTANTS", MUTANTS),
        [option, value] if option == "--mutants" => ("LARIAT_CORRUPT_MUTANTS", value.as_str()),
        [option, value] if option == "--seed" => ("LARIAT_CORRUPT_SEED", value.as_str()),
        _ => bail!("`corrupt` takes `--mutants N` or `--seed N`, not `{}`", arguments.join(" ")),
    };
    let test = CommandLine::cargo(
        "test --profile proof --locked -p lariat-store --test store -- corrupt --nocapture",
    );
    Ok(test.with_environment(name, value))
}

#[cfg(test)]
mod tests {
    use super::{command_line, corrupt};

    #[test]
    fn a_proof_gets_its_arguments() {
        let line = command_line("crash", &["--store".to_owned(), "jsonl".to_owned()]).to_string();
        assert!(line.ends_with("--features store --bin store -- crash --store jsonl"), "{line}");
    }

    #[test]
    fn damaged_files_are_counted_by_the_environment() {
        let line = corrupt(&["--mutants".to_owned(), "9".to_owned()]).unwrap().to_string();
        assert!(line.starts_with("LARIAT_CORRUPT_MUTANTS=9 cargo test --profile proof"), "{line}");
        assert!(corrupt(&["--mutants".to_owned()]).is_err());
    }
}
