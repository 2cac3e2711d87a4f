//! The command line of the proof that going back is exact.
//!
//! Owns the choice of features: mistakes are compiled in only where they are asked for. The proof itself is a binary.

use crate::command_line::CommandLine;

pub(crate) fn command_line(arguments: &[String]) -> CommandLine {
    let features = if arguments.iter().any(|word| word == "--planted") { "tools,planted" } else { "tools" };
    CommandLine::cargo("run --locked -p lariat-testkit --no-default-features --features")
        .with_arguments([features, "--bin", "undo", "--"])
        .with_arguments(arguments)
}

/// The binary is behind features that nothing else enables.
pub(crate) fn clippy() -> CommandLine {
    CommandLine::cargo(
        "clippy --locked -p lariat-testkit --no-default-features --features tools,planted --bin undo -- -D warnings",
    )
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn mistakes_are_built_only_when_they_are_asked_for() {
        let line = |word: &str| command_line(&[word.to_owned()]).to_string();
        assert!(line("--planted").contains("--features tools,planted --bin undo -- --planted"));
        assert!(line("--speed").contains("--features tools --bin undo -- --speed"));
    }
}
