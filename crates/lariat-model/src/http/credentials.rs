//! Where keys come from, and how one is attached to a request.
//!
//! Owns the two kinds of secrets (a key, a set of AWS keys) and the contract of a source. Sources that read the
//! environment are features or the binary's: this crate reads none by itself.

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{HeaderName, Request};
use lariat_core::BoxFuture;
use lariat_core::model::{ApiKey, ModelConfig, ProviderError};
use lariat_core::time::Timestamp;

use super::redact::Redactor;
use super::sign;
use crate::wire::{Auth, Outgoing};

/// What opens a service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Secret {
    /// A key or a token; also Bedrock's API keys.
    Key(ApiKey),
    /// Keys that sign requests.
    Aws(AwsKeys),
    /// Nothing: local servers.
    None,
}

/// AWS keys.
#[derive(Clone)]
pub struct AwsKeys {
    /// Names the keys; not secret by itself.
    pub access_key_id: String,
    /// Signs.
    pub secret_access_key: String,
    /// Comes with temporary keys.
    pub session_token: Option<String>,
}

impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsKeys(****)")
    }
}

/// Where secrets come from. Asked before every request, so that short-lived ones can be renewed.
pub trait CredentialSource: Send + Sync {
    /// The secret for a model.
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>>;
}

/// The key in the model's configuration.
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

/// An address without a user and password: they are not sent, and the client beneath would log them.
fn without_user(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at_checked(start).unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest.get(..end).and_then(|authority| authority.rfind('@')).map_or(0, |at| at + 1);
    format!("{scheme}{}", rest.get(at..).unwrap_or_default())
}

/// The HTTP request with its secret attached; the redactor learns it.
pub(crate) fn attach(
    outgoing: Outgoing,
    secret: &Secret,
    model: &ModelConfig,
    now: Timestamp,
    redactor: &mut Redactor,
) -> Result<Request<Bytes>, ProviderError> {
    for value in model.headers.values().map(String::as_str).chain(model.address_secrets()) {
        redactor.add(value);
    }
    let Outgoing { method, url, headers, body, auth } = outgoing;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = without_user(&url)
        .parse()
        .map_err(|_| ProviderError::Config(format!("`{url}` is not an address").into()))?;
    *request.headers_mut() = headers;
    let missing = || {
        let service = if model.provider.is_empty() { &model.api } else { &model.provider };
        ProviderError::Auth(format!("no key is configured for `{service}`").into())
    };
    match (&auth, secret) {
        (Auth::None, _) => {}
        (_, Secret::Key(key)) => {
            let key = key.expose().ok_or_else(missing)?;
            redactor.add(key);
            match auth {
                Auth::Header(name) => put(&mut request, HeaderName::from_static(name), key)?,
                _ => put(&mut request, AUTHORIZATION, &format!("Bearer {key}"))?,
            }
        }
        (Auth::Aws { region, service }, Secret::Aws(keys)) => {
            redactor.add(&keys.secret_access_key);
            keys.session_token.iter().for_each(|token| redactor.add(token));
            sign::sign(&mut request, keys, region, service, now)?;
        }
        // A key may come in by a configured header instead.
        (_, Secret::None) if !model.headers.is_empty() => {}
        _ => return Err(missing()),
    }
    Ok(request)
}

fn put(request: &mut Request<Bytes>, name: HeaderName, value: &str) -> Result<(), ProviderError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| ProviderError::Auth("the key holds characters that no header can".into()))?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(())
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
