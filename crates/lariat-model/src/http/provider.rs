//! Runs a protocol on a transport: the provider for one of the seven APIs.

use std::fmt;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::model::{ModelConfig, ModelStream, ProviderError, StreamConfig, StreamProvider};

use super::clock::TokioClock;
use super::credentials::{ConfiguredKey, CredentialSource};
use super::deadlines::Deadlines;
use super::exchange;
use crate::protocol::Protocol;
use crate::wire::ListedModel;
use lariat_http::Transport;

/// Streams replies from a provider over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct HttpProvider {
    pub(super) protocol: &'static dyn Protocol,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) credentials: Arc<dyn CredentialSource>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) deadlines: Deadlines,
}

impl HttpProvider {
    /// Creates a provider that uses the key in the model's configuration.
    pub fn new(protocol: &'static dyn Protocol, transport: Arc<dyn Transport>) -> Self {
        Self {
            protocol,
            transport,
            credentials: Arc::new(ConfiguredKey),
            clock: Arc::new(TokioClock),
            deadlines: Deadlines::default(),
        }
    }

    /// Replaces the source of keys.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Arc<dyn CredentialSource>) -> Self {
        self.credentials = credentials;
        self
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Replaces the time limits.
    #[must_use]
    pub const fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Returns the models that the provider offers.
    ///
    /// # Errors
    /// Returns an error if the request fails or the protocol cannot list models.
    pub async fn models(&self, model: &ModelConfig) -> Result<Vec<ListedModel>, ProviderError> {
        exchange::list(self, model).await
    }
}

impl StreamProvider for HttpProvider {
    fn provider_id(&self) -> &str {
        self.protocol.api().as_str()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        Box::pin(exchange::Exchange::new(self.clone(), request, &cancel))
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        Box::pin(async move { exchange::count(self, &request).await })
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider").field("api", &self.protocol.api()).finish_non_exhaustive()
    }
}
