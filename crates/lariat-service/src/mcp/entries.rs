//! Which servers are configured, in which file, and whether they may run.

use std::cell::RefCell;
use std::path::Path;

use lariat_connect::mcp::{McpServerConfig, McpTransport, ServerSandbox};
use lariat_guard::trust::WorkspaceEffectKind;
use lariat_guard::{Origin, Trust};

use super::McpServerReport;
use crate::configured_entries::{EntryScope, KEYRING, strongest};
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

/// Variables whose values are not secret, although an entry may use them.
const PLAIN: &[&str] = &["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "TZ", "USER"];
/// Headers whose values are not secret.
const PLAIN_HEADERS: &[&str] = &["Accept", "Accept-Language", "Content-Type", "User-Agent"];
/// Parts of the names of variables whose values are secrets.
const SECRET: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];
/// A value of so many bytes may be a secret, whatever its variable is called. Shorter ones are names of regions and modes.
const SECRET_BYTES: usize = 16;

/// The configured servers.
#[derive(Default)]
pub(super) struct Entries {
    /// Those that may run, by name.
    pub(super) usable: Vec<McpEntry>,
    /// The others, with the reason.
    pub(super) refused: Vec<McpServerReport>,
    /// The secret values of variables that entries contain, each with the name of its variable.
    pub(super) secrets: Vec<(String, String)>,
}

/// Reads the entries.
pub(super) fn of(place: &LoadedProject, keys: &dyn Keys) -> Entries {
    let Entries { usable: mut entries, mut refused, mut secrets } = Entries::default();
    for item in strongest(place, ConfiguredKind::Server) {
        match entry(place, item, keys, &mut secrets) {
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
    Entries { usable: entries, refused, secrets }
}

/// The identities of the entries, by the name of the server. Needs no values of variables.
pub(super) fn identities(place: &LoadedProject) -> Vec<(String, String)> {
    let identity = |item: &ConfiguredItem| {
        let scope = identity_scope(place, item);
        Some((item.name.clone(), McpServerConfig::identity_of(&item.name, &item.value, &scope).ok()?))
    };
    strongest(place, ConfiguredKind::Server).into_iter().filter_map(identity).collect()
}

/// The scope as part of an identity: servers of two projects are different ones.
fn identity_scope(place: &LoadedProject, item: &ConfiguredItem) -> String {
    match (EntryScope::of(item), &item.plugin) {
        (EntryScope::Project, _) => place.opened.territory.root().display().to_string(),
        (_, Some(plugin)) => format!("plugin {plugin}"),
        _ => String::new(),
    }
}

fn entry(
    place: &LoadedProject,
    item: &ConfiguredItem,
    keys: &dyn Keys,
    secrets: &mut Vec<(String, String)>,
) -> Result<McpEntry, String> {
    let scope = EntryScope::of(item);
    let used = RefCell::new(Vec::new());
    let value = |name: &str| {
        let value = scope.value(name, keys)?;
        if is_secret(name, &value) {
            used.borrow_mut().push((name.to_owned(), value.clone()));
        }
        Some(value)
    };
    let of = identity_scope(place, item);
    let parsed = McpServerConfig::parse(&item.name, &item.value, &of, &value);
    secrets.extend(used.into_inner());
    let mut config = parsed.map_err(|error| format!("{} ({})", error.reason, item.origin))?;
    secrets.extend(literal_secrets(&config.transport));
    if !scope.is_own() {
        // A project or a plugin must not open its own sandbox.
        config.sandbox = ServerSandbox::default();
    }
    Ok(McpEntry { config, scope, origin: item.origin.clone() })
}

/// The values that are written in an entry and that must not be shown: of variables and headers.
fn literal_secrets(transport: &McpTransport) -> Vec<(String, String)> {
    let values = match transport {
        McpTransport::Stdio { environment, .. } => environment,
        McpTransport::Http { headers, .. } | McpTransport::Sse { headers, .. } => headers,
        _ => return Vec::new(),
    };
    let is_plain = |name: &str| PLAIN_HEADERS.iter().any(|plain| plain.eq_ignore_ascii_case(name));
    let mut secrets = Vec::new();
    for (name, value) in values.iter().filter(|(name, value)| !is_plain(name) && is_secret(name, value)) {
        secrets.push((name.clone(), value.clone()));
        // Of `Bearer TOKEN`, a server may repeat the token alone.
        secrets.extend(value.rsplit_once(' ').map(|(_, token)| (name.clone(), token.to_owned())));
    }
    secrets
}

/// Whether the value of a variable must not be shown. A path or a plain address that an entry uses is part of ordinary work;
/// hiding it would damage files that the model reads and edits.
fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if name.starts_with(KEYRING) || SECRET.iter().any(|part| upper.contains(part)) {
        return true;
    }
    let is_path = Path::new(value).is_absolute() && Path::new(value).exists();
    let is_address = value.contains("://") && !value.contains(['@', '?']);
    value.len() >= SECRET_BYTES && !PLAIN.contains(&name) && !is_path && !is_address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_token_of_a_header_and_of_a_variable_is_secret() {
        let of = |values: &[(&str, &str)]| {
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let headers = of(&[("Authorization", "Bearer abcdefgh"), ("Accept", "application/json, text/plain")]);
        let url = "https://mcp.example.com".to_owned();
        let found = literal_secrets(&McpTransport::Http { url, headers });
        let found: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(found, ["Bearer abcdefgh", "abcdefgh"]);
        let environment = of(&[("MODE", "fast"), ("TOKEN", "12345678")]);
        let (command, arguments) = ("server".to_owned(), Vec::new());
        let program = McpTransport::Stdio { command, arguments, environment, directory: None };
        assert_eq!(literal_secrets(&program), [("TOKEN".to_owned(), "12345678".to_owned())]);
    }

    #[test]
    fn values_of_ordinary_work_are_not_secret() {
        for (name, value) in [
            ("API_KEY", "short"),
            ("keyring:tracker", "x"),
            ("GITHUB_PAT", "0123456789abcdef"),
            ("DATABASE_URL", "postgres://me:word@host/db"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("HOME", "/home/user-with-a-long-name"),
            ("AWS_REGION", "eu-central-1"),
            ("DATA", "/usr/share"),
            ("SERVICE", "https://api.example.com/v1"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
