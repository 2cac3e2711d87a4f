//! Requests tokens, and the record of a login that is stored.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lariat_core::time::Timestamp;
use lariat_http::HttpClient;
use serde::{Deserialize, Serialize};

use super::endpoint::{EndpointResponse, address, failed, post_form};
use crate::mcp::error::McpError;

/// How a client proves its identity at the token endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuth {
    /// A public client sends only its id.
    #[default]
    None,
    ClientSecretPost,
    ClientSecretBasic,
}

/// The client that a login uses.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct OAuthClient {
    #[serde(rename = "client_id")]
    pub(super) id: String,
    #[serde(rename = "client_secret", default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    #[serde(rename = "token_endpoint_auth_method", default)]
    pub(super) auth: ClientAuth,
}

/// A login, as it is stored. Contains secrets, so it has no debug output.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    /// The address of the server. The login is not used for another one.
    pub(super) server: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: OAuthClient,
    pub(super) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<String>,
}

/// What a user may see of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginSummary {
    /// The granted scopes, separated by spaces.
    pub scope: Option<String>,
    /// When the token ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether Lariat can renew the token without the user.
    pub is_renewable: bool,
}

impl StoredLogin {
    pub(super) fn summary(&self) -> LoginSummary {
        LoginSummary {
            scope: self.scope.clone(),
            expires_at: self.expires_at,
            is_renewable: self.refresh_token.is_some(),
        }
    }

    /// The values that must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let more = [self.refresh_token.as_deref(), self.client.secret.as_deref()];
        std::iter::once(self.access_token.as_str()).chain(more.into_iter().flatten())
    }

    /// Takes over the tokens of an answer.
    pub(super) fn accept(&mut self, tokens: Tokens, now: Timestamp) {
        self.access_token = tokens.access_token;
        // A server that does not rotate its refresh tokens sends none.
        self.refresh_token = tokens.refresh_token.or(self.refresh_token.take());
        self.expires_at = tokens.expires_in.map(|seconds| (now.as_millis() / 1_000).saturating_add(seconds));
        self.scope = tokens.scope.or(self.scope.take());
    }
}

/// The answer of a token endpoint.
#[derive(Deserialize)]
pub(super) struct Tokens {
    access_token: String,
    token_type: String,
    #[serde(default)]
    refresh_token: Option<String>,
    /// In seconds.
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    scope: Option<String>,
}

/// Why an authorization server gave no token.
pub(super) enum TokenError {
    /// The grant has ended: the user must log in again.
    Refused(String),
    /// The server could not be asked, or failed.
    Failed(McpError),
}

impl From<TokenError> for McpError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Refused(why) => failed(format!("the authorization server refused: {why}")),
            TokenError::Failed(error) => error,
        }
    }
}

/// Asks a token endpoint. `grant` are the fields of the grant.
pub(super) async fn request(
    http: &HttpClient,
    endpoint: &str,
    client: &OAuthClient,
    grant: &[(&str, &str)],
) -> Result<Tokens, TokenError> {
    let answer = post(http, endpoint, client, grant).await.map_err(TokenError::Failed)?;
    if !answer.is_success() {
        let is_final = matches!(
            answer.error_code().as_str(),
            "invalid_grant" | "invalid_client" | "unauthorized_client"
        );
        return Err(match is_final {
            true => TokenError::Refused(answer.problem()),
            false => TokenError::Failed(failed(format!("no token: {}", answer.problem()))),
        });
    }
    let tokens: Option<Tokens> = answer.json();
    let tokens = tokens.filter(|tokens| {
        let is_usable = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        tokens.token_type.eq_ignore_ascii_case("bearer") && is_usable(&tokens.access_token)
    });
    tokens.ok_or_else(|| TokenError::Failed(failed("the authorization server gave no bearer token")))
}

/// Tells a server that Lariat has dropped a token (RFC 7009).
pub(super) async fn revoke(
    http: &HttpClient,
    endpoint: &str,
    client: &OAuthClient,
    token: &str,
) -> Result<(), McpError> {
    let answer = post(http, endpoint, client, &[("token", token)]).await?;
    if answer.is_success() { Ok(()) } else { Err(failed(answer.problem())) }
}

async fn post(
    http: &HttpClient,
    endpoint: &str,
    client: &OAuthClient,
    grant: &[(&str, &str)],
) -> Result<EndpointResponse, McpError> {
    let mut fields = grant.to_vec();
    let mut basic = None;
    match (client.auth, &client.secret) {
        (ClientAuth::ClientSecretBasic, Some(secret)) => {
            let encoded =
                |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(&client.id), encoded(secret));
            basic = Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
        }
        (ClientAuth::ClientSecretPost, Some(secret)) => {
            fields.extend([("client_id", client.id.as_str()), ("client_secret", secret.as_str())]);
        }
        _ => fields.push(("client_id", &client.id)),
    }
    post_form(http, &address(endpoint)?, &fields, basic.as_deref()).await
}
