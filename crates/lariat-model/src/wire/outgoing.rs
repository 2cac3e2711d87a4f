//! An HTTP request built by a protocol, before a key is attached.
//!
//! Invariant: it contains no secret other than the configured extra headers, whose values debug output hides.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use lariat_core::model::{ModelConfig, ProviderError};

/// An HTTP request without its key.
#[derive(Clone)]
pub struct OutgoingRequest {
    /// `POST` for requests to a model, `GET` for model lists.
    pub method: Method,
    /// Complete address. Never contains a key.
    pub url: String,
    /// Headers, without the key.
    pub headers: HeaderMap,
    /// The body; empty for `GET`.
    pub body: Bytes,
    /// How the driver attaches the key.
    pub auth: Auth,
}

/// How the driver attaches the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header of this name.
    Header(&'static str),
    /// AWS signature version 4. A Bedrock API key is sent as a bearer token instead.
    Aws {
        /// Region to sign for.
        region: String,
        /// AWS service to sign for.
        service: &'static str,
    },
    /// No key, for local servers.
    None,
}

impl OutgoingRequest {
    /// Creates a `POST` request with a JSON body.
    pub fn post(url: String, auth: Auth, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { method: Method::POST, url, headers, body: body.into(), auth }
    }

    /// Creates a `GET` request.
    pub fn get(url: String, auth: Auth) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new(), auth }
    }

    /// Sets a fixed header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// Adds the model's extra headers, which override the protocol's own.
    ///
    /// # Errors
    /// Returns an error if a header is invalid.
    pub fn with_headers_of(mut self, model: &ModelConfig) -> Result<Self, ProviderError> {
        for (name, value) in &model.headers {
            let invalid = || {
                ProviderError::Other(format!("invalid header `{name}` in the model's configuration").into())
            };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            self.headers.insert(key, value);
        }
        Ok(self)
    }
}

impl fmt::Debug for OutgoingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("auth", &self.auth)
            .finish()
    }
}

/// A model in a provider's model list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedModel {
    /// Id to use in requests.
    pub id: String,
    /// Display name, if the provider gives one.
    pub name: Option<String>,
    /// Context window in tokens, if the provider gives it.
    pub context_window: Option<u64>,
    /// Output limit in tokens, if the provider gives it.
    pub max_tokens: Option<u32>,
}

impl ListedModel {
    /// Creates an entry of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}
