//! Dependencies between our crates point one way: ARCHITECTURE.md says which, this module checks it.
//!
//! `table` reads the page, `graph` reads `cargo metadata`, `check` compares the two. Owns nothing about
//! crates from outside the workspace; those are `core_deps`' and `deny`'s.
//! Invariant: a page that cannot be read as a table is an error, never an empty set of rules.

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
    let faults = check::faults(&table, &graph);
    if !faults.is_empty() {
        bail!("the layers do not hold:\n  - {}", faults.join("\n  - "));
    }
    println!(
        "{} crates and {} dependencies between them keep the layers",
        graph.crates().len(),
        graph.edges().len()
    );
    Ok(())
}

#[cfg(test)]
mod tests;
