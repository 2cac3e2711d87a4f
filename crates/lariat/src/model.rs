//! Models: which one to call, how to reach it, and how to write a provider of your own.

pub use lariat_core::config::RetryConfig;
pub use lariat_core::model::{
    ApiKey, CacheConfig, CacheStrategy, CacheTtl, ErrorDetail, FailureKind, ModelChoice, ModelConfig,
    ModelCost, ModelStream, OutputSchema, PriceTier, ProviderError, StreamConfig, StreamEvent,
    StreamProvider, ThinkingLevel, ToolChoice, UsdPerMillion,
};
#[cfg(feature = "models")]
pub use lariat_model::catalogue::{Catalogue, FindModel, ModelInfo, UnknownModel};
#[cfg(feature = "models")]
pub use lariat_model::http::{
    AwsKeys, ClientConfig, CredentialSource, Deadlines, HttpClient, HttpProvider, Secret, Transport,
};
#[cfg(feature = "tokenizer")]
pub use lariat_model::tokenizer;
#[cfg(feature = "models")]
pub use lariat_model::{ApiProtocol, Protocol, ProviderRegistry};
