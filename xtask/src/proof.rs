//! Builds the command lines of the proofs that are binaries of `lariat-proofs`.
//!
//! All use the same features, so that third-party crates are compiled once.

use crate::command_line::CommandLine;

/// Features that the binaries need; nothing else in the workspace enables them.
const FEATURES: &str = "store,host,tools,repos,injections,egress";

/// A proof with a binary of its own.
pub(crate) fn separate_binary(binary: &str, arguments: &[String]) -> CommandLine {
    run(binary).with_arguments(arguments)
}

/// A proof that shares its binary with others.
pub(crate) fn shared_binary(binary: &str, name: &str, arguments: &[String]) -> CommandLine {
    run(binary).with_arguments([name]).with_arguments(arguments)
}

fn run(binary: &str) -> CommandLine {
    CommandLine::cargo("run --locked -p lariat-proofs --no-default-features --features")
        .with_arguments([FEATURES, "--bin", binary, "--"])
}

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

/// The proof of the token accounting, with tokenizers that simulate those of the providers.
pub(crate) fn tokens(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --locked -p lariat-proofs --features tokens --bin tokens --")
        .with_arguments(arguments)
}

/// The proof of long runs. It is optimised because it is timed.
pub(crate) fn long_run(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --release --locked -p lariat-proofs --features long --bin long --")
        .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::{separate_binary, shared_binary, shell};

    #[test]
    fn runs_the_shell_proof_optimised() {
        let line = shell(&["--count".to_owned()]).to_string();
        assert!(line.starts_with("cargo run --profile proof"), "{line}");
        assert!(line.ends_with("--features guard --bin shell -- --count"), "{line}");
    }

    #[test]
    fn mistakes_that_a_proof_plants_itself_are_its_own_argument() {
        let line = separate_binary("repos", &["--planted".to_owned()]).to_string();
        assert!(
            line.ends_with("--features store,host,tools,repos,injections,egress --bin repos -- --planted"),
            "{line}"
        );
    }

    #[test]
    fn passes_arguments_to_the_proof() {
        let line = shared_binary("store", "crash", &["--store".to_owned(), "jsonl".to_owned()]).to_string();
        assert!(
            line.ends_with(
                "--features store,host,tools,repos,injections,egress --bin store -- crash --store jsonl"
            ),
            "{line}"
        );
    }
}
