//! Which servers are configured, in which file, and whether they may run.

use lariat_connect::mcp::{McpServerConfig, ServerSandbox};
use lariat_guard::trust::WorkspaceEffectKind;
use lariat_guard::{Origin, Trust};

use super::McpServerReport;
use crate::configured_entries::{EntryScope, strongest};
use crate::loaded_project::LoadedProject;
use crate::local::{ConfiguredItem, ConfiguredKind};
use crate::models::Keys;

/// A configured server that may run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpEntry {
    /// How to run it.
    pub config: McpServerConfig,
    /// Who configured it.
    pub scope: EntryScope,
    /// Where it was written.
    pub origin: Origin,
}

/// The usable entries by name, and the others with the reason.
pub(super) fn of(place: &LoadedProject, keys: &dyn Keys) -> (Vec<McpEntry>, Vec<McpServerReport>) {
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for item in strongest(place, ConfiguredKind::Server) {
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
    let scope = EntryScope::of(item.origin.level);
    let root = place.opened.territory.root().display().to_string();
    let of = match scope {
        EntryScope::Project => root.as_str(),
        EntryScope::User => "",
    };
    let value = |name: &str| scope.value(name, keys);
    let mut config = McpServerConfig::parse(&item.name, &item.value, of, &value)
        .map_err(|error| format!("{} ({})", error.reason, item.origin))?;
    if scope == EntryScope::Project {
        // A project must not open its own sandbox.
        config.sandbox = ServerSandbox::default();
    }
    Ok(McpEntry { config, scope, origin: item.origin.clone() })
}
