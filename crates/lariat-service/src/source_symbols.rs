//! The definitions in the source files of a directory, for front ends that complete their names.

use std::path::Path;

use lariat_core::cancel::CancellationToken;
use lariat_host::files::Workspace;
pub use lariat_tools::symbols::Symbol;
use lariat_tools::symbols::symbols;

/// Lists the definitions below a directory, without what git ignores. A directory that cannot be read has none: a run
/// reports the cause. Blocks.
pub fn source_symbols(directory: &Path) -> Vec<Symbol> {
    let Ok(workspace) = Workspace::open(directory) else { return Vec::new() };
    symbols(&workspace, &CancellationToken::new()).unwrap_or_default()
}
