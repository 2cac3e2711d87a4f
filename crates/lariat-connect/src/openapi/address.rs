//! Where requests go: the base address, and which addresses its host may have.
//!
//! Invariant: the caller names the host. A document can only name a path on it.

use std::net::IpAddr;

use lariat_core::display;
use lariat_host::sandbox::is_internal;
use lariat_http::AddressCheck;
use serde_json::Value;
use url::{Host, Url};

use super::config::{OpenApiAuth, OpenApiConfig};
use super::document::OpenApiDocument;
use super::error::OpenApiError;

/// Maximum length of an address.
const MAX_ADDRESS: usize = 2048;

/// Which addresses of internal networks a host may have. All public ones are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InternalAddresses {
    /// This machine, if the address names it: `localhost`, `127.0.0.1` or `[::1]`.
    #[default]
    NamedLoopback,
    /// The address itself, if it is written as a number, and this machine, if it is named.
    Written,
    /// Any that the host's name resolves to.
    OfHost,
}

/// Allows the addresses of one host, and public addresses of others.
#[derive(Clone, Debug)]
pub(super) struct HostCheck {
    host: String,
    internal: InternalAddresses,
}

impl HostCheck {
    pub(super) fn new(url: &Url, internal: InternalAddresses) -> Self {
        Self { host: plain_host(url.host_str().unwrap_or_default()), internal }
    }
}

impl AddressCheck for HostCheck {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        let host = plain_host(host);
        let is_named_loopback =
            address.is_loopback() && matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
        let is_allowed = match self.internal {
            InternalAddresses::NamedLoopback => is_named_loopback,
            InternalAddresses::Written => is_named_loopback || host.parse::<IpAddr>().is_ok(),
            InternalAddresses::OfHost => true,
        };
        if !is_internal(address) || (host == self.host && is_allowed) {
            return Ok(());
        }
        Err(format!("`{host}` is an address of this machine or of an internal network"))
    }
}

fn plain_host(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

/// Whether two addresses have the same host. The port and the scheme may differ.
pub fn is_same_host(one: &str, other: &str) -> bool {
    match (parse(one), parse(other)) {
        (Ok(one), Ok(other)) => one.host() == other.host(),
        _ => false,
    }
}

/// Parses an address that the caller named.
pub(super) fn parse(text: &str) -> Result<Url, OpenApiError> {
    let shown: String = display::line(text).chars().take(200).collect();
    let invalid = |why: &str| OpenApiError::Config(format!("`{shown}` is not a usable address: {why}"));
    if text.len() > MAX_ADDRESS || text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return Err(invalid("it is too long, or contains white space"));
    }
    let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("it must start with `https://` or `http://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("it contains a user name or password"));
    }
    match url.host() {
        Some(Host::Domain(name)) if !name.is_empty() => Ok(url),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(url),
        _ => Err(invalid("it has no host")),
    }
}

/// The base address of a document's tools: no query, no fragment, no slash at its end. `source` is where the document was
/// fetched.
pub(super) fn base(
    config: &OpenApiConfig,
    document: &OpenApiDocument,
    source: Option<&Url>,
) -> Result<Url, OpenApiError> {
    let base = match (&config.base_url, source) {
        (Some(named), _) => parse(named)?,
        (None, Some(source)) => {
            let server = document.server(Some(source))?;
            // A document that was fetched safely must not move requests to an unprotected connection.
            let is_weaker = source.scheme() == "https" && server.scheme() != "https";
            if server.host() != source.host() || is_weaker {
                return Err(OpenApiError::OtherServer(server.to_string()));
            }
            server
        }
        (None, None) => {
            let server = document.server(None)?;
            if config.auth != OpenApiAuth::None || server.scheme() != "https" {
                return Err(OpenApiError::OtherServer(server.to_string()));
            }
            server
        }
    };
    with_plain_path(base)
}

/// Checks an address that the caller chose as the base.
pub(super) fn with_plain_path(mut url: Url) -> Result<Url, OpenApiError> {
    if url.query().is_some() || url.fragment().is_some() {
        return Err(OpenApiError::Config("the base address must have no query and no fragment".to_owned()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// The first server of a document, with the defaults of its variables.
pub(super) fn server(root: &Value, source: Option<&Url>) -> Result<Url, OpenApiError> {
    let server = root.pointer("/servers/0");
    let mut text = match (server.and_then(|server| server.get("url")).and_then(Value::as_str), source) {
        (Some(text), _) => text.to_owned(),
        // The specification's default.
        (None, Some(_)) => "/".to_owned(),
        (None, None) => {
            return Err(OpenApiError::Config(
                "the document names no server; set the base address".to_owned(),
            ));
        }
    };
    for (name, variable) in server.into_iter().flat_map(|server| OpenApiDocument::object(server, "variables"))
    {
        if let Some(value) = variable.get("default").and_then(Value::as_str)
            && text.len() <= MAX_ADDRESS
        {
            text = text.replace(&format!("{{{name}}}"), value);
        }
    }
    match source {
        Some(source) => {
            let joined = source.join(&text).map_err(|error| {
                OpenApiError::Config(format!("the server of the document is not a valid address: {error}"))
            })?;
            parse(joined.as_str())
        }
        None => parse(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_addresses_need_a_name_that_the_user_wrote() {
        let check = |url: &str, internal, host: &str, address: &str| {
            let check = HostCheck::new(&parse(url).unwrap(), internal);
            check.check(host, address.parse().unwrap()).is_ok()
        };
        use InternalAddresses::{NamedLoopback, OfHost, Written};
        assert!(check("https://api.example", NamedLoopback, "api.example", "93.184.216.34"));
        assert!(!check("https://api.example", Written, "api.example", "10.0.0.1"));
        assert!(check("https://api.example", OfHost, "api.example", "10.0.0.1"));
        assert!(!check("https://api.example", OfHost, "other.example", "10.0.0.1"), "another host");
        assert!(check("http://localhost:1", NamedLoopback, "localhost", "127.0.0.1"));
        assert!(check("http://[::1]:1", NamedLoopback, "[::1]", "::1"));
        assert!(!check("http://169.254.169.254", NamedLoopback, "169.254.169.254", "169.254.169.254"));
        assert!(check("http://10.0.0.1", Written, "10.0.0.1", "10.0.0.1"));
        assert!(!check("http://10.0.0.1", Written, "10.0.0.2", "10.0.0.2"), "another address");
    }
}
