//! Builds the command lines of the proofs that have a build of their own: optimised, because they are timed or run millions of
//! cases, and with only what they need.

use crate::command_line::CommandLine;

/// The proof of the shell analysis. It is optimised because it is timed, and built with only what it needs.
pub(crate) fn shell(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --profile proof --locked -p lariat-proofs --no-default-features --features")
        .with_arguments(["guard", "--bin", "shell", "--"])
        .with_arguments(arguments)
}

/// The proof of locks, channels and threads. It is optimised because it runs hundreds of thousands of orders.
pub(crate) fn interleavings(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --profile proof --locked -p lariat-interleavings --bin interleavings --")
        .with_arguments(arguments)
}

/// The proof of long runs. It is optimised because it is timed.
pub(crate) fn long_run(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --release --locked -p lariat-proofs --features long --bin long --")
        .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn runs_the_shell_proof_optimised() {
        let line = shell(&["--count".to_owned()]).to_string();
        assert!(line.starts_with("cargo run --profile proof"), "{line}");
        assert!(line.ends_with("--features guard --bin shell -- --count"), "{line}");
    }
}
