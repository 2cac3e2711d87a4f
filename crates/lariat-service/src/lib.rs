//! The session API for every front end, such as the command line.
//!
//! - [`actor_critic`]: loops in which one agent works and another one judges.
//! - [`race`]: several agents work on one task, and the changes of one are applied.
//! - [`config`]: all settings, their effective values, and where each was set.
//! - [`local`]: loads a workspace of this machine, with its trust.
//! - [`loaded_project`]: a directory with its settings. [`models`]: resolves a model's name. [`model_servers`]: asks model
//!   servers on this machine.
//! - [`service`]: the sessions of this machine. [`session`]: a session that runs in this process.
//! - [`ProjectAgents`]: builds the agents of the sessions that a host runs, from the directory of each.
//! - [`DirectoryTools`]: what `lariat mcp serve` offers: built-in tools of a [`ServedSession`], and sessions as tools.
//! - [`mcp`]: the MCP servers of a directory. [`openapi`]: its APIs, described by OpenAPI documents.
//! - [`file_history`]: which tool calls changed files in a directory, and how to restore an earlier state.
//! - [`project_memory`]: what Lariat remembers about a project. [`past_sessions`]: searches earlier sessions.
//! - [`permissions`]: permission rules, approvals, and what they decide. [`plan`]: the changes of plan mode. [`clock`]: the time.
//! - [`trust`]: the user's trust in projects. [`callbacks`]: hooks that are functions of a program. [`claude_tools`]: tools as Claude
//!   Code names them.
//! - [`transfer`]: exports and imports sessions.
//! - [`images`]: images of a prompt. [`source_symbols`]: the definitions in source files.
//! - [`process`]: this process and the programs that it starts. [`sandbox_probe`]: finds a working sandbox. [`otlp`]: sends spans and metrics to a collector.

#[cfg(feature = "service")]
pub mod actor_critic;
#[cfg(feature = "service")]
mod agent_definitions;
#[cfg(feature = "service")]
mod agent_tool;
#[cfg(feature = "service")]
mod assembly;
#[cfg(feature = "service")]
pub mod callbacks;
#[cfg(feature = "service")]
pub mod claude_tools;
#[cfg(feature = "service")]
pub mod clock;
pub mod config;
#[cfg(feature = "service")]
mod configured_entries;
#[cfg(feature = "service")]
mod error;
#[cfg(feature = "service")]
pub mod file_history;
#[cfg(feature = "service")]
mod hosted_files;
#[cfg(feature = "service")]
mod hosted_session;
#[cfg(feature = "service")]
mod hosting;
#[cfg(feature = "service")]
pub mod images;
#[cfg(feature = "service")]
mod inspection;
#[cfg(feature = "sqlite")]
mod learnings;
#[cfg(feature = "service")]
pub mod loaded_project;
#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local;
#[cfg(feature = "service")]
pub mod mcp;
#[cfg(feature = "service")]
mod memory_context;
#[cfg(feature = "service")]
pub mod model_servers;
#[cfg(feature = "service")]
pub mod models;
#[cfg(feature = "service")]
mod only_session;
#[cfg(feature = "service")]
pub mod openapi;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "service")]
pub mod past_sessions;
#[cfg(feature = "service")]
pub mod permissions;
#[cfg(feature = "service")]
pub mod plan;
#[cfg(feature = "service")]
mod private;
#[cfg(feature = "service")]
pub mod process;
#[cfg(feature = "service")]
pub mod project_memory;
#[cfg(feature = "service")]
pub mod race;
#[cfg(feature = "service")]
pub mod sandbox_probe;
#[cfg(feature = "service")]
mod served_session;
#[cfg(feature = "service")]
mod served_tools;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "service")]
pub mod session;
#[cfg(feature = "service")]
mod session_budget;
#[cfg(feature = "service")]
mod session_changes;
#[cfg(feature = "service")]
mod session_management;
#[cfg(feature = "service")]
mod session_store;
#[cfg(feature = "service")]
mod slash_commands;
#[cfg(feature = "service")]
pub mod source_symbols;
#[cfg(feature = "service")]
mod task_guidance;
#[cfg(feature = "service")]
mod temporary;
#[cfg(feature = "service")]
mod tool_search;
#[cfg(feature = "service")]
mod tools;
#[cfg(feature = "service")]
mod traces;
#[cfg(feature = "service")]
mod transcript;
#[cfg(feature = "service")]
pub mod transfer;
#[cfg(feature = "service")]
pub mod trust;
#[cfg(feature = "service")]
mod user_directories;
#[cfg(feature = "service")]
mod user_shell;

#[cfg(feature = "service")]
pub use agent_definitions::ListedAgent;
#[cfg(feature = "service")]
pub use callbacks::HookCallbacks;
#[cfg(feature = "service")]
pub use error::{ServiceError, StateFileError};
#[cfg(feature = "service")]
pub use hosted_session::{AnswerAttempts, AnswerCheck, HostedSession};
#[cfg(feature = "service")]
pub use hosting::{ProjectAgents, SessionEditors, SessionSettings};
#[cfg(feature = "service")]
pub use lariat_model::http::ClientConfig;
#[cfg(feature = "service")]
pub use lariat_sessions::{HostOptions, Local};
#[cfg(feature = "sqlite")]
pub use learnings::StoredLearnings;
#[cfg(feature = "service")]
pub use loaded_project::{LoadOptions, LoadedProject};
#[cfg(feature = "service")]
pub use only_session::AgentFacts;
#[cfg(feature = "service")]
pub use served_session::ServedSession;
#[cfg(feature = "service")]
pub use served_tools::{DirectoryTools, SERVED_SESSION_TOOLS, SessionsConnector};
#[cfg(feature = "service")]
pub use service::{ContextWindowReport, LocalService, SessionSelector};
#[cfg(feature = "service")]
pub use session::{Prompt, Session, SessionOptions};
#[cfg(feature = "service")]
pub use session_budget::BudgetReport;
#[cfg(feature = "service")]
pub use slash_commands::SlashCommand;
#[cfg(feature = "service")]
pub use tools::is_tool;
#[cfg(feature = "service")]
pub use user_directories::UserDirectories;
