//! Which servers are configured, in which file, and whether they may run.
//!
//! The user's own entry comes before a project's with the same name, so that a project cannot put its server behind a name
//! that the user's rules allow. Keys that the user stored, and variables that hold the keys of model providers, expand
//! only in the user's own entries.

use std::collections::BTreeMap;

use lariat_connect::mcp::{McpServerConfig, ServerSandbox};
use lariat_guard::trust::WorkspaceEffectKind;
use lariat_guard::{Level, Origin, Trust};
use serde::Serialize;

use super::McpServerReport;
use crate::loaded_project::LoadedProject;
use crate::local::{ConfiguredItem, ConfiguredKind};
use crate::models::{KNOWN, Keys};

/// The start of a name that stands for a key that the user stored: `${keyring:NAME}`.
const KEYRING: &str = "keyring:";

/// Who configured a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum McpScope {
    /// The user, the organisation or a flag.
    User,
    /// A trusted project.
    Project,
}

impl McpScope {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A configured server that may run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpEntry {
    /// How to run it.
    pub config: McpServerConfig,
    /// Who configured it.
    pub scope: McpScope,
    /// Where it was written.
    pub origin: Origin,
}

/// The order in which entries with the same name apply.
fn strength(level: Level) -> (bool, Level) {
    (level.is_workspace_level(), level)
}

/// The usable entries by name, and the others with the reason.
pub(super) fn of(place: &LoadedProject, keys: &dyn Keys) -> (Vec<McpEntry>, Vec<McpServerReport>) {
    let mut strongest: BTreeMap<&str, &ConfiguredItem> = BTreeMap::new();
    for item in place.opened.values.iter().filter(|item| item.kind == ConfiguredKind::Server) {
        let is_stronger =
            |other: &&ConfiguredItem| strength(item.origin.level) < strength(other.origin.level);
        match strongest.get(item.name.as_str()) {
            Some(other) if !is_stronger(other) => {}
            _ => drop(strongest.insert(&item.name, item)),
        }
    }
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for item in strongest.into_values() {
        match entry(place, item, keys) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                refused.push(McpServerReport {
                    name: item.name.clone(),
                    status: "failed",
                    error: Some(error),
                    tools: 0,
                });
            }
        }
    }
    if place.opened.trust == Trust::Untrusted {
        let effects = place.opened.effects();
        let servers = effects.iter().filter(|effect| effect.kind == WorkspaceEffectKind::Server);
        refused.extend(servers.map(|server| McpServerReport {
            name: server.what.split(':').next().unwrap_or_default().to_owned(),
            status: "untrusted",
            error: Some(format!("{} is not trusted; hint: run `lariat trust`", server.file)),
            tools: 0,
        }));
    }
    (entries, refused)
}

fn entry(place: &LoadedProject, item: &ConfiguredItem, keys: &dyn Keys) -> Result<McpEntry, String> {
    let scope = if item.origin.level.is_workspace_level() { McpScope::Project } else { McpScope::User };
    let root = place.opened.territory.root().display().to_string();
    let of = match scope {
        McpScope::Project => root.as_str(),
        McpScope::User => "",
    };
    let value = |name: &str| match scope {
        McpScope::User => match name.strip_prefix(KEYRING) {
            Some(stored) => keys.stored_key(stored),
            None => keys.variable(name),
        },
        McpScope::Project if is_secret_of_user(name) => None,
        McpScope::Project => keys.variable(name),
    };
    let mut config = McpServerConfig::parse(&item.name, &item.value, of, &value)
        .map_err(|error| format!("{} ({})", error.reason, item.origin))?;
    if scope == McpScope::Project {
        // A project must not open its own sandbox.
        config.sandbox = ServerSandbox::default();
    }
    Ok(McpEntry { config, scope, origin: item.origin.clone() })
}

fn is_secret_of_user(name: &str) -> bool {
    name.starts_with(KEYRING) || KNOWN.iter().any(|provider| provider.variables.contains(&name))
}
