//! The built-in tools with which a coding agent reads, changes, finds and runs things in a workspace.
//!
//! All tools share a [`Workbench`] and implement [`lariat_core::tool::AgentTool`]. Names and argument schemas are
//! stable; descriptions are written for models; output is bounded and says what was cut and how to get the rest.
//!
//! - [`arguments`]: one table per tool yields its schema and the check of its arguments.
//! - [`output`]: cuts text to a limit.
//! - [`image`]: recognises images that models accept.
//! - `symbols`: lists definitions by name, for front ends.
//! - one module per tool.

mod apply_patch;
pub mod arguments;
mod ask_user;
mod background;
mod bash;
mod bench_tool;
mod checkpoint;
mod diff;
mod document;
mod edit_file;
mod egress;
#[cfg(feature = "fetch")]
mod fetch;
mod file_error;
mod file_texts;
mod file_tool;
mod glob;
pub mod image;
mod list_files;
#[cfg(feature = "map")]
mod map;
mod matching;
mod multi_edit;
mod off_thread;
#[cfg(feature = "map")]
mod outline;
pub mod output;
mod outputs;
#[cfg(feature = "pdf")]
mod pdf;
mod read_file;
mod recall;
mod search;
mod session_memories;
mod shown_files;
#[cfg(feature = "map")]
pub mod symbols;
mod todo;
mod tree;
mod unsaved_files;
mod user_prompter;
mod workbench;
mod write_file;

use std::sync::Arc;

use lariat_core::tool::AgentTool;

pub use ask_user::question_of;
pub use diff::unified as unified_diff;
pub use egress::OutgoingHttp;
pub use outputs::Outputs;
pub use user_prompter::{Question, UserPrompter};
pub use workbench::{Commands, DeniedReads, Workbench};

/// All tools: those for files, search and commands, and `todo`, `ask_user` and `recall`.
pub fn default_tools(bench: &Workbench) -> Vec<Arc<dyn AgentTool>> {
    let rest = [
        bench_tool::tool::<todo::Todo>(bench),
        bench_tool::tool::<ask_user::AskUser>(bench),
        bench_tool::tool::<recall::Recall>(bench),
    ];
    let mut tools = file_tools(bench);
    tools.extend(search_tools(bench));
    tools.extend(command_tools(bench));
    tools.extend(rest);
    #[cfg(feature = "fetch")]
    tools.push(bench_tool::tool::<fetch::Fetch>(bench));
    tools
}

/// The tools that run commands: `bash`, `bash_output`, `bash_input` and `bash_stop`.
pub fn command_tools(bench: &Workbench) -> Vec<Arc<dyn AgentTool>> {
    vec![
        bench_tool::tool::<bash::Bash>(bench),
        bench_tool::tool::<bash::BashOutput>(bench),
        bench_tool::tool::<bash::BashInput>(bench),
        bench_tool::tool::<bash::BashStop>(bench),
    ]
}

/// The tools that find things: `search`, `glob` and `repo_map`.
pub fn search_tools(bench: &Workbench) -> Vec<Arc<dyn AgentTool>> {
    vec![
        bench_tool::tool::<search::Search>(bench),
        bench_tool::tool::<glob::Glob>(bench),
        #[cfg(feature = "map")]
        bench_tool::tool::<map::RepoMap>(bench),
    ]
}

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
