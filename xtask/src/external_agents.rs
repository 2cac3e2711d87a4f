//! Lets other agents act in `lariat loop` and `lariat race` against a scripted model: by ACP and in their headless modes.
//!
//! `benches/agents` has the scripts: `install.sh` installs the agents by package name, `model.mjs` is the model, `try.sh` prints the rows
//! of the table in `docs/loop.md`. Invariant: every agent runs in a network namespace that has only the loopback interface.

use anyhow::{Result, bail};

use crate::peers::{bash, parse};
use crate::workspace::Workspace;

const SCRIPTS: &str = "benches/agents";

/// Installs the agents, and runs each of them, or those that are named as `--actor` names them.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = parse(words)?;
    if options.kit.is_some() || options.write {
        bail!("this command accepts `--program PATH`, `--skip-install` and names of agents");
    }
    let program = options.program(workspace)?;
    let scripts = workspace.root().join(SCRIPTS);
    if !options.skip_install {
        bash(&scripts.join("install.sh"), "").run(workspace)?;
    }
    bash(&scripts.join("try.sh"), "")
        .with_arguments(options.peers.clone())
        .with_environment("LARIAT", &program)
        .run(workspace)
}
