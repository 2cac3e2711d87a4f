//! Builds the command line of the proofs of the model protocols.
//!
//! They are a binary of `lariat-proofs`, built optimised and with assertions.

use crate::command_line::CommandLine;

pub(crate) fn command_line(name: &str, arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --profile proof --locked -p lariat-proofs --bin wire --")
        .with_arguments([name])
        .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn runs_proof_in_the_proof_profile_with_its_arguments() {
        let line = command_line("sse", &["--streams".to_owned(), "9".to_owned()]).to_string();
        assert_eq!(line, "cargo run --profile proof --locked -p lariat-proofs --bin wire -- sse --streams 9");
    }
}
