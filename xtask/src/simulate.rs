//! Builds the command lines of the simulator and of the budget proof, which uses the same fixtures.
//!
//! Both are binaries of `lariat-proofs`, built optimised and with assertions. Invariant: planted mistakes
//! are compiled only into a target directory of their own, never into the one that everything else uses.

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

pub(crate) fn command_line(workspace: &Workspace, arguments: &[String]) -> CommandLine {
    run(workspace, "simulate", arguments)
}

/// The budget proof.
pub(crate) fn budgets(workspace: &Workspace, arguments: &[String]) -> CommandLine {
    run(workspace, "budgets", arguments)
}

fn run(workspace: &Workspace, binary: &str, arguments: &[String]) -> CommandLine {
    let mut line = CommandLine::cargo("run --profile proof --locked -p lariat-proofs --no-default-features");
    line = line.with_arguments(["--bin", binary]);
    if arguments.iter().any(|argument| argument == "--planted") {
        let planted = format!("{}/planted", workspace.target());
        line = line.with_arguments(["--features", "planted", "--target-dir", &planted]);
    }
    line.with_arguments(["--"]).with_arguments(arguments)
}

#[cfg(test)]
mod tests {
    use super::command_line;
    use crate::workspace::Workspace;

    fn shown(target: &str, arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        command_line(&Workspace::fake(target), &arguments).to_string()
    }

    #[test]
    fn runs_seeds_in_the_proof_profile() {
        assert_eq!(
            shown("target", &["--seeds", "20000"]),
            "cargo run --profile proof --locked -p lariat-proofs --no-default-features --bin simulate -- --seeds 20000"
        );
    }

    #[test]
    fn planted_mistakes_use_their_own_target_directory() {
        assert_eq!(
            shown("out", &["--planted"]),
            "cargo run --profile proof --locked -p lariat-proofs --no-default-features --bin simulate \
             --features planted --target-dir out/planted -- --planted"
        );
    }
}
