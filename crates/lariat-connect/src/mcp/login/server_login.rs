//! The login of one server: gives its token to requests, and renews it before it ends and after the server refused it.
//!
//! Another process may renew the same login. So the stored login is read again before a renewal, and a newer one is used
//! instead. A login that cannot be renewed is removed; the user must log in again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use lariat_core::clock::Clock;
use lariat_http::HttpClient;
use url::Url;

use super::challenge::Challenge;
use super::token::{self, LoginSummary, StoredLogin, TokenError};
use crate::mcp::error::McpError;

/// A token is renewed so many seconds before it ends, so that it does not end on the way.
const EARLY: u64 = 60;

/// Keeps the login of one server where secrets are kept. Its methods may block.
pub trait LoginStore: Send + Sync {
    /// Returns the text that `save` got last, from this process or another one.
    fn load(&self) -> Option<String>;

    /// Saves the text of a login, or removes it.
    ///
    /// # Errors
    /// The reason why it could not be saved.
    fn save(&self, login: Option<&str>) -> Result<(), String>;

    /// Learns a value that must not be shown.
    fn hide(&self, secret: &str);
}

/// The login of one server.
pub struct ServerLogin {
    /// The address of the server.
    server: String,
    pub(super) http: HttpClient,
    store: Arc<dyn LoginStore>,
    pub(super) clock: Arc<dyn Clock>,
    current: tokio::sync::Mutex<LoginState>,
    /// What the server said when it refused the last request.
    challenge: Mutex<Option<Challenge>>,
}

/// What is known about the stored login.
#[derive(Default)]
struct LoginState {
    is_read: bool,
    login: Option<StoredLogin>,
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLogin").field("server", &self.server).finish_non_exhaustive()
    }
}

impl ServerLogin {
    /// The login of the server at an address. `http` contacts authorization servers, so its address check must be a
    /// [`LoginAddresses`](super::LoginAddresses).
    pub fn new(server: &str, http: HttpClient, store: Arc<dyn LoginStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            server: server.to_owned(),
            http,
            store,
            clock,
            current: tokio::sync::Mutex::default(),
            challenge: Mutex::default(),
        }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// The stored login, if there is one.
    pub async fn summary(&self) -> Option<LoginSummary> {
        let mut known = self.current.lock().await;
        self.read(&mut known).await;
        known.login.as_ref().map(StoredLogin::summary)
    }

    /// Removes the login, and tells the authorization server. Returns whether there was one.
    ///
    /// # Errors
    /// If the stored login could not be removed.
    pub async fn remove(&self) -> Result<bool, McpError> {
        let mut known = self.current.lock().await;
        self.read(&mut known).await;
        let Some(login) = known.login.take() else { return Ok(false) };
        self.save(None).await?;
        if let Some(endpoint) = &login.revocation_endpoint {
            let token = login.refresh_token.as_deref().unwrap_or(&login.access_token);
            // Without an answer, the token ends by itself.
            let _ = token::revoke(&self.http, endpoint, &login.client, token).await;
        }
        Ok(true)
    }

    /// Stores a new login.
    pub(super) async fn replace(&self, login: StoredLogin) -> Result<LoginSummary, McpError> {
        let mut known = self.current.lock().await;
        self.keep(&mut known, login.clone()).await?;
        self.set_challenge(None);
        Ok(login.summary())
    }

    /// A token for a request to `uri`; `None` without a login, and for another origin than the server's.
    pub(in crate::mcp) async fn token(&self, uri: &Uri) -> Result<Option<String>, McpError> {
        if !self.is_own(uri) {
            return Ok(None);
        }
        let mut known = self.current.lock().await;
        if !known.is_read {
            self.read(&mut known).await;
        }
        let Some(login) = &known.login else { return Ok(None) };
        if !self.ends_within(login, EARLY) {
            return Ok(Some(login.access_token.clone()));
        }
        let old = login.access_token.clone();
        let is_over = self.ends_within(login, 0);
        match self.renew(&mut known, &old).await {
            // The old token still works for a moment.
            Err(_) if !is_over => Ok(Some(old)),
            renewed => renewed,
        }
    }

    /// Another token after the server refused one; `None` if the user must log in.
    pub(in crate::mcp) async fn token_after(&self, refused: &str) -> Result<Option<String>, McpError> {
        let mut known = self.current.lock().await;
        match &known.login {
            // Another request renewed it meanwhile.
            Some(login) if login.access_token != refused => Ok(Some(login.access_token.clone())),
            _ => self.renew(&mut known, refused).await,
        }
    }

    /// What the server said when it refused the last request.
    pub(in crate::mcp) fn challenge(&self) -> Option<Challenge> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::mcp) fn set_challenge(&self, challenge: Option<Challenge>) {
        *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = challenge;
    }

    /// Renews the login whose access token is `old`, unless another process did.
    async fn renew(&self, known: &mut LoginState, old: &str) -> Result<Option<String>, McpError> {
        self.read(known).await;
        let Some(login) = known.login.clone() else { return Ok(None) };
        if login.access_token != old && !self.ends_within(&login, 0) {
            return Ok(Some(login.access_token));
        }
        let Some(refresh) = login.refresh_token.clone() else { return self.forget(known).await };
        let grant =
            [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("resource", &login.resource)];
        match token::request(&self.http, &login.token_endpoint, &login.client, &grant).await {
            Ok(tokens) => {
                let mut login = login;
                login.accept(tokens, self.clock.now());
                let token = login.access_token.clone();
                // A token that could not be saved still works for this process.
                let _ = self.keep(known, login).await;
                Ok(Some(token))
            }
            Err(TokenError::Refused(_)) => {
                // Another process may have used the refresh token in the meantime.
                self.read(known).await;
                match &known.login {
                    Some(newer) if newer.access_token != login.access_token => {
                        Ok(Some(newer.access_token.clone()))
                    }
                    _ => self.forget(known).await,
                }
            }
            Err(TokenError::Failed(error)) => Err(error),
        }
    }

    async fn forget(&self, known: &mut LoginState) -> Result<Option<String>, McpError> {
        known.login = None;
        self.save(None).await?;
        Ok(None)
    }

    async fn read(&self, known: &mut LoginState) {
        let store = Arc::clone(&self.store);
        let text = tokio::task::spawn_blocking(move || store.load()).await.ok().flatten();
        let login: Option<StoredLogin> = text.and_then(|text| serde_json::from_str(&text).ok());
        known.login = login.filter(|login| login.server == self.server);
        known.is_read = true;
        known.login.iter().flat_map(StoredLogin::secrets).for_each(|secret| self.store.hide(secret));
    }

    async fn keep(&self, known: &mut LoginState, login: StoredLogin) -> Result<(), McpError> {
        login.secrets().for_each(|secret| self.store.hide(secret));
        let text = serde_json::to_string(&login)?;
        *known = LoginState { is_read: true, login: Some(login) };
        self.save(Some(text)).await
    }

    async fn save(&self, text: Option<String>) -> Result<(), McpError> {
        let store = Arc::clone(&self.store);
        let saved = tokio::task::spawn_blocking(move || store.save(text.as_deref())).await;
        let saved = saved.unwrap_or_else(|error| Err(error.to_string()));
        saved.map_err(|why| McpError::Login(format!("could not store the login: {why}")))
    }

    fn ends_within(&self, login: &StoredLogin, seconds: u64) -> bool {
        let now = self.clock.now().as_millis() / 1_000;
        login.expires_at.is_some_and(|end| end <= now.saturating_add(seconds))
    }

    fn is_own(&self, uri: &Uri) -> bool {
        let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin());
        let own = origin(&self.server);
        own.is_some() && own == origin(&uri.to_string())
    }
}
