//! Models: the contract of a streaming provider and what is sent to it.
//!
//! Owns [`StreamProvider`], the request ([`StreamConfig`]), the stream's events and the errors with their retry rule.
//! Wire protocols live in the model crate. Invariant: a provider delivers a tool call only complete and parsed, and
//! only when the stream it came in ended cleanly.

mod error;
mod identity;
mod price;
mod prompt;
mod request;
mod stream;

use std::pin::Pin;

use futures_core::Stream;

pub use error::{ErrorDetail, FailureKind, ProviderError};
pub use identity::{ApiKey, ModelConfig};
pub use price::{ModelCost, PriceTier, UsdPerMillion};
pub use prompt::{Place, PromptSection, SystemPrompt};
pub use request::{
    CacheConfig, CacheStrategy, CacheTtl, OutputSchema, RequestMemo, StreamConfig, ThinkingLevel, ToolChoice,
};
pub use stream::StreamEvent;

use crate::BoxFuture;
use crate::cancel::CancellationToken;

/// A reply as it arrives. Ends after `Done` or an error; an end without either counts as a broken connection.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// Something that answers requests with a stream.
pub trait StreamProvider: Send + Sync {
    /// Stable lowercase identifier, for example `anthropic`. First segment of derived configuration ids, when the
    /// model does not name the service that runs it.
    fn provider_id(&self) -> &str;

    /// Starts a request. Dropping the stream or cancelling the token ends it.
    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream;

    /// Asks the service how many tokens a request would take. `None` where it cannot be asked.
    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Whether the replies of a model say what they cost, so that a cap on money works. An agent with such a cap does
    /// not build otherwise. The default says yes for models with a price.
    fn reports_cost(&self, model: &ModelConfig) -> bool {
        model.cost.is_some()
    }
}
