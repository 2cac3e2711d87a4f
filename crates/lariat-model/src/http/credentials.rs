//! Supplies keys and attaches them to requests.
//!
//! A secret is a key or a set of AWS keys. This crate does not read the environment by itself: sources that
//! do are optional features or part of the binary.

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{HeaderName, Request, Uri};
use lariat_core::BoxFuture;
use lariat_core::model::{ApiKey, ModelConfig, ProviderError};
use lariat_core::time::Timestamp;

use super::redact::Redactor;
#[cfg(feature = "bedrock")]
use super::sign;
use crate::wire::{Auth, OutgoingRequest};

/// Authenticates requests to a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Secret {
    /// A key or a token, including Bedrock's API keys.
    Key(ApiKey),
    /// AWS keys, which sign the request.
    Aws(AwsKeys),
    /// No secret, for local servers.
    None,
}

/// AWS access keys for request signing.
#[derive(Clone)]
pub struct AwsKeys {
    /// Identifies the keys; not secret by itself.
    pub access_key_id: String,
    /// The secret that signs requests.
    pub secret_access_key: String,
    /// Present for temporary keys only.
    pub session_token: Option<String>,
}

impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsKeys(****)")
    }
}

/// Supplies secrets. It is called before every request, so that short-lived secrets can be renewed.
pub trait CredentialSource: Send + Sync {
    /// Returns the secret for `model`.
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>>;
}

/// Uses the key in the model's configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfiguredKey;

impl CredentialSource for ConfiguredKey {
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>> {
        let key = model.api_key.clone();
        Box::pin(std::future::ready(Ok(if key.expose().is_some() { Secret::Key(key) } else { Secret::None })))
    }
}

impl CredentialSource for AwsKeys {
    fn secret<'a>(&'a self, _model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>> {
        Box::pin(std::future::ready(Ok(Secret::Aws(self.clone()))))
    }
}

/// Removes user and password from an address: the key goes into a header of its own. Encodes what a path or a query may
/// not contain, for example a space in the name of a deployment.
fn without_user(url: &str) -> Option<Uri> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // Browsers read a backslash as a slash, so what precedes it would be the host for them.
    let authority = Some(authority).filter(|authority| !authority.contains('\\'))?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut address = format!("{scheme}://{host}");
    for byte in target.bytes() {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => address.push(char::from(byte)),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    let uri: Uri = address.parse().ok()?;
    uri.host().is_some_and(|host| !host.is_empty()).then_some(uri)
}

/// Builds the HTTP request with its secret attached, and registers the secret with `redactor`.
pub(crate) fn attach(
    outgoing: OutgoingRequest,
    secret: &Secret,
    model: &ModelConfig,
    now: Timestamp,
    redactor: &mut Redactor,
) -> Result<Request<Bytes>, ProviderError> {
    #[cfg(not(feature = "bedrock"))]
    let _ = now;
    for value in model.headers.values().map(String::as_str).chain(model.address_secrets()) {
        redactor.add(value);
    }
    let OutgoingRequest { method, url, headers, body, auth } = outgoing;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = without_user(&url)
        .ok_or_else(|| ProviderError::Config(format!("invalid address `{}`", model.public_url()).into()))?;
    *request.headers_mut() = headers;
    let missing = || {
        let provider = if model.provider.is_empty() { &model.api } else { &model.provider };
        ProviderError::Auth(format!("no API key is configured for `{provider}`").into())
    };
    match (&auth, secret) {
        (Auth::None, _) => {}
        (_, Secret::Key(key)) => {
            let key = key.expose().ok_or_else(missing)?;
            redactor.add(key);
            match auth {
                Auth::Header(name) => set_header(&mut request, HeaderName::from_static(name), key)?,
                _ => set_header(&mut request, AUTHORIZATION, &format!("Bearer {key}"))?,
            }
        }
        #[cfg(feature = "bedrock")]
        (Auth::Aws { region, service }, Secret::Aws(keys)) => {
            redactor.add(&keys.secret_access_key);
            keys.session_token.iter().for_each(|token| redactor.add(token));
            sign::sign(&mut request, keys, region, service, now)?;
        }
        // A configured header may carry the key instead.
        (_, Secret::None) if !model.headers.is_empty() => {}
        _ => return Err(missing()),
    }
    Ok(request)
}

fn set_header(request: &mut Request<Bytes>, name: HeaderName, value: &str) -> Result<(), ProviderError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        ProviderError::Auth("the API key contains characters that are not allowed in an HTTP header".into())
    })?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(())
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
