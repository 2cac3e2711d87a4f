//! Finds the authorization server of a service: metadata of the protected resource (RFC 9728), then metadata of the
//! authorization server (RFC 8414, or OpenID Connect Discovery).
//!
//! A service without metadata is its own authorization server, as in the revision of 2025-03-26. Invariant: metadata applies
//! only if it names the service or the issuer that it was asked for, so no server can speak for another one.

use lariat_http::HttpClient;
use serde::Deserialize;
use url::Url;

use super::challenge::Challenge;
use super::endpoint::{address, document, failed, shown};
use super::token::ClientAuth;
use crate::mcp::error::McpError;

/// The challenge method that must be supported: with `plain`, who sees the address for the browser can take the code.
const S256: &str = "S256";

/// The metadata of a protected resource.
#[derive(Clone, Debug, Default, Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// The metadata of an authorization server.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(default)]
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    /// Whether each redirect names the issuer (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AuthorizationServer {
    /// How a client with a secret proves its identity here. Without metadata it is `client_secret_basic` (RFC 8414).
    pub(super) fn secret_method(&self) -> ClientAuth {
        let methods = &self.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.iter().any(|method| method == name);
        match has("client_secret_post") && !has("client_secret_basic") {
            true => ClientAuth::ClientSecretPost,
            false => ClientAuth::ClientSecretBasic,
        }
    }
}

/// Where to log in to a service.
#[derive(Clone, Debug)]
pub(super) struct DiscoveredServer {
    /// The name of the service for the authorization server.
    pub(super) resource: String,
    /// The scopes that the service has.
    pub(super) scopes: Vec<String>,
    pub(super) server: AuthorizationServer,
}

/// Finds the authorization server of a service. `configured` is the address of its metadata, if the entry has it.
pub(super) async fn discover(
    client: &HttpClient,
    service: &Url,
    challenge: &Challenge,
    configured: Option<&str>,
) -> Result<DiscoveredServer, McpError> {
    let metadata = resource_metadata(client, service, challenge).await?;
    let (resource, scopes) = match &metadata {
        Some(metadata) => (metadata.resource.clone(), metadata.scopes_supported.clone()),
        None => (without_query(service), Vec::new()),
    };
    let server = match (configured, &metadata) {
        (Some(configured), _) => {
            let url = address(configured)?;
            let found: Option<AuthorizationServer> = document(client, &url).await?;
            found.ok_or_else(|| {
                failed(format!("the authorization server has no metadata at {}", shown(configured)))
            })?
        }
        (None, Some(metadata)) if !metadata.authorization_servers.is_empty() => {
            let issuer = metadata.authorization_servers.first().map(String::as_str).unwrap_or_default();
            let found = server_metadata(client, issuer).await?;
            found.ok_or_else(|| {
                failed(format!("the authorization server {} publishes no metadata", shown(issuer)))
            })?
        }
        _ => {
            let own = service.origin().ascii_serialization();
            let found = server_metadata(client, &own).await?;
            found.ok_or_else(|| failed("the server names no authorization server, so it has no login"))?
        }
    };
    if !server.code_challenge_methods_supported.iter().any(|method| method == S256) {
        return Err(failed(format!(
            "the authorization server {} does not support PKCE with {S256}",
            shown(&server.issuer)
        )));
    }
    Ok(DiscoveredServer { resource, scopes, server })
}

async fn resource_metadata(
    client: &HttpClient,
    service: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, McpError> {
    let places = match &challenge.resource_metadata {
        Some(named) => vec![address(named)?],
        None => well_known(service, "oauth-protected-resource")?,
    };
    for place in places {
        let found: Option<ResourceMetadata> = document(client, &place).await?;
        if let Some(metadata) = found {
            if !covers(&metadata.resource, service) {
                return Err(failed(format!(
                    "the metadata of the server is for another address: {}",
                    shown(&metadata.resource)
                )));
            }
            return Ok(Some(metadata));
        }
    }
    Ok(None)
}

/// Whether a resource is the service, or a path above it.
fn covers(resource: &str, service: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (above, path) = (resource.path().trim_end_matches('/'), service.path());
    let rest = path.strip_prefix(above);
    resource.origin() == service.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn server_metadata(client: &HttpClient, issuer: &str) -> Result<Option<AuthorizationServer>, McpError> {
    let url = address(issuer)?;
    let mut places = well_known(&url, "oauth-authorization-server")?;
    places.truncate(1);
    places.extend(well_known(&url, "openid-configuration")?.into_iter().take(1));
    let path = url.path().trim_end_matches('/');
    if !path.is_empty() {
        // OpenID Connect puts its suffix after the path.
        places.push(beneath(&url, &format!("{path}/.well-known/openid-configuration"))?);
    }
    for place in places {
        let found: Option<AuthorizationServer> = document(client, &place).await?;
        if let Some(server) = found {
            if server.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
                return Err(failed(format!(
                    "the metadata of {} is for another issuer: {}",
                    shown(issuer),
                    shown(&server.issuer)
                )));
            }
            return Ok(Some(server));
        }
    }
    Ok(None)
}

/// The addresses of a well-known document: with the path of `url` after the suffix, and without it.
fn well_known(url: &Url, suffix: &str) -> Result<Vec<Url>, McpError> {
    let path = url.path().trim_end_matches('/');
    let root = beneath(url, &format!("/.well-known/{suffix}"))?;
    if path.is_empty() {
        return Ok(vec![root]);
    }
    Ok(vec![beneath(url, &format!("/.well-known/{suffix}{path}"))?, root])
}

fn beneath(url: &Url, path: &str) -> Result<Url, McpError> {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    address(url.as_str())
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_applies_to_its_own_service_only() {
        let service = Url::parse("https://mcp.example.com/a/b?x=1").unwrap();
        for own in ["https://mcp.example.com/a/b", "https://mcp.example.com/a/", "https://mcp.example.com"] {
            assert!(covers(own, &service), "{own}");
        }
        let others =
            ["https://example.com/a/b", "http://mcp.example.com/", "https://mcp.example.com/a/bc", ""];
        for other in
            others.into_iter().chain(["https://mcp.example.com:8443/", "https://mcp.example.com/a/b/c"])
        {
            assert!(!covers(other, &service), "{other}");
        }
    }

    #[test]
    fn well_known_addresses_keep_the_path() {
        let text = |url: &str, suffix: &str| {
            let found = well_known(&Url::parse(url).unwrap(), suffix).unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(text("https://x.com/", "s"), ["https://x.com/.well-known/s"]);
        assert_eq!(
            text("https://x.com/a/b?q=1", "s"),
            ["https://x.com/.well-known/s/a/b", "https://x.com/.well-known/s"]
        );
    }
}
