//! Checks that dependencies between our crates follow the table in ARCHITECTURE.md.
//!
//! `table` reads the page, `graph` reads `cargo metadata`, and `check` compares the two. `core_deps` and
//! `deny` check third-party crates. Invariant: a page without a readable table is an error, never an empty
//! set of rules.

mod check;
mod graph;
mod table;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const PAGE: &str = "ARCHITECTURE.md";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let table = table::Table::read(&workspace.read(PAGE)?)?;
    let metadata = CommandLine::cargo("metadata --format-version 1 --no-deps --locked").capture(workspace)?;
    let graph = graph::Graph::read(&metadata)?;
    let violations = check::violations(&table, &graph);
    if !violations.is_empty() {
        bail!("dependencies violate the layers:\n  - {}", violations.join("\n  - "));
    }
    println!(
        "{} crates with {} dependencies between them respect the layers",
        graph.crates().len(),
        graph.edges().len()
    );
    Ok(())
}

#[cfg(test)]
mod tests;
