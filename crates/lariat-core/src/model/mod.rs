//! The contract for a streaming model provider, and the requests that it receives.
//!
//! The wire protocols are in the model crate. Invariant: a provider delivers a tool call only when it is
//! complete and parsed, and only if its stream ended cleanly.

mod choice;
mod error;
mod failure;
mod identity;
mod price;
mod prompt;
mod request;
mod stream;

use std::pin::Pin;

use futures_core::Stream;

pub use choice::ModelChoice;
pub use error::{ErrorDetail, FailureKind, ProviderError};
pub use failure::ModelFailure;
pub use identity::{ApiKey, ModelConfig};
pub use price::{ModelCost, PriceTier, UsdPerMillion};
pub use prompt::{PromptSection, SectionStability, SystemPrompt};
pub use request::{
    CacheConfig, CacheStrategy, CacheTtl, OutputSchema, RequestMemo, StreamConfig, ThinkingLevel, ToolChoice,
};
pub use stream::StreamEvent;

use crate::BoxFuture;
use crate::cancel::CancellationToken;

/// A reply as it arrives. Ends after `Done` or an error; an end without either is treated as a broken
/// connection.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// Answers model requests with a stream.
pub trait StreamProvider: Send + Sync {
    /// Returns a stable lowercase identifier, for example `anthropic`. It is the first segment of derived
    /// configuration ids if the model does not name its provider.
    fn provider_id(&self) -> &str;

    /// Sends a request. Dropping the stream or cancelling the token ends it.
    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream;

    /// Asks the provider how many tokens a request would use. `None` if the provider has no such API.
    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns whether the replies of a model report their cost, which a cost limit requires. An agent with a
    /// cost limit does not build otherwise. By default true for models with a price.
    fn reports_cost(&self, model: &ModelConfig) -> bool {
        model.cost.is_some()
    }

    /// Checks whether the provider can call this model. An agent that would fail at its first model call does
    /// not build. By default every configuration is accepted.
    ///
    /// # Errors
    /// What is missing or wrong in the configuration.
    fn check_model(&self, model: &ModelConfig) -> Result<(), ProviderError> {
        let _ = model;
        Ok(())
    }
}
