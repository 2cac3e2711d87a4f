//! Attacks the built program from outside: retries former security holes with a scripted model.
//!
//! The attacks are Python scripts in `crates/lariat-cli/attacks`, one file per area; this module only chooses
//! the program.

use std::process::ExitCode;

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const SCRIPTS: &str = "crates/lariat-cli/attacks";
const PROGRAM: &str = "--program";
const BUILD: &str = "build --locked -p lariat-cli --bin lariat";

/// Attacks the program given by `--program`; without it, builds and attacks the debug program.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<ExitCode> {
    if arguments.iter().any(|word| word == PROGRAM) {
        return script(arguments).pass_through(workspace);
    }
    CommandLine::cargo(BUILD).run(workspace)?;
    built(workspace).with_arguments(arguments).pass_through(workspace)
}

/// Attacks the program of the CI build.
pub(crate) fn built(workspace: &Workspace) -> CommandLine {
    let program = workspace.absolute(&format!("{}/debug/lariat", workspace.target()));
    script(&[PROGRAM.to_owned(), program])
}

fn script(arguments: &[String]) -> CommandLine {
    CommandLine::of("python3", SCRIPTS)
        .with_arguments(arguments)
        .with_environment("PYTHONDONTWRITEBYTECODE", "1")
}

#[cfg(test)]
mod tests {
    use super::built;
    use crate::workspace::Workspace;

    #[test]
    fn attacks_the_program_of_the_build() {
        assert_eq!(
            built(&Workspace::fake("target")).to_string(),
            "PYTHONDONTWRITEBYTECODE=1 python3 crates/lariat-cli/attacks --program ./target/debug/lariat"
        );
    }
}
