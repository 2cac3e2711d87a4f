//! Python environments for what is not ours: the services' SDKs and servers that others wrote.
//!
//! Owns a virtual environment per list of pinned packages, under the target directory.
//! Invariant: an environment whose list did not change is used as it is, without the network.

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Makes the environment of a list of packages, or brings it to the pinned versions. Returns its interpreter.
pub(crate) fn environment(workspace: &Workspace, name: &str, requirements: &str) -> Result<String> {
    let directory = format!("{}/python/{name}", workspace.target());
    // Absolute, because a relative program and a working directory do not mix on every system.
    let place = workspace.root().join(&directory);
    let python = place.join("bin/python").to_string_lossy().into_owned();
    let wanted = std::fs::read_to_string(workspace.root().join(requirements))?;
    let stamp = place.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    CommandLine::of("python3", "-m venv").with_arguments([&directory]).run(workspace)?;
    CommandLine::of(&python, "-m pip install --quiet --disable-pip-version-check -r")
        .with_arguments([requirements])
        .run(workspace)?;
    std::fs::write(stamp, wanted)?;
    Ok(python)
}
