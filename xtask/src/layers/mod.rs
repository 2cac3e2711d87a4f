//! Checks that dependencies between our crates follow the table in ARCHITECTURE.md, and that the top-level modules of a
//! published crate do not use each other in circles. Also checks where tests are.
//!
//! `table` reads the page, `graph` reads `cargo metadata`, and `check` compares the two. `modules` reads the source of a
//! crate and `circles` finds the circles. `test_layout` checks the places of tests. `core_deps` and `deny` check
//! third-party crates. Invariant: a page without a readable table is an error, never an empty set of rules.

mod check;
mod circles;
mod graph;
mod modules;
mod table;
mod test_layout;

use std::path::Path;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;
use circles::Exception;

const PAGE: &str = "ARCHITECTURE.md";

/// Circles that may stay, each with its reason. An exception without a circle fails the check.
const EXCEPTIONS: &[Exception] = &[];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let table = table::Table::read(&workspace.read(PAGE)?)?;
    let metadata = CommandLine::cargo("metadata --format-version 1 --no-deps --locked").capture(workspace)?;
    let graph = graph::Graph::read(&metadata)?;
    let mut violations = check::violations(&table, &graph);
    let mut modules = 0;
    for (name, root) in graph::product_roots(&metadata)? {
        let read = |file: &str| workspace.read(file).ok();
        let crate_modules = modules::read_crate(&workspace.relative(Path::new(&root)), &read)?;
        let graph = circles::ModuleGraph::of(&crate_modules);
        violations.extend(graph.violations(&name, EXCEPTIONS));
        modules += graph.modules();
    }
    let files = workspace.files(&["rs", "toml"])?;
    let files = files.into_iter().map(|file| Ok((file.clone(), workspace.read(&file)?)));
    violations.extend(test_layout::violations(&files.collect::<Result<_>>()?));
    if !violations.is_empty() {
        bail!("the sources violate the layers or the layout of tests:\n  - {}", violations.join("\n  - "));
    }
    println!(
        "{} crates with {} dependencies between them respect the layers; {modules} top-level modules without a circle, \
         {} exceptions",
        graph.crates().len(),
        graph.edges().len(),
        EXCEPTIONS.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests;
