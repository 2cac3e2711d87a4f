//! What the guard needs of a machine, on this one.
//!
//! Owns the adapters between the guard's contracts and the host: a workspace's files for [`Manifest::of`], where paths
//! really lead for the rules, and programs and addresses for hooks. The guard decides and the host acts; neither knows the other.
//! What a workspace has to tell a model is here, too: memory files, skills, its map, the state of git.
//! [`Opening`] goes with them from a directory to everything that counts in it.
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
