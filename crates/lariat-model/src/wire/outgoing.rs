//! An HTTP request as a protocol wants it, before a key is attached.
//!
//! Invariant: holds no secret but the configured extra headers, whose values do not show in debug output.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use lariat_core::model::{ModelConfig, ProviderError};

/// An HTTP request.
#[derive(Clone)]
pub struct Outgoing {
    /// `POST` for requests to a model, `GET` for lists.
    pub method: Method,
    /// Complete address. Never holds a key.
    pub url: String,
    /// Headers, without the key.
    pub headers: HeaderMap,
    /// The body; empty for `GET`.
    pub body: Bytes,
    /// How the driver attaches the key.
    pub auth: Auth,
}

/// How a key is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header of this name.
    Header(&'static str),
    /// AWS signature version 4, unless the key is a Bedrock API key, which goes as a bearer.
    Aws {
        /// Region that the signature is for.
        region: String,
        /// Service that the signature is for.
        service: &'static str,
    },
    /// No key at all: local servers.
    None,
}

impl Outgoing {
    /// A `POST` of JSON to an address.
    pub fn post(url: String, auth: Auth, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { method: Method::POST, url, headers, body: body.into(), auth }
    }

    /// A `GET` of an address.
    pub fn get(url: String, auth: Auth) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new(), auth }
    }

    /// With a fixed header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// With the model's extra headers, which win over the protocol's own.
    ///
    /// # Errors
    /// When one is not a valid header.
    pub fn with_headers_of(mut self, model: &ModelConfig) -> Result<Self, ProviderError> {
        for (name, value) in &model.headers {
            let invalid = || ProviderError::Other(format!("`{name}` is not a valid header").into());
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            self.headers.insert(key, value);
        }
        Ok(self)
    }
}

impl fmt::Debug for Outgoing {
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

/// A model as a service lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedModel {
    /// Id, as requests name it.
    pub id: String,
    /// Name for people, where the service has one.
    pub name: Option<String>,
    /// Context window in tokens, where the service says.
    pub context_window: Option<u64>,
    /// Output limit in tokens, where the service says.
    pub max_tokens: Option<u32>,
}

impl ListedModel {
    /// A model of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}
