//! Entries of settings that connect a session with something outside: MCP servers and APIs.
//!
//! The user's own entry comes before a project's with the same name, so that a project cannot put its server behind a name
//! that the user's rules allow. Keys that the user stored, and variables that hold the keys of model providers, expand
//! only in the user's own entries: not in those of a project, nor in those of a plugin.

use std::collections::BTreeMap;

use lariat_guard::Level;
use serde::Serialize;

use crate::loaded_project::LoadedProject;
use crate::local::{ConfiguredItem, ConfiguredKind};
use crate::models::{KNOWN, Keys};

/// The start of a name that stands for a key that the user stored: `keyring:NAME`.
pub(crate) const KEYRING: &str = "keyring:";

/// Who configured an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntryScope {
    /// The user, the organisation or a flag.
    User,
    /// A trusted project.
    Project,
    /// A plugin that the user installed.
    Plugin,
}

impl EntryScope {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Plugin => "plugin",
        }
    }

    pub(crate) const fn of(item: &ConfiguredItem) -> Self {
        match item.plugin {
            Some(_) => Self::Plugin,
            None if item.origin.level.is_workspace_level() => Self::Project,
            None => Self::User,
        }
    }

    /// Whether the user wrote the entry, so that it may open the sandbox and use stored keys.
    pub(crate) const fn is_own(self) -> bool {
        matches!(self, Self::User)
    }

    /// The value of a variable or of a stored key, if entries of this scope may have it.
    pub(crate) fn value(self, name: &str, keys: &dyn Keys) -> Option<String> {
        match (self, name.strip_prefix(KEYRING)) {
            (Self::User, Some(stored)) => keys.stored_key(stored),
            (Self::User, None) => keys.variable(name),
            (_, None) if !is_provider_key(name) => keys.variable(name),
            _ => None,
        }
    }
}

fn is_provider_key(name: &str) -> bool {
    KNOWN.iter().any(|provider| provider.variables.contains(&name))
}

/// The order in which entries with the same name apply.
fn strength(item: &ConfiguredItem) -> (bool, bool, Level) {
    let level = item.origin.level;
    (level.is_workspace_level(), item.plugin.is_some(), level)
}

/// The entries of a kind, by name; of those with the same name, the one that applies.
pub(crate) fn strongest(place: &LoadedProject, kind: ConfiguredKind) -> Vec<&ConfiguredItem> {
    let mut strongest: BTreeMap<&str, &ConfiguredItem> = BTreeMap::new();
    for item in place.opened.values.iter().filter(|item| item.kind == kind) {
        let is_stronger = |other: &&ConfiguredItem| strength(item) < strength(other);
        match strongest.get(item.name.as_str()) {
            Some(other) if !is_stronger(other) => {}
            _ => drop(strongest.insert(&item.name, item)),
        }
    }
    strongest.into_values().collect()
}
