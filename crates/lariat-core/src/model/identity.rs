//! Identifies a model, its provider and the API key.
//!
//! Invariant: debug output shows neither a key nor the value of a header, and a key is never serialised.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::price::ModelCost;

/// An API key that debug output hides and that is never serialised.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(Option<Arc<str>>);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(Some(key.into()))
    }

    /// Returns the key, for the code that puts it into a header.
    pub fn expose(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ApiKey(****)" } else { "ApiKey(none)" })
    }
}

/// Identifies a model and the provider that runs it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Model id that the provider uses.
    pub id: String,
    /// Name for the user interface.
    pub name: String,
    /// Provider name, for example `openrouter`.
    pub provider: String,
    /// Wire protocol, for example `anthropic-messages`. The provider registry resolves it.
    pub api: String,
    /// API key of the provider.
    #[serde(skip)]
    pub api_key: ApiKey,
    /// Base URL of the provider's API.
    pub base_url: String,
    /// Extra headers. Their values are treated as secrets.
    pub headers: BTreeMap<String, String>,
    /// Whether the model supports reasoning.
    pub reasoning: bool,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    pub max_tokens: Option<u32>,
    /// Prices, if known.
    pub cost: Option<ModelCost>,
    /// Differences of compatible backends, as data for the protocol implementation.
    pub compat: serde_json::Value,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            provider: String::new(),
            api: String::new(),
            api_key: ApiKey::default(),
            base_url: String::new(),
            headers: BTreeMap::new(),
            reasoning: false,
            context_window: 100_000,
            max_tokens: None,
            cost: None,
            compat: serde_json::Value::Null,
        }
    }
}

impl ModelConfig {
    /// Creates a model from its protocol and id.
    pub fn new(api: impl Into<String>, id: impl Into<String>) -> Self {
        let (api, id) = (api.into(), id.into());
        Self { name: id.clone(), provider: api.clone(), id, api, ..Self::default() }
    }

    /// Creates a model of a server that speaks Chat Completions and needs no key, such as Ollama, llama.cpp or
    /// vLLM: `ModelConfig::local("http://localhost:11434/v1", "qwen3")`.
    pub fn local(base_url: impl Into<String>, id: impl Into<String>) -> Self {
        Self { provider: "local".to_owned(), ..Self::new("openai-chat", id) }.with_base_url(base_url)
    }

    /// Sets the API key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.api_key = ApiKey::new(key);
        self
    }

    /// Sets the base URL.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Returns the base URL without user, password and query, so that it may be shown and recorded.
    pub fn public_url(&self) -> String {
        let (scheme, rest) = self.base_url.split_once("://").unwrap_or(("", &self.base_url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let end = rest.find('/').unwrap_or(rest.len());
        let at = rest.get(..end).and_then(|authority| authority.rfind('@')).map_or(0, |at| at + 1);
        let place = rest.get(at..).unwrap_or_default();
        if scheme.is_empty() { place.to_owned() } else { format!("{scheme}://{place}") }
    }

    /// Returns the secret parts of the base URL: a password before the host, and query values whose names
    /// indicate a secret.
    pub fn address_secrets(&self) -> impl Iterator<Item = &str> {
        let rest = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = place.split('/').next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
        let values = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
        let secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            SECRET_PARTS.iter().any(|part| name.contains(part))
        };
        password.into_iter().chain(values.filter(move |(name, _)| secret(name)).map(|(_, value)| value))
    }
}

/// Substrings of query parameter names whose values are secret. An API version is not.
const SECRET_PARTS: &[&str] = &["key", "token", "secret", "sig", "code", "auth", "pass", "credential"];

impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelConfig")
            .field("id", &self.id)
            .field("provider", &self.provider)
            .field("api", &self.api)
            .field("api_key", &self.api_key)
            .field("base_url", &self.public_url())
            .field("headers", &self.headers.keys())
            .field("reasoning", &self.reasoning)
            .field("context_window", &self.context_window)
            .field("max_tokens", &self.max_tokens)
            .field("cost", &self.cost)
            .field("compat", &self.compat)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_url_is_split_into_public_part_and_secrets() {
        let model = ModelConfig::default();
        for (address, place, secrets) in [
            ("https://host/v1", "https://host/v1", &[][..]),
            ("https://me:word@host/v1?api-version=7&code=abc#x", "https://host/v1", &["word", "abc"]),
            ("https://token@host", "https://host", &["token"]),
            ("https://host/a@b?X-Api-Key=k", "https://host/a@b", &["k"]),
            ("host:80/v1", "host:80/v1", &[]),
            ("", "", &[]),
        ] {
            let model = model.clone().with_base_url(address);
            assert_eq!(model.public_url(), place, "{address}");
            assert_eq!(model.address_secrets().collect::<Vec<_>>(), secrets, "{address}");
        }
    }

    #[test]
    fn debug_output_hides_secrets() {
        let mut model = ModelConfig::new("openai-chat", "m").with_api_key("sk-secret");
        model.base_url = "https://user:secret@host/v1?key=secret".into();
        model.headers.insert("x-token".into(), "secret".into());
        let shown = format!("{model:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("https://host/v1") && shown.contains("x-token"), "{shown}");
    }

    #[test]
    fn key_is_never_serialised() {
        let model = ModelConfig::new("openai-chat", "m").with_api_key("sk-secret");
        let json = serde_json::to_string(&model).unwrap();
        assert!(!json.contains("sk-secret") && json.contains("openai-chat"), "{json}");
        let read: ModelConfig = serde_json::from_str(&json).unwrap();
        assert_eq!((read.id.as_str(), read.api_key), ("m", ApiKey::default()));
    }
}
