//! Sets up Node.js environments for third-party code.
//!
//! Each list of pinned packages has a directory under the target directory, with a copy of the scripts that use it, because
//! Node.js looks for packages beside a script. Invariant: an environment whose list did not change is reused without the network.

use anyhow::{Context as _, Result};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Creates or updates the environment for the `package.json` of a directory. Returns the path of the copied script.
pub(crate) fn environment(workspace: &Workspace, name: &str, source: &str, script: &str) -> Result<String> {
    let directory = format!("{}/node/{name}", workspace.target());
    let (place, source) = (workspace.root().join(&directory), workspace.root().join(source));
    std::fs::create_dir_all(&place)?;
    let wanted = std::fs::read_to_string(source.join("package.json"))?;
    let copy = place.join(script);
    std::fs::copy(source.join(script), &copy)?;
    let stamp = place.join("installed.txt");
    if !std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        std::fs::write(place.join("package.json"), &wanted)?;
        // The optional packages are the SDK's own program, which ours replaces.
        CommandLine::of(
            "npm",
            "install --omit=optional --no-audit --no-fund --no-package-lock --silent --prefix",
        )
        .with_arguments([&directory])
        .run(workspace)
        .context("npm could not install the packages; hint: install Node.js 18 or newer")?;
        std::fs::write(stamp, wanted)?;
    }
    Ok(copy.to_string_lossy().into_owned())
}
