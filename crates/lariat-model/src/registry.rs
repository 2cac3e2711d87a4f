//! Selects the provider for a model by `ModelConfig::api`.
//!
//! A custom provider registers under a name of its own, or under a built-in name to replace that provider.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{ModelConfig, ModelStream, ProviderError, StreamConfig, StreamProvider};

use crate::http::{ConfiguredKey, CredentialSource, HttpClient, HttpProvider, Transport};
use crate::protocol::ApiProtocol;

/// Dispatches each request to the provider registered for its protocol.
///
/// ```
/// use lariat_core::model::ModelConfig;
/// use lariat_model::ProviderRegistry;
///
/// let registry = ProviderRegistry::default();
/// let model = ModelConfig::new("anthropic-messages", "claude-sonnet-4-5").with_api_key("…");
/// assert!(registry.get(&model.api).is_some());
/// ```
#[derive(Clone)]
pub struct ProviderRegistry {
    providers: BTreeMap<String, Arc<dyn StreamProvider>>,
}

impl Default for ProviderRegistry {
    /// Registers all built-in protocols on one HTTP client.
    fn default() -> Self {
        Self::on(Arc::new(HttpClient::default()))
    }
}

impl ProviderRegistry {
    /// Creates a registry without any provider.
    pub const fn new() -> Self {
        Self { providers: BTreeMap::new() }
    }

    /// Registers all built-in protocols on `transport`. A model without a configured key uses the provider's
    /// standard credentials: Bedrock the standard AWS chain (feature `aws`), Vertex Google's application
    /// default credentials (feature `google`).
    pub fn on(transport: Arc<dyn Transport>) -> Self {
        ApiProtocol::ALL.into_iter().fold(Self::new(), |registry, api| {
            let provider = HttpProvider::new(api.implementation(), Arc::clone(&transport));
            registry.with(api.as_str(), Arc::new(provider.with_credentials(credentials(api, &transport))))
        })
    }

    /// Adds the provider for models whose `api` is `api`. Replaces an earlier one of the same name.
    #[must_use]
    pub fn with(mut self, api: impl Into<String>, provider: Arc<dyn StreamProvider>) -> Self {
        self.providers.insert(api.into(), provider);
        self
    }

    /// Returns the provider registered for a protocol.
    pub fn get(&self, api: &str) -> Option<&Arc<dyn StreamProvider>> {
        self.providers.get(api)
    }

    fn unknown_protocol(&self, api: &str) -> ProviderError {
        let known: Vec<&str> = self.names().collect();
        let known = known.join(", ");
        let words = format!("no provider is registered for protocol `{api}`; registered protocols: {known}");
        ProviderError::Config(words.into())
    }

    /// Returns the names of all registered protocols, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }
}

/// Returns where a protocol's secrets come from when the model's configuration has none.
#[cfg_attr(not(feature = "aws"), expect(unused_variables, reason = "only the AWS chain uses it"))]
fn credentials(api: ApiProtocol, transport: &Arc<dyn Transport>) -> Arc<dyn CredentialSource> {
    match api {
        #[cfg(feature = "aws")]
        ApiProtocol::BedrockConverse => {
            Arc::new(crate::http::aws::AwsCredentialChain::new(Arc::clone(transport)))
        }
        #[cfg(feature = "google")]
        ApiProtocol::GoogleVertex => Arc::new(crate::http::google::GoogleDefaultCredentials::default()),
        _ => Arc::new(ConfiguredKey),
    }
}

impl StreamProvider for ProviderRegistry {
    fn provider_id(&self) -> &str {
        "registry"
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        if let Some(provider) = self.get(&request.model_config.api) {
            return provider.stream(request, cancel);
        }
        let error = self.unknown_protocol(&request.model_config.api);
        Box::pin(futures_util::stream::iter([Err(error)]))
    }

    fn check_model(&self, model: &ModelConfig) -> Result<(), ProviderError> {
        if model.id.is_empty() {
            let words = "no model is configured; call `.model(\"anthropic/claude-sonnet-4-5\")` or \
                         `.model_config(…)` on the builder";
            return Err(ProviderError::Config(words.into()));
        }
        match self.get(&model.api) {
            Some(provider) => provider.check_model(model),
            None => Err(self.unknown_protocol(&model.api)),
        }
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        match self.get(&request.model_config.api) {
            Some(provider) => provider.count_tokens(request),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }
}

impl fmt::Debug for ProviderRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    //! Tests of `registry`.

    use futures_util::StreamExt;
    use lariat_core::model::ModelConfig;
    use lariat_core::transcript::Window;

    use super::*;

    #[test]
    fn all_seven_protocols_are_registered() {
        let registry = ProviderRegistry::default();
        assert_eq!(registry.names().count(), 7);
        for api in ApiProtocol::ALL {
            assert_eq!(registry.get(api.as_str()).unwrap().provider_id(), api.as_str());
            assert_eq!(api.as_str().parse(), Ok(api));
        }
    }

    #[tokio::test]
    async fn unknown_protocol_is_a_config_error_that_lists_the_registered_ones() {
        let model = Arc::new(ModelConfig::new("carrier-pigeon", "m"));
        let request = StreamConfig::new(model, Window::default());
        let mut stream = ProviderRegistry::default().stream(request, CancellationToken::new());
        let error = stream.next().await.unwrap().unwrap_err().to_string();
        assert!(error.contains("carrier-pigeon") && error.contains("anthropic-messages"), "{error}");
        assert!(stream.next().await.is_none());
    }
}
