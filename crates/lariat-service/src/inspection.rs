//! The provider of a session that is only inspected: it needs no model.

use lariat_core::cancel::CancellationToken;
use lariat_core::model::{ModelStream, StreamConfig, StreamProvider};
use lariat_model::ProviderRegistry;

/// The registry, which accepts every model configuration here, also an empty one.
pub(crate) struct InspectionProvider(pub(crate) ProviderRegistry);

impl StreamProvider for InspectionProvider {
    fn provider_id(&self) -> &str {
        self.0.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        self.0.stream(request, cancel)
    }
}
