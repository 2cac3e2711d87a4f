//! Checks that references in documents are valid, and that no committed file contains a path of a developer's
//! machine.
//!
//! `markdown` finds links and file references, `target` checks one, `headings` knows the anchors of a document, and
//! `machine_path` finds absolute paths.
//! Network links are not followed. Invariant: one run reports every problem as `file:line`.

mod headings;
mod machine_path;
mod markdown;
mod target;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut problems = Vec::new();
    let documents = workspace.files(&["md"])?;
    for document in &documents {
        for reference in markdown::references(&workspace.read(document)?) {
            if let Some(problem) = target::problem(workspace, document, &reference) {
                problems.push(format!("{document}:{}: {problem}", reference.line));
            }
        }
    }
    let files = workspace.files(&["md", "rs", "toml"])?;
    for file in &files {
        for (line, path) in machine_path::find(&workspace.read(file)?) {
            problems.push(format!(
                "{file}:{line}: `{path}` is a path of one machine; make it relative to the repository"
            ));
        }
    }
    if !problems.is_empty() {
        bail!("invalid references or machine paths:\n  {}", problems.join("\n  "));
    }
    println!(
        "all references in {} documents are valid; no machine paths in {} files",
        documents.len(),
        files.len()
    );
    Ok(())
}
