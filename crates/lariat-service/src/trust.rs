//! The user's trust in projects: what a project brings, what changed since the user trusted it, and the record of trust.

pub use lariat_guard::Trust;
pub use lariat_guard::trust::{Difference, TrustStatus, TrustStore, WorkspaceEffect, WorkspaceEffectKind};
