//! The built-in tools: what a coding agent needs to read, change, find and run things in a workspace.
//!
//! Every tool stands on a shared [`Workbench`] and implements [`lariat_core::tool::AgentTool`]. Names and argument
//! schemas are stable; descriptions are written for models; output is bounded and says what was cut and how to get the
//! rest.
//!
//! - [`arguments`]: one table per tool gives both its schema and the check of its arguments.
//! - [`output`]: text with a bound.
//! - one module per tool.

mod apply_patch;
pub mod arguments;
mod diff;
mod document;
mod edit_file;
mod file_tool;
mod image;
mod list_files;
mod matching;
mod multi_edit;
pub mod output;
mod read_file;
mod workbench;
mod write_file;

use std::sync::Arc;

use lariat_core::tool::AgentTool;

pub use workbench::Workbench;

/// The tools that read, list and change files: `read_file`, `list_files`, `write_file`, `edit_file`, `multi_edit` and
/// `apply_patch`.
pub fn file_tools(bench: &Workbench) -> Vec<Arc<dyn AgentTool>> {
    vec![
        file_tool::tool::<read_file::ReadFile>(bench),
        file_tool::tool::<list_files::ListFiles>(bench),
        file_tool::tool::<write_file::WriteFile>(bench),
        file_tool::tool::<edit_file::EditFile>(bench),
        file_tool::tool::<multi_edit::MultiEdit>(bench),
        file_tool::tool::<apply_patch::ApplyPatch>(bench),
    ]
}
