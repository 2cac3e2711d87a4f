//! Refuses settings that restrict but that Lariat does not support, instead of ignoring them.
//!
//! Lists the Claude Code settings that restrict and have no counterpart, detects misspelt names of the two most restrictive
//! tables, and lists the hook events that Lariat does not have.

use std::sync::Arc;

use lariat_core::nearest::nearest;
use lariat_guard::{BrokenRestriction, Document};
use serde_json::Value;

/// Claude Code settings that restrict and have no counterpart here, as paths, with what to use instead.
pub const RESTRICTING: &[(&str, &str)] = &[
    ("sandbox.filesystem.denyRead", "use a rule instead: `permissions.deny` with `Read(path)`"),
    ("sandbox.filesystem.denyWrite", "use a rule instead: `permissions.deny` with `Edit(path)`"),
    ("sandbox.network.deniedDomains", "leave Lariat's `sandbox.network` off, or deny `WebFetch(domain:…)`"),
    ("availableModels", "set `model` in Lariat's settings instead"),
];

/// Tables that restrict; a name close to one of them is a typo.
const TABLES: [&str; 2] = ["permissions", "hooks"];

/// Claude Code hook events that Lariat does not have.
const UNSUPPORTED_EVENTS: &[&str] = &[
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

/// Returns the restrictions of a file that Lariat does not support.
pub(super) fn broken(document: &Document) -> Vec<BrokenRestriction> {
    let broken = |path: &str, reason: String| {
        let words: Vec<&str> = path.split('.').collect();
        let broken = BrokenRestriction::new(path, reason, Arc::new(document.origin.clone()));
        broken.with_line(document.line_of(&words))
    };
    let names = document.value.as_object().into_iter().flatten().map(|(name, _)| name);
    let misspelled = names.filter_map(|name| {
        let meant = nearest(name, TABLES).filter(|meant| meant != name)?;
        Some(broken(name, format!("is not a setting; did you mean `{meant}`?")))
    });
    let unsupported = RESTRICTING.iter().filter_map(|(path, instead)| {
        let found = path.split('.').try_fold(&document.value, |value, name| value.get(name));
        let is_set = found
            .is_some_and(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        is_set.then(|| broken(path, format!("is not supported; {instead}")))
    });
    misspelled.chain(unsupported).collect()
}

/// Separates hooks from events that Lariat does not have.
pub(crate) fn split_unsupported_events(hooks: &Value) -> (Value, Vec<String>) {
    let mut hooks = hooks.clone();
    let mut unsupported = Vec::new();
    if let Some(events) = hooks.as_object_mut() {
        events.retain(|name, _| {
            let happens = !UNSUPPORTED_EVENTS.contains(&name.as_str());
            if !happens {
                unsupported.push(name.clone());
            }
            happens
        });
    }
    (hooks, unsupported)
}
