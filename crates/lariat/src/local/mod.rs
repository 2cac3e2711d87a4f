//! What the guard needs of a machine, on this one.
//!
//! Owns the adapters between the guard's contracts and the host: a workspace's files for [`Manifest::of`], where paths
//! really lead for the rules, and programs and addresses for hooks. The guard decides and the host acts; neither knows the other.
//!
//! [`Manifest::of`]: lariat_guard::trust::Manifest::of

mod files;
mod hooks;
mod paths;
#[cfg(feature = "models")]
mod posts;

pub use files::WorkspaceFiles;
pub use hooks::HookPrograms;
pub use paths::RealPaths;
