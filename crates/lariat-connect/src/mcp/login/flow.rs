//! One login of a user: finds the authorization server, registers a client, builds the address for the browser, and exchanges
//! the code of the redirect for tokens.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, Request};
use lariat_http::Transport as _;
use serde_json::json;
use tokio::sync::mpsc;
use url::Url;

use super::challenge::Challenge;
use super::discovery::{AuthorizationServer, DiscoveredServer, discover};
use super::endpoint::{address, failed, post_json, shown};
use super::redirect::{Redirect, RedirectListener};
use super::server_login::ServerLogin;
use super::token::{self, ClientAuth, LoginSummary, OAuthClient, StoredLogin};
use crate::mcp::error::McpError;

/// How long the user has to log in.
const LOGIN: Duration = Duration::from_secs(300);
/// How long the server may take to refuse the first request.
const PROBE: Duration = Duration::from_secs(20);
/// The scope that makes an OpenID provider give a refresh token.
const OFFLINE: &str = "offline_access";

/// What an entry says about the login of its server.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginOptions {
    /// The id of a client that the user registered. An `https` address is a Client ID Metadata Document.
    pub client_id: Option<String>,
    /// The secret of that client, if it has one. Needs `metadata_url`.
    pub client_secret: Option<String>,
    /// The port that the browser is redirected to; a free one if `None`.
    pub callback_port: Option<u16>,
    /// The scopes to ask for, separated by spaces; those that the server names if `None`.
    pub scopes: Option<String>,
    /// Where the metadata of the authorization server is; as the server says if `None`.
    pub metadata_url: Option<String>,
    /// Headers of each request to the server.
    pub headers: BTreeMap<String, String>,
}

/// Shows the names of headers, not their values, and no secret.
impl fmt::Debug for LoginOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client_id, client_secret, callback_port, scopes, metadata_url, headers } = self;
        f.debug_struct("LoginOptions")
            .field("client_id", client_id)
            .field("is_confidential", &client_secret.is_some())
            .field("callback_port", callback_port)
            .field("scopes", scopes)
            .field("metadata_url", metadata_url)
            .field("headers", &headers.keys())
            .finish()
    }
}

/// A login that waits for the user.
pub struct McpLogin {
    login: Arc<ServerLogin>,
    server: AuthorizationServer,
    resource: String,
    client: OAuthClient,
    scope: Option<String>,
    listener: RedirectListener,
    address: String,
    state: String,
    verifier: String,
}

impl McpLogin {
    /// Asks the server where to log in, and prepares the login.
    ///
    /// # Errors
    /// If the server needs no login, or its login is not one that Lariat supports.
    pub async fn begin(login: Arc<ServerLogin>, options: &LoginOptions) -> Result<Self, McpError> {
        let service = Url::parse(login.server()).map_err(|_| failed("the address is not valid"))?;
        let challenge = match login.challenge() {
            Some(known) => known,
            None => probe(&login, options).await?,
        };
        let configured = options.metadata_url.as_deref();
        let found = discover(&login.http, &service, &challenge, configured).await?;
        let listener = RedirectListener::open(options.callback_port).await?;
        let client = client(&login, &found, options, listener.address()).await?;
        let granted = login.summary().await.and_then(|login| login.scope);
        let scope = with_granted(scope(&found, &challenge, options), granted.as_deref());
        let DiscoveredServer { resource, server, .. } = found;
        let (state, verifier) = (random()?, random()?);
        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(challenge);
        let mut browser = address(&server.authorization_endpoint)?;
        browser.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", listener.address()),
            ("state", state.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("resource", resource.as_str()),
        ]);
        if let Some(scope) = &scope {
            browser.query_pairs_mut().append_pair("scope", scope);
            if scope.split(' ').any(|one| one == OFFLINE) {
                // OpenID providers give a refresh token only after the user agreed to it.
                browser.query_pairs_mut().append_pair("prompt", "consent");
            }
        }
        let address = browser.to_string();
        Ok(Self { login, server, resource, client, scope, listener, address, state, verifier })
    }

    /// The address that the user opens in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the browser is redirected to this machine, or until `pasted` brings the address of the redirect. Stores
    /// the login.
    ///
    /// # Errors
    /// If the user or the authorization server refuses, or nothing happens for five minutes.
    pub async fn complete(self, mut pasted: mpsc::Receiver<String>) -> Result<LoginSummary, McpError> {
        let from_user = async {
            while let Some(line) = pasted.recv().await {
                if let Some(redirect) = Redirect::parse(&line, &self.state) {
                    return redirect;
                }
            }
            std::future::pending().await
        };
        let redirect = tokio::time::timeout(LOGIN, async {
            tokio::select! {
                redirect = self.listener.wait(&self.state) => redirect,
                redirect = from_user => redirect,
            }
        });
        let seconds = LOGIN.as_secs();
        let redirect = redirect.await.map_err(|_| failed(format!("no login within {seconds} s")))?;
        match redirect {
            Redirect::Refused(why) => Err(failed(format!("the login was refused: {why}"))),
            Redirect::Code { code, issuer } => {
                self.check_issuer(issuer.as_deref())?;
                self.exchange(&code).await
            }
        }
    }

    /// Checks that the redirect comes from the authorization server that was asked, so that no other one gets the code.
    fn check_issuer(&self, issuer: Option<&str>) -> Result<(), McpError> {
        let own = self.server.issuer.as_str();
        match issuer {
            Some(issuer) if issuer != own => {
                Err(failed(format!("the redirect comes from another issuer: {}", shown(issuer))))
            }
            None if self.server.authorization_response_iss_parameter_supported => {
                Err(failed("the redirect does not name its issuer"))
            }
            _ => Ok(()),
        }
    }

    async fn exchange(self, code: &str) -> Result<LoginSummary, McpError> {
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.listener.address()),
            ("code_verifier", &self.verifier),
            ("resource", &self.resource),
        ];
        let endpoint = &self.server.token_endpoint;
        let tokens = token::request(&self.login.http, endpoint, &self.client, &grant).await?;
        let mut stored = StoredLogin {
            server: self.login.server().to_owned(),
            resource: self.resource,
            token_endpoint: self.server.token_endpoint,
            revocation_endpoint: self.server.revocation_endpoint,
            client: self.client,
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            scope: self.scope,
        };
        stored.accept(tokens, self.login.clock.now());
        self.login.replace(stored).await
    }
}

/// Sends the first request of the protocol without a token, to read what the server says about its login.
async fn probe(login: &ServerLogin, options: &LoginOptions) -> Result<Challenge, McpError> {
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "lariat", "version": env!("CARGO_PKG_VERSION") },
    }});
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(login.server())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in &options.headers {
        request = request.header(name, value);
    }
    let request = request.body(Bytes::from(body.to_string())).map_err(|_| failed("a header is not valid"))?;
    let response = tokio::time::timeout(PROBE, login.http.send(request)).await;
    let response = response.map_err(|_| McpError::TimedOut(PROBE))?;
    let response = response.map_err(|error| McpError::Transport(error.to_string()))?;
    Ok(Challenge::of(&response.headers))
}

/// The client to log in with: the one of the entry, a metadata document if the server reads them, or a new registration.
async fn client(
    login: &ServerLogin,
    found: &DiscoveredServer,
    options: &LoginOptions,
    redirect: &str,
) -> Result<OAuthClient, McpError> {
    let server = &found.server;
    if let Some(id) = &options.client_id {
        let is_document = id.starts_with("https://");
        if !is_document || server.client_id_metadata_document_supported {
            let secret = options.client_secret.clone().filter(|_| !is_document);
            if secret.is_some() && options.metadata_url.is_none() {
                // Otherwise the server would choose who gets the secret.
                return Err(failed(
                    "`oauth.clientSecret` needs `oauth.authServerMetadataUrl`, the only authorization server that gets the secret",
                ));
            }
            let auth = secret.as_ref().map_or(ClientAuth::None, |_| server.secret_method());
            return Ok(OAuthClient { id: id.clone(), secret, auth });
        }
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(failed(format!(
            "the authorization server {} registers no clients; hint: register one there with the redirect {redirect} and write its id as `oauth.clientId` into the entry, and the port as `oauth.callbackPort`",
            shown(&server.issuer)
        )));
    };
    let registration = json!({
        "client_name": "Lariat",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    let answer = post_json(&login.http, &address(endpoint)?, &registration).await?;
    let client: Option<OAuthClient> = answer.json().filter(|_| answer.is_success());
    let mut client =
        client.ok_or_else(|| failed(format!("the client could not be registered: {}", answer.problem())))?;
    if client.secret.is_some() && client.auth == ClientAuth::None {
        // RFC 7591: without a method, a client with a secret uses `client_secret_basic`.
        client.auth = ClientAuth::ClientSecretBasic;
    }
    Ok(client)
}

/// The scopes to ask for: those of the entry, those that the server wants, or all that it has.
fn scope(found: &DiscoveredServer, challenge: &Challenge, options: &LoginOptions) -> Option<String> {
    if let Some(scopes) = &options.scopes {
        return Some(scopes.clone()).filter(|scopes| !scopes.is_empty());
    }
    let of_server = Some(found.scopes.join(" ")).filter(|scopes| !scopes.is_empty());
    let scope = challenge.scope.clone().or(of_server);
    let is_offline = |scope: &str| scope.split(' ').any(|one| one == OFFLINE);
    if !found.server.scopes_supported.iter().any(|one| one == OFFLINE) {
        return scope;
    }
    match scope {
        Some(scope) if is_offline(&scope) => Some(scope),
        Some(scope) => Some(format!("{scope} {OFFLINE}")),
        None => Some(OFFLINE.to_owned()),
    }
}

/// Adds the scopes that the user granted before: a login that replaces another one must not take rights away.
fn with_granted(scope: Option<String>, granted: Option<&str>) -> Option<String> {
    let mut scope = scope?;
    for one in granted.into_iter().flat_map(|granted| granted.split(' ')).filter(|one| !one.is_empty()) {
        if !scope.split(' ').any(|asked| asked == one) {
            scope = format!("{scope} {one}");
        }
    }
    Some(scope)
}

/// 256 random bits, as text.
fn random() -> Result<String, McpError> {
    let mut bytes = [0_u8; 32];
    rand::fill(&mut bytes).map_err(|_| failed("the system has no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
