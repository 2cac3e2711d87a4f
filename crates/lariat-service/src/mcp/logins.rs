//! The logins of the user at services: where they are stored, and which addresses a login may contact.
//!
//! A login is stored where API keys are, under the name of its server and a hash of its address, so that a server with the
//! same name at another address has its own. An entry with a header `Authorization` needs none.

use std::sync::Arc;

use lariat_connect::mcp::{LoginAddresses, LoginStore, McpTransport, ReachableAddresses, ServerLogin};
use lariat_model::http::{ClientConfig, HttpClient};
use lariat_runtime::redact::Redactor;
use lariat_runtime::system::SystemClock;

use super::McpEntry;
use crate::configured_entries::EntryScope;
use crate::models::Keys;

/// The start of the names of logins among the stored keys.
pub const LOGIN_PREFIX: &str = "mcp.";

/// The stored login of one server.
struct KeyLogin {
    keys: Arc<dyn Keys>,
    name: String,
    server: String,
    redactor: Redactor,
}

impl LoginStore for KeyLogin {
    fn load(&self) -> Option<String> {
        self.keys.load_secret(&self.name)
    }

    fn save(&self, login: Option<&str>) -> Result<(), String> {
        self.keys.store_secret(&self.name, login)
    }

    fn hide(&self, secret: &str) {
        self.redactor.add([(format!("login at {}", self.server), secret)]);
    }
}

/// The addresses that the services of a scope may have.
pub(super) const fn reachable(scope: EntryScope) -> ReachableAddresses {
    match scope {
        EntryScope::User => ReachableAddresses::All,
        EntryScope::Project | EntryScope::Plugin => ReachableAddresses::PublicAndNamedLoopback,
    }
}

/// The login of an entry; `None` if it is a program, or has a header `Authorization` of its own.
pub(super) fn of(
    entry: &McpEntry,
    keys: &Arc<dyn Keys>,
    client: &ClientConfig,
    redactor: &Redactor,
) -> Option<Arc<ServerLogin>> {
    let (McpTransport::Http { url, headers } | McpTransport::Sse { url, headers }) = &entry.config.transport
    else {
        return None;
    };
    if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
        return None;
    }
    let store = KeyLogin {
        keys: Arc::clone(keys),
        name: format!("{LOGIN_PREFIX}{}", entry.config.login_name()),
        server: entry.config.name.clone(),
        redactor: redactor.clone(),
    };
    let named = std::iter::once(url.as_str()).chain(entry.config.login.metadata_url.as_deref());
    let addresses = LoginAddresses::new(reachable(entry.scope), named);
    let http = HttpClient::new(client.clone()).with_address_check(Arc::new(addresses));
    Some(Arc::new(ServerLogin::new(url, http, Arc::new(store), Arc::new(SystemClock))))
}
