//! Asks model servers on this machine for their models, and finds the addresses of providers.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::model::ModelConfig;
use lariat_model::http::{HttpClient, HttpProvider};
use lariat_model::protocol::ApiProtocol;

/// Timeout for a server on this machine.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(300);

/// Lists the models of a server on this machine; `None` if it does not answer in time. Sends no key, and uses no proxy.
pub async fn local_models(provider: &str, base_url: &str) -> Option<Vec<String>> {
    let mut model = ModelConfig::new(ApiProtocol::OpenAiChat.as_str(), "").with_base_url(base_url);
    provider.clone_into(&mut model.provider);
    let client = Arc::new(HttpClient::default());
    let server = HttpProvider::new(ApiProtocol::OpenAiChat.implementation(), client);
    let models = tokio::time::timeout(LOCAL_TIMEOUT, server.models(&model)).await.ok()?.ok()?;
    Some(models.into_iter().map(|model| model.id).collect())
}

/// Returns the URL of a model's provider, or `None` if only the provider's SDK decides it.
pub fn address(model: &ModelConfig) -> Option<String> {
    let api: ApiProtocol = model.api.parse().ok()?;
    let listing = api.implementation().list_request(model).map(|request| request.url);
    listing.or_else(|| Some(model.base_url.clone()).filter(|url| !url.is_empty()))
}
