//! Says which model an agent calls, in the forms that a program has at hand.

use std::fmt;
use std::sync::Arc;

use super::{ModelConfig, StreamProvider};

/// A model to call: a name of the catalogue, a configuration, or a provider of your own.
///
/// Every form converts into it, so a function that takes `impl Into<ModelChoice>` accepts
/// `"anthropic/claude-sonnet-4-5"`, a [`ModelConfig`] and anything that implements [`StreamProvider`].
#[derive(Clone)]
#[non_exhaustive]
pub enum ModelChoice {
    /// The name of a model in the catalogue, such as `anthropic/claude-sonnet-4-5`.
    Name(String),
    /// A complete configuration.
    Config(Box<ModelConfig>),
    /// A provider that needs no configuration, or has one set separately.
    Provider(Arc<dyn StreamProvider>),
}

impl From<&str> for ModelChoice {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for ModelChoice {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<ModelConfig> for ModelChoice {
    fn from(config: ModelConfig) -> Self {
        Self::Config(Box::new(config))
    }
}

impl<P: StreamProvider + 'static> From<P> for ModelChoice {
    fn from(provider: P) -> Self {
        Self::Provider(Arc::new(provider))
    }
}

impl fmt::Debug for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.debug_tuple("Name").field(name).finish(),
            Self::Config(config) => f.debug_tuple("Config").field(config).finish(),
            Self::Provider(provider) => f.debug_tuple("Provider").field(&provider.provider_id()).finish(),
        }
    }
}
