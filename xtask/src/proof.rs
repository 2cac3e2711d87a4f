//! Builds the command lines of the proofs that are binaries of `lariat-proofs`.
//!
//! All use the same features, so that third-party crates are compiled once. Planted mistakes in the product's
//! code are compiled in only on request.

use crate::command_line::CommandLine;

/// Features that the binaries need; nothing else in the workspace enables them.
const FEATURES: &str = "store,host,tools,repos,injections";
const WITH_MISTAKES: &str = "store,host,tools,repos,injections,planted";

/// A proof with a binary of its own, built with planted mistakes if `--planted` is given.
pub(crate) fn separate_binary(binary: &str, arguments: &[String]) -> CommandLine {
    let planted = arguments.iter().any(|word| word == "--planted");
    run(if planted { WITH_MISTAKES } else { FEATURES }, binary).with_arguments(arguments)
}

/// A proof that shares its binary with others and plants its own mistakes.
pub(crate) fn shared_binary(binary: &str, name: &str, arguments: &[String]) -> CommandLine {
    run(FEATURES, binary).with_arguments([name]).with_arguments(arguments)
}

/// A proof with a binary of its own that plants its own mistakes.
pub(crate) fn self_planting(binary: &str, arguments: &[String]) -> CommandLine {
    run(FEATURES, binary).with_arguments(arguments)
}

fn run(features: &str, binary: &str) -> CommandLine {
    CommandLine::cargo("run --locked -p lariat-proofs --no-default-features --features")
        .with_arguments([features, "--bin", binary, "--"])
}

/// The proof of the shell analysis. It is optimised because it is timed, and built with only what it needs.
pub(crate) fn shell(arguments: &[String]) -> CommandLine {
    let planted = arguments.iter().any(|word| word == "--planted");
    CommandLine::cargo("run --profile proof --locked -p lariat-proofs --no-default-features --features")
        .with_arguments([if planted { "guard,planted" } else { "guard" }, "--bin", "shell", "--"])
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
    use super::{self_planting, separate_binary, shared_binary, shell};

    #[test]
    fn plants_mistakes_in_the_product_only_on_request() {
        let line = |word: &str| separate_binary("escape", &[word.to_owned()]).to_string();
        assert!(
            line("--planted")
                .ends_with("--features store,host,tools,repos,injections,planted --bin escape -- --planted")
        );
        assert!(
            line("--all").ends_with("--features store,host,tools,repos,injections --bin escape -- --all")
        );
    }

    #[test]
    fn runs_the_shell_proof_optimised() {
        let line = shell(&["--planted".to_owned()]).to_string();
        assert!(line.starts_with("cargo run --profile proof"), "{line}");
        assert!(line.ends_with("--features guard,planted --bin shell -- --planted"), "{line}");
    }

    #[test]
    fn mistakes_that_a_proof_plants_itself_need_no_feature() {
        let line = self_planting("repos", &["--planted".to_owned()]).to_string();
        assert!(
            line.ends_with("--features store,host,tools,repos,injections --bin repos -- --planted"),
            "{line}"
        );
    }

    #[test]
    fn passes_arguments_to_the_proof() {
        let line = shared_binary("store", "crash", &["--store".to_owned(), "jsonl".to_owned()]).to_string();
        assert!(
            line.ends_with("--features store,host,tools,repos,injections --bin store -- crash --store jsonl"),
            "{line}"
        );
    }
}
