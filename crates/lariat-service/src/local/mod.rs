//! Loads a workspace of this machine: settings, trust, hooks, memory files, skills, commands.
//!
//! Connects the guard's traits to the host: a workspace's files for [`Manifest::of`], real paths for permission rules, and
//! programs and HTTP requests for hooks. The guard decides and the host acts; neither depends on the other. [`WorkspaceLoader`] loads
//! everything that applies in a directory. The modules also provide what the model receives about a workspace: memory files,
//! skills, a map, the state of git.
//!
//! [`Manifest::of`]: lariat_guard::trust::Manifest::of

mod command_files;
mod context_sources;
mod file_ownership;
mod files;
mod hooks;
#[cfg(feature = "models")]
mod http_hooks;
mod loaded_workspace;
mod memory;
#[cfg(feature = "service")]
mod nested_repositories;
mod paths;
mod plugins;
mod programs;
mod project_directories;
mod settings_files;
mod spending;
mod trace_file;
mod unsupported_settings;
mod workspace_loader;

pub use command_files::{CommandFiles, SkillsForFiles};
#[cfg(feature = "service")]
pub(crate) use context_sources::skill_folders;
pub use context_sources::{GitNotes, MapSection, commands, skills, skills_section};
pub use file_ownership::{FileOwnership, Owner};
pub use files::WorkspaceFiles;
pub use hooks::{HookPrograms, ProjectHooks};
pub use lariat_guard::instructions::CLAUDE as CLAUDE_FILES;
pub use loaded_workspace::{ConfiguredItem, ConfiguredKind, LoadProblem, LoadedWorkspace};
pub use memory::{Instructions, MemoryFiles};
#[cfg(feature = "service")]
pub(crate) use nested_repositories::nested_repositories;
pub use paths::RealPaths;
pub use plugins::Plugin;
pub use programs::RealPrograms;
#[cfg(feature = "service")]
pub(crate) use settings_files::read_user_file;
pub use spending::SpendingFiles;
pub use trace_file::TraceFile;
pub use unsupported_settings::RESTRICTING;
#[cfg(feature = "service")]
pub(crate) use unsupported_settings::split_unsupported_events;
pub use workspace_loader::{OpenError, WorkspaceLoader};
