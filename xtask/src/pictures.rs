//! Draws the pictures of the documents from the program, and photographs it in a real xterm.
//!
//! The scripts are in `docs/pictures`. They start the program in a small project with a scripted model.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const PLACE: &str = "docs/pictures";

/// Draws the pictures, with the program of the arguments or a new build.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let program = match words {
        [] => build(workspace)?,
        [flag, program] if flag == "--program" => workspace.absolute(program),
        _ => bail!("`pictures` accepts `--program PATH`, not `{}`", words.join(" ")),
    };
    CommandLine::cargo("build --locked -p lariat-cli --example picture").run(workspace)?;
    let draw = workspace.absolute(&format!("{}/debug/examples/picture", workspace.target()));
    script("make.py").with_arguments([program, draw]).run(workspace)
}

/// Saves photographs of the program in xterm under Xvfb into a directory.
pub(crate) fn xterm(workspace: &Workspace, directory: &str) -> Result<()> {
    script("xterm.py").with_arguments([build(workspace)?, workspace.absolute(directory)]).run(workspace)
}

fn build(workspace: &Workspace) -> Result<String> {
    CommandLine::cargo("build --locked -p lariat-cli").run(workspace)?;
    Ok(workspace.absolute(&format!("{}/debug/lariat", workspace.target())))
}

fn script(name: &str) -> CommandLine {
    CommandLine::of("python3", &format!("{PLACE}/{name}"))
}
