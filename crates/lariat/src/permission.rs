//! Which tool calls may run: policies, approvals and, behind the feature `gate`, permission rules.

pub use lariat_core::file_access::{FileAccessCheck, FileUse};
pub use lariat_core::opening::SandboxOpening;
pub use lariat_core::permission::{
    AllowAll, ApprovalScope, Approver, AskBeforeEffects, CallPermit, DangerLevel, PermissionDecision,
    PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};
#[cfg(feature = "gate")]
pub use lariat_guard::{
    Approval, ApprovalStore, Cause, Confinement, Document, Effect, Entry, EntryKind, Format, Guard,
    GuardDecision, JudgedFile, Judgement, Layer, Level, Mode, NoLinks, Origin, Query, Reason, Resolver, Rule,
    SessionDirectories, Settings, SettingsError, StateFileError, Trust, Warning, hooks, trust,
};
#[cfg(feature = "gate")]
pub use lariat_runtime::Gate;
pub use lariat_runtime::{Plan, PlanDecision, PlannedChange, Preview};
