//! Lets other agents act in `lariat loop` against a scripted model: by ACP and in their headless modes.
//!
//! The agents and the model are those of `bench peers` (`--kit DIR`, default `../shared/peers`). Prints the rows of the table in
//! `docs/loop.md`. Invariant: everything runs in a network namespace that has only the loopback interface.

use anyhow::Result;

use crate::peers::{Bench, bash, parse};
use crate::workspace::Workspace;

/// Installs the agents, and runs each of them, or those that are named as `--actor` names them.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = parse(words)?;
    let Bench { place, program } = Bench::prepare(workspace, &options)?;
    bash(&place.join("loop.sh"), "")
        .with_arguments(options.peers.clone())
        .with_environment("LARIAT", &program)
        .run(workspace)
}
