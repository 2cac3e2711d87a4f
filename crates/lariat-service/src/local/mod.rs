//! Loads a workspace of this machine: settings, trust, hooks, memory files, skills.
//!
//! Connects the guard's traits to the host: a workspace's files for [`Manifest::of`], real paths for permission rules, and
//! programs and HTTP requests for hooks. The guard decides and the host acts; neither depends on the other. [`Opening`] loads
//! everything that applies in a directory. The modules also provide what the model receives about a workspace: memory files,
//! skills, a map, the state of git.
//!
//! [`Manifest::of`]: lariat_guard::trust::Manifest::of

mod brief;
mod files;
mod hooks;
mod memory;
#[cfg(feature = "service")]
mod nested;
mod open;
mod opened;
mod parts;
mod paths;
#[cfg(feature = "models")]
mod posts;
mod programs;
mod source;
mod spending;
mod territory;
mod trace_file;
mod unsupported;

#[cfg(feature = "service")]
pub(crate) use brief::skill_folders;
pub use brief::{GitNotes, MapSection, skills, skills_section};
pub use files::WorkspaceFiles;
pub use hooks::{HookPrograms, ProjectHooks};
pub use memory::{Instructions, MemoryFiles};
#[cfg(feature = "service")]
pub(crate) use nested::nested_repositories;
pub use open::{OpenError, Opening};
pub use opened::{Configured, ConfiguredKind, Opened, Problem};
pub use paths::RealPaths;
pub use programs::RealPrograms;
#[cfg(feature = "service")]
pub(crate) use source::read_own;
pub use spending::SpendingFiles;
pub use territory::{Owner, Territory};
pub use trace_file::TraceFile;
pub use unsupported::RESTRICTING;
