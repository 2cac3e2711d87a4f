//! The command lines of the host's proofs.
//!
//! Owns nothing but their shape: the proofs are a binary of the test kit, behind a feature.

use crate::command_line::CommandLine;

pub(crate) fn command_line(name: &str, arguments: &[String]) -> CommandLine {
    let run = "run --locked -p lariat-testkit --no-default-features --features host --bin host --";
    CommandLine::cargo(run).with_arguments([name]).with_arguments(arguments)
}

/// The binary is behind a feature that nothing else enables.
pub(crate) fn clippy() -> CommandLine {
    CommandLine::cargo(
        "clippy --locked -p lariat-testkit --no-default-features --features host --bin host -- -D warnings",
    )
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_proof_gets_its_arguments() {
        let line = command_line("processes", &["--runs".to_owned(), "9".to_owned()]).to_string();
        assert!(line.ends_with("--features host --bin host -- processes --runs 9"), "{line}");
    }
}
