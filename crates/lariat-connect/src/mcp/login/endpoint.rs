//! Requests for JSON with a size limit and a deadline, to `https` addresses and to this machine.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, Request, header};
use lariat_core::display;
use lariat_http::{HttpClient, Transport as _};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::mcp::error::McpError;
use crate::mcp::http::names_loopback;

/// Maximum size of a document, in bytes.
const MAX_DOCUMENT: usize = 256 * 1024;
/// How long one request may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// Maximum length of a text of another server in an error, in characters.
const SHOWN: usize = 200;

/// A failure of a login, with what failed.
pub(super) fn failed(what: impl Into<String>) -> McpError {
    McpError::Login(what.into())
}

/// A text of another server, for an error.
pub(super) fn shown(text: &str) -> String {
    display::line(text).chars().take(SHOWN).collect()
}

/// Reads an address that a server named. It must be `https`, or `http` on this machine: what is sent there is secret.
pub(super) fn address(text: &str) -> Result<Url, McpError> {
    let refused = |why: &str| failed(format!("the login names an address that {why}: {}", shown(text)));
    let url = Url::parse(text).map_err(|_| refused("is not valid"))?;
    let is_local = url.host_str().is_some_and(names_loopback);
    if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
        return Err(refused("is not `https`"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(refused("has a user, a password or a fragment"));
    }
    Ok(url)
}

/// The answer of an authorization server.
pub(super) struct EndpointResponse {
    pub(super) status: u16,
    body: Vec<u8>,
}

impl EndpointResponse {
    pub(super) const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    pub(super) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The error of RFC 6749, section 5.2: its code.
    pub(super) fn error_code(&self) -> String {
        let value: Value = self.json().unwrap_or_default();
        value.get("error").and_then(Value::as_str).map(shown).unwrap_or_default()
    }

    /// What went wrong, for the user. Contains only the fields that RFC 6749 defines, because others may repeat a secret.
    pub(super) fn problem(&self) -> String {
        let value: Value = self.json().unwrap_or_default();
        let field = |name: &str| value.get(name).and_then(Value::as_str).map(shown);
        match (field("error"), field("error_description")) {
            (Some(error), Some(about)) => format!("HTTP {}: {error} ({about})", self.status),
            (Some(error), None) => format!("HTTP {}: {error}", self.status),
            _ => format!("HTTP {}", self.status),
        }
    }
}

/// Sends a request and reads the whole answer.
pub(super) async fn send(client: &HttpClient, request: Request<Bytes>) -> Result<EndpointResponse, McpError> {
    let host = request.uri().host().map(shown).unwrap_or_default();
    let exchange = async {
        let response = client.send(request).await.map_err(|error| error.to_string())?;
        let (status, mut stream, mut body) = (response.status, response.body, Vec::new());
        while let Some(chunk) = stream.next().await {
            body.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
            if body.len() > MAX_DOCUMENT {
                return Err(format!("the answer has more than {} KiB", MAX_DOCUMENT >> 10));
            }
        }
        Ok(EndpointResponse { status, body })
    };
    let answer = tokio::time::timeout(DEADLINE, exchange).await;
    let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", DEADLINE.as_secs())));
    answer.map_err(|why| McpError::LoginUnreachable(format!("{host}: {why}")))
}

/// Reads a document; `None` if there is none at this address.
pub(super) async fn document<T: DeserializeOwned>(
    client: &HttpClient,
    url: &Url,
) -> Result<Option<T>, McpError> {
    let request = request(Method::GET, url, Bytes::new(), None)?;
    let answer = send(client, request).await?;
    Ok(if answer.is_success() { answer.json() } else { None })
}

/// Sends JSON.
pub(super) async fn post_json(
    client: &HttpClient,
    url: &Url,
    body: &Value,
) -> Result<EndpointResponse, McpError> {
    send(client, request(Method::POST, url, body.to_string().into(), Some("application/json"))?).await
}

/// Sends a form, with the header `Authorization` if there is one.
pub(super) async fn post_form(
    client: &HttpClient,
    url: &Url,
    fields: &[(&str, &str)],
    authorization: Option<&str>,
) -> Result<EndpointResponse, McpError> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let kind = Some("application/x-www-form-urlencoded");
    let mut request = request(Method::POST, url, body.into(), kind)?;
    if let Some(authorization) = authorization {
        let mut value = header::HeaderValue::try_from(authorization)
            .map_err(|_| failed("the authorization server gave an invalid client secret"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(header::AUTHORIZATION, value);
    }
    send(client, request).await
}

fn request(method: Method, url: &Url, body: Bytes, kind: Option<&str>) -> Result<Request<Bytes>, McpError> {
    let mut request =
        Request::builder().method(method).uri(url.as_str()).header(header::ACCEPT, "application/json");
    if let Some(kind) = kind {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    request.body(body).map_err(|_| failed(format!("the address is not valid: {}", shown(url.as_str()))))
}
