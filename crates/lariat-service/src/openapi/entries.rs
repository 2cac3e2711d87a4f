//! Which APIs are configured, in which file, and with which credential.
//!
//! An entry names its credential by reference (`env:NAME`, `keyring:NAME`), so no settings file contains a secret.

use std::path::Path;

use lariat_connect::openapi::{
    InternalAddresses, OpenApiAuth, OpenApiConfig, OperationEffects, OperationFilter,
};
use lariat_guard::trust::WorkspaceEffectKind;
use lariat_guard::{ApprovalHash, Origin, Trust};
use serde::Deserialize;

use super::ApiReport;
use crate::configured_entries::{EntryScope, KEYRING, strongest};
use crate::loaded_project::LoadedProject;
use crate::local::{ConfiguredItem, ConfiguredKind};
use crate::models::Keys;

/// Maximum length of a name: with an operation's name it must fit into 64 characters.
const MAX_NAME: usize = 24;
/// The start of a reference to a variable of the environment.
const VARIABLE: &str = "env:";

/// A configured API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiEntry {
    /// Its name.
    pub name: String,
    /// Address or path of its document.
    pub source: String,
    /// Where requests go, with the credential.
    pub config: OpenApiConfig,
    /// Which operations become tools.
    pub filter: OperationFilter,
    /// How the credential is named; `None` without one.
    pub auth: Option<AuthReference>,
    /// Who configured it.
    pub scope: EntryScope,
    /// Where it was written.
    pub origin: Origin,
    /// A hash of all fields of the entry.
    pub(super) identity: String,
}

impl ApiEntry {
    /// The file of the document, if it is not an address.
    pub fn file(&self) -> Option<&Path> {
        (!is_address(&self.source)).then(|| Path::new(&self.source))
    }
}

pub(super) fn is_address(source: &str) -> bool {
    source.starts_with("https://") || source.starts_with("http://")
}

/// The fields of an entry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    document: String,
    base_url: String,
    include: Vec<String>,
    exclude: Vec<String>,
    auth: Option<String>,
    /// Whether the host may have addresses of an internal network. Applies only to the user's own entries.
    internal: bool,
    /// In seconds.
    timeout: Option<u64>,
    max_response_bytes: Option<usize>,
}

/// A credential by reference: `bearer REF`, `basic USER REF`, `header NAME REF`, `query NAME REF` or `cookie NAME REF`,
/// where `REF` is `env:NAME` or `keyring:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthReference {
    kind: AuthKind,
    /// User, header, parameter or cookie.
    name: String,
    reference: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuthKind {
    Bearer,
    Basic,
    Header,
    Query,
    Cookie,
}

impl AuthReference {
    /// Reads a reference.
    ///
    /// # Errors
    /// If the text is not a reference; the error does not repeat it, because it may contain a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (kind, name, reference) = match words.as_slice() {
            ["bearer", reference] => (AuthKind::Bearer, "", *reference),
            ["basic", user, reference] => (AuthKind::Basic, *user, *reference),
            ["header", name, reference] => (AuthKind::Header, *name, *reference),
            ["query", name, reference] => (AuthKind::Query, *name, *reference),
            ["cookie", name, reference] => (AuthKind::Cookie, *name, *reference),
            _ => {
                return Err(
                    "`auth` is `bearer REF`, `basic USER REF`, `header NAME REF`, `query NAME REF` or `cookie NAME REF`"
                        .to_owned(),
                );
            }
        };
        let named = reference.strip_prefix(VARIABLE).or_else(|| reference.strip_prefix(KEYRING));
        if named.is_none_or(str::is_empty) {
            return Err(
                "the credential must be `env:NAME` or `keyring:NAME`, so that no settings file contains a secret"
                    .to_owned(),
            );
        }
        Ok(Self { kind, name: name.to_owned(), reference: reference.to_owned() })
    }

    /// The reference, for users.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    fn resolve(&self, scope: EntryScope, keys: &dyn Keys) -> Result<OpenApiAuth, String> {
        let name = self.reference.strip_prefix(VARIABLE).unwrap_or(&self.reference);
        let value = scope.value(name, keys).filter(|value| !value.trim().is_empty());
        let value = value.ok_or_else(|| match name.strip_prefix(KEYRING) {
            Some(stored) => format!("no key is stored as `{stored}`; hint: run `lariat auth login {stored}`"),
            None => format!("the variable `{name}` is not set"),
        })?;
        let (value, name) = (value.trim().to_owned(), self.name.clone());
        Ok(match self.kind {
            AuthKind::Bearer => OpenApiAuth::Bearer(value),
            AuthKind::Basic => OpenApiAuth::Basic { user: name, password: value },
            AuthKind::Header => OpenApiAuth::ApiKey { header: name, value },
            AuthKind::Query => OpenApiAuth::QueryKey { parameter: name, value },
            AuthKind::Cookie => OpenApiAuth::CookieKey { cookie: name, value },
        })
    }
}

/// The usable entries by name, and the others with the reason.
pub(super) fn of(place: &LoadedProject, keys: &dyn Keys) -> (Vec<ApiEntry>, Vec<ApiReport>) {
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for item in strongest(place, ConfiguredKind::Api) {
        let scope = EntryScope::of(item);
        let root = place.opened.territory.root();
        match entry(item, scope, root, keys) {
            Ok(entry) => entries.push(entry),
            Err(why) => {
                refused.push(ApiReport::refused(&item.name, "failed", format!("{why} ({})", item.origin)));
            }
        }
    }
    if place.opened.trust == Trust::Untrusted {
        let effects = place.opened.effects();
        let apis = effects.iter().filter(|effect| effect.kind == WorkspaceEffectKind::Api);
        refused.extend(apis.map(|api| {
            let why = format!("{} is not trusted; hint: run `lariat trust`", api.file);
            ApiReport::refused(api.what.split(':').next().unwrap_or_default(), "untrusted", why)
        }));
    }
    (entries, refused)
}

fn entry(item: &ConfiguredItem, scope: EntryScope, root: &Path, keys: &dyn Keys) -> Result<ApiEntry, String> {
    check_name(&item.name)?;
    let fields = Fields::deserialize(&item.value).map_err(|error| error.to_string())?;
    for (name, text) in [("document", &fields.document), ("base_url", &fields.base_url)] {
        if text.is_empty() {
            return Err(format!("`{name}` is missing"));
        }
    }
    let auth = fields.auth.as_deref().map(AuthReference::parse).transpose()?;
    let mut config = OpenApiConfig::default().with_base_url(fields.base_url.trim_end_matches('/'));
    config = config.with_name_prefix(format!("openapi__{}", item.name));
    if let Some(auth) = &auth {
        config = config.with_auth(auth.resolve(scope, keys)?);
    }
    config.timeout_secs = fields.timeout.unwrap_or(config.timeout_secs);
    config.max_response_bytes = fields.max_response_bytes.unwrap_or(config.max_response_bytes);
    (config.internal, config.effects) = match scope {
        EntryScope::User if fields.internal => (InternalAddresses::OfHost, OperationEffects::ByMethod),
        EntryScope::User => (InternalAddresses::Written, OperationEffects::ByMethod),
        // The project chose the host, so data must not leave without approval.
        EntryScope::Project | EntryScope::Plugin => {
            (InternalAddresses::NamedLoopback, OperationEffects::AllChange)
        }
    };
    let source = match is_address(&fields.document) {
        true => fields.document.clone(),
        false => root.join(&fields.document).display().to_string(),
    };
    let of = if !scope.is_own() { root.display().to_string() } else { String::new() };
    let identity = ApprovalHash::of([of.as_str(), &item.name, &item.value.to_string()]).to_string();
    let filter = OperationFilter::Matching { include: fields.include, exclude: fields.exclude };
    let (name, origin) = (item.name.clone(), item.origin.clone());
    Ok(ApiEntry { name, source, config, filter, auth, scope, origin, identity })
}

/// Checks that rules can name the API: with `__` in it, `openapi__a__b` could be an operation of `a` or the API `a__b`.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!("a name has 1 to {MAX_NAME} letters, digits, `-` or `_`"));
    }
    if name.contains("__") || name.starts_with('_') || name.ends_with('_') {
        return Err("a name does not contain `__`, and does not start or end with `_`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_references_and_errors_repeat_no_secret() {
        for text in [
            "bearer env:TOKEN",
            "basic me keyring:x",
            "header X-Key env:K",
            "query key env:K",
            "cookie c env:K",
        ] {
            assert!(AuthReference::parse(text).is_ok(), "{text}");
        }
        for text in
            ["bearer sk-secret", "sk-secret", "basic sk-secret", "header X-Key sk-secret", "bearer env:", ""]
        {
            let error = AuthReference::parse(text).unwrap_err();
            assert!(!error.contains("sk-secret"), "{error}");
        }
    }

    #[test]
    fn names_that_rules_cannot_tell_apart_are_refused() {
        for name in ["petstore", "pet-store_2"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in ["", "a__b", "_a", "a_", "a b", "a.b", "x23456789012345678901234x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
