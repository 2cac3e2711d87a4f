//! The HTTP client of one server: adds the token of the user's login to requests, and renews it once if the server refuses it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use lariat_http::{HttpClient, HttpResponse, Transport as _, TransportError};

use super::error::McpError;
use super::login::{Challenge, ServerLogin};

/// Sends the requests to one server. Clones share its connections and its login.
#[derive(Clone, Debug)]
pub struct McpHttpClient {
    http: Arc<HttpClient>,
    login: Option<Arc<ServerLogin>>,
}

impl From<HttpClient> for McpHttpClient {
    fn from(http: HttpClient) -> Self {
        Self { http: Arc::new(http), login: None }
    }
}

impl McpHttpClient {
    /// Uses the login of the user for requests that have no header `Authorization` of their own.
    #[must_use]
    pub fn with_login(self, login: Arc<ServerLogin>) -> Self {
        Self { login: Some(login), ..self }
    }

    /// Sends a request. After HTTP 401, renews the token and sends the request once more.
    pub(super) async fn send(&self, request: Request<Bytes>) -> Result<HttpResponse, TransportError> {
        let has_own = request.headers().contains_key(AUTHORIZATION);
        let Some(login) = self.login.as_ref().filter(|_| !has_own) else {
            return self.http.send(request).await;
        };
        let broken = |error: McpError| TransportError::Broken(error.to_string());
        let token = login.token(request.uri()).await.map_err(broken)?;
        let mut response = self.http.send(with_token(request.clone(), token.as_deref())?).await?;
        if let Some(refused) = token.filter(|_| response.status == 401)
            && let Some(token) = login.token_after(&refused).await.map_err(broken)?
        {
            response = self.http.send(with_token(request, Some(&token))?).await?;
        }
        let challenge = Challenge::of(&response.headers);
        let needs_scope = challenge.error.as_deref() == Some("insufficient_scope");
        match response.status {
            401 => login.set_challenge(Some(challenge)),
            403 if needs_scope => login.set_challenge(Some(challenge)),
            200..300 => login.set_challenge(None),
            _ => {}
        }
        Ok(response)
    }

    /// The error of a server that refused the last request because the user must log in.
    pub(super) fn login_error(&self) -> Option<McpError> {
        let challenge = self.login.as_ref()?.challenge()?;
        let scope = challenge.scope.filter(|_| challenge.error.as_deref() == Some("insufficient_scope"));
        Some(McpError::LoginRequired { scope })
    }
}

fn with_token(mut request: Request<Bytes>, token: Option<&str>) -> Result<Request<Bytes>, TransportError> {
    if let Some(token) = token {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| TransportError::Impossible("the token is not a valid header".to_owned()))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}
