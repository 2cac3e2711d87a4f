//! What the documents point at is there, and nothing committed points at somebody's machine.
//!
//! `markdown` finds links and file references, `target` says whether one leads somewhere, `machine_path`
//! finds absolute paths. Links to the network are not followed.
//! Invariant: every fault is shown as `file:line`, all of them in one run.

mod machine_path;
mod markdown;
mod target;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut faults = Vec::new();
    let documents = workspace.files(&["md"])?;
    for document in &documents {
        for reference in markdown::references(&workspace.read(document)?) {
            if let Some(fault) = target::fault(workspace, document, &reference) {
                faults.push(format!("{document}:{}: {fault}", reference.line));
            }
        }
    }
    let files = workspace.files(&["md", "rs", "toml"])?;
    for file in &files {
        for (line, path) in machine_path::find(&workspace.read(file)?) {
            faults.push(format!(
                "{file}:{line}: `{path}` is a path on one machine; write it relative to the repository"
            ));
        }
    }
    if !faults.is_empty() {
        bail!("documents and paths need a look:\n  {}", faults.join("\n  "));
    }
    println!(
        "references of {} documents lead somewhere; no machine paths in {} files",
        documents.len(),
        files.len()
    );
    Ok(())
}
