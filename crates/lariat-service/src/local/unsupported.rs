//! What files of settings may hold that restricts and that there is not here: refused, never left out in silence.
//!
//! Owns the keys of Claude Code's settings that restrict and have no counterpart, the misspelt names of the two tables that
//! restrict most, and the events of hooks that never happen here.

use std::sync::Arc;

use lariat_core::nearest::nearest;
use lariat_guard::{BrokenRestriction, Document, SettingsError};
use serde_json::Value;

/// Keys of Claude Code's settings that restrict and have no counterpart here, as paths, with what to write instead.
pub const RESTRICTING: &[(&str, &str)] = &[
    ("sandbox.filesystem.denyRead", "deny reading by rules: `permissions.deny` with `Read(path)`"),
    ("sandbox.filesystem.denyWrite", "deny writing by rules: `permissions.deny` with `Edit(path)`"),
    (
        "sandbox.network.deniedDomains",
        "leave the network off (`sandbox.network` of Lariat), or deny `WebFetch(domain:…)`",
    ),
    ("availableModels", "set `model` in Lariat's settings"),
];

/// Tables that restrict; a name close to one of them is a slip.
const TABLES: [&str; 2] = ["permissions", "hooks"];

/// Events of Claude Code's hooks that never happen here, because there is nothing that they are about.
const IDLE: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PermissionDenied",
    "Setup",
    "StopFailure",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// Refuses a file that restricts by something that there is not here.
///
/// # Errors
/// When it does.
pub(super) fn check(document: &Document) -> Result<(), SettingsError> {
    let broken = |path: &str, reason: String| {
        let words: Vec<&str> = path.split('.').collect();
        let broken = BrokenRestriction::new(path, reason, Arc::new(document.origin.clone()));
        Err(SettingsError::Restriction(Box::new(broken.with_line(document.line_of(&words)))))
    };
    for name in document.value.as_object().into_iter().flatten().map(|(name, _)| name) {
        let meant = nearest(name, TABLES).filter(|meant| meant != name);
        if let Some(meant) = meant {
            return broken(name, format!("is not a setting; did you mean `{meant}`?"));
        }
    }
    for (path, instead) in RESTRICTING {
        let found = path.split('.').try_fold(&document.value, |value, name| value.get(name));
        let is_set = found
            .is_some_and(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        if is_set {
            return broken(path, format!("is not supported here; {instead}"));
        }
    }
    Ok(())
}

/// Hooks without those of events that never happen here, and the names of these.
pub(super) fn without_idle_events(hooks: &Value) -> (Value, Vec<String>) {
    let mut hooks = hooks.clone();
    let mut idle = Vec::new();
    if let Some(events) = hooks.as_object_mut() {
        events.retain(|name, _| {
            let happens = !IDLE.contains(&name.as_str());
            if !happens {
                idle.push(name.clone());
            }
            happens
        });
    }
    (hooks, idle)
}
