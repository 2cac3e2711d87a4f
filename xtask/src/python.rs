//! Sets up Python environments for third-party code: the providers' SDKs and other servers.
//!
//! Each list of pinned packages has a virtual environment under the target directory. Invariant: an
//! environment whose list did not change is reused without the network.

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Creates or updates the environment for a list of packages. Returns the path of its interpreter.
pub(crate) fn environment(workspace: &Workspace, name: &str, requirements: &str) -> Result<String> {
    let directory = format!("{}/python/{name}", workspace.target());
    // Absolute, because a relative program path and a working directory do not mix on every system.
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
