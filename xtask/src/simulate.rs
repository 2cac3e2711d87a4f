//! Builds the command lines of the simulator and of the budget proof, which uses the same fixtures.
//!
//! Both are binaries of `lariat-proofs`, built optimised and with assertions. The simulator plays every seed in each of its worlds;
//! `--world NAME` selects one.

use crate::command_line::CommandLine;

pub(crate) fn command_line(binary: &str, arguments: &[String]) -> CommandLine {
    CommandLine::cargo(
        "run --profile proof --locked -p lariat-proofs --no-default-features --features simulate",
    )
    .with_arguments(["--bin", binary, "--"])
    .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn runs_seeds_in_the_proof_profile() {
        assert_eq!(
            command_line("simulate", &["--seeds".to_owned(), "20000".to_owned()]).to_string(),
            "cargo run --profile proof --locked -p lariat-proofs --no-default-features --features simulate --bin simulate -- --seeds 20000"
        );
    }
}
