//! The command lines of the proofs that are binaries of the test kit.
//!
//! Owns the choice of features, the same for all of them, so that what is below them is compiled once; mistakes made on
//! purpose are compiled in only where the product's own code has them and they are asked for.

use crate::command_line::CommandLine;

/// What the binaries need; nothing else in the workspace enables it.
const FEATURES: &str = "store,host,tools,repos,injections";
const WITH_MISTAKES: &str = "store,host,tools,repos,injections,planted";

/// A proof that is a binary of its own.
pub(crate) fn alone(binary: &str, arguments: &[String]) -> CommandLine {
    let planted = arguments.iter().any(|word| word == "--planted");
    run(if planted { WITH_MISTAKES } else { FEATURES }, binary).with_arguments(arguments)
}

/// A proof that shares its binary with others; its mistakes are made by the proof itself.
pub(crate) fn one_of(binary: &str, name: &str, arguments: &[String]) -> CommandLine {
    run(FEATURES, binary).with_arguments([name]).with_arguments(arguments)
}

/// A proof that is a binary of its own; its mistakes are made by the proof itself.
pub(crate) fn with_own_mistakes(binary: &str, arguments: &[String]) -> CommandLine {
    run(FEATURES, binary).with_arguments(arguments)
}

fn run(features: &str, binary: &str) -> CommandLine {
    CommandLine::cargo("run --locked -p lariat-testkit --no-default-features --features")
        .with_arguments([features, "--bin", binary, "--"])
}

/// The proof of the shell analysis: optimised, because it is timed, and with nothing but what it needs.
pub(crate) fn shell(arguments: &[String]) -> CommandLine {
    let planted = arguments.iter().any(|word| word == "--planted");
    CommandLine::cargo("run --profile proof --locked -p lariat-testkit --no-default-features --features")
        .with_arguments([if planted { "guard,planted" } else { "guard" }, "--bin", "shell", "--"])
        .with_arguments(arguments)
}

/// The proof of the token accounting, with the tokenizers that stand for the services' own.
pub(crate) fn tokens(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --locked -p lariat-testkit --features tokens --bin tokens --")
        .with_arguments(arguments)
}

/// The proof of long runs: optimised, because it is timed.
pub(crate) fn long_run(arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --release --locked -p lariat-testkit --features long --bin long --")
        .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::{alone, one_of, shell, with_own_mistakes};

    #[test]
    fn mistakes_of_the_product_are_built_only_when_they_are_asked_for() {
        let line = |word: &str| alone("escape", &[word.to_owned()]).to_string();
        assert!(
            line("--planted")
                .ends_with("--features store,host,tools,repos,injections,planted --bin escape -- --planted")
        );
        assert!(
            line("--all").ends_with("--features store,host,tools,repos,injections --bin escape -- --all")
        );
    }

    #[test]
    fn the_shell_analysis_is_proven_optimised() {
        let line = shell(&["--planted".to_owned()]).to_string();
        assert!(line.starts_with("cargo run --profile proof"), "{line}");
        assert!(line.ends_with("--features guard,planted --bin shell -- --planted"), "{line}");
    }

    #[test]
    fn mistakes_of_a_proof_need_no_other_product() {
        let line = with_own_mistakes("repos", &["--planted".to_owned()]).to_string();
        assert!(
            line.ends_with("--features store,host,tools,repos,injections --bin repos -- --planted"),
            "{line}"
        );
    }

    #[test]
    fn a_proof_gets_its_arguments() {
        let line = one_of("store", "crash", &["--store".to_owned(), "jsonl".to_owned()]).to_string();
        assert!(
            line.ends_with("--features store,host,tools,repos,injections --bin store -- crash --store jsonl"),
            "{line}"
        );
    }
}
