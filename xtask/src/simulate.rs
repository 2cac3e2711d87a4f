//! The command lines of the simulator and of the proof of budgets, which runs on the same ground.
//!
//! Owns the profile (optimised, with assertions) and where the planted build lives. Both are binaries of
//! `lariat-testkit`.
//! Invariant: planted bugs are compiled only into their own target directory, never into the one everything
//! else uses.

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

pub(crate) fn command_line(workspace: &Workspace, arguments: &[String]) -> CommandLine {
    run(workspace, "simulate", arguments)
}

/// The proof of budgets.
pub(crate) fn budgets(workspace: &Workspace, arguments: &[String]) -> CommandLine {
    run(workspace, "budgets", arguments)
}

fn run(workspace: &Workspace, binary: &str, arguments: &[String]) -> CommandLine {
    let mut line = CommandLine::cargo("run --profile proof --locked -p lariat-testkit --no-default-features");
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
    fn seeds_run_in_the_proof_profile() {
        assert_eq!(
            shown("target", &["--seeds", "20000"]),
            "cargo run --profile proof --locked -p lariat-testkit --no-default-features --bin simulate -- --seeds 20000"
        );
    }

    #[test]
    fn planted_bugs_get_their_feature_and_a_target_directory_of_their_own() {
        assert_eq!(
            shown("out", &["--planted"]),
            "cargo run --profile proof --locked -p lariat-testkit --no-default-features --bin simulate \
             --features planted --target-dir out/planted -- --planted"
        );
    }
}
