//! The command line of the model protocols' proofs.
//!
//! Owns the profile (optimised, with assertions). The proofs themselves are a binary of `lariat-testkit`.

use crate::command_line::CommandLine;

pub(crate) fn command_line(name: &str, arguments: &[String]) -> CommandLine {
    CommandLine::cargo("run --profile proof --locked -p lariat-testkit --bin wire --")
        .with_arguments([name])
        .with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_proof_runs_in_the_proof_profile_with_its_arguments() {
        let line = command_line("sse", &["--streams".to_owned(), "9".to_owned()]).to_string();
        assert_eq!(
            line,
            "cargo run --profile proof --locked -p lariat-testkit --bin wire -- sse --streams 9"
        );
    }
}
