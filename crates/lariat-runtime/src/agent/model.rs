//! Turns what the program said about its model into a provider and a configuration.
//!
//! A name is looked up in the catalogue, and its key comes from the environment variable that the provider
//! documents. A configuration is used as it is: its address may not be the provider's own, so it never
//! receives a key from the environment.

use std::sync::Arc;

use lariat_core::model::{ApiKey, ModelChoice, ModelConfig, StreamProvider};

use super::error::BuildError;

/// The model of an agent, until the agent is built.
#[derive(Default)]
pub(crate) struct ModelSlot {
    provider: Option<Arc<dyn StreamProvider>>,
    name: Option<String>,
    config: Option<ModelConfig>,
    api_key: Option<ApiKey>,
}

impl ModelSlot {
    pub(crate) fn choose(&mut self, choice: ModelChoice) {
        match choice {
            ModelChoice::Name(name) => (self.name, self.config) = (Some(name), None),
            ModelChoice::Config(config) => (self.name, self.config) = (None, Some(*config)),
            ModelChoice::Provider(provider) => self.provider = Some(provider),
            _ => {}
        }
    }

    pub(super) fn set_api_key(&mut self, key: ApiKey) {
        self.api_key = Some(key);
    }

    /// Returns the provider and the configuration; the default configuration for a provider that needs none.
    pub(crate) fn resolve(self) -> Result<(Arc<dyn StreamProvider>, ModelConfig), BuildError> {
        let is_chosen = self.name.is_some() || self.config.is_some();
        let (provider, is_own) = match self.provider {
            Some(provider) => (provider, true),
            None if is_chosen => (built_in_provider()?, false),
            None => return Err(BuildError::NoModel),
        };
        let mut config = match (self.config, &self.name) {
            (Some(config), _) => config,
            (None, Some(name)) => find(name)?,
            (None, None) => ModelConfig::default(),
        };
        match self.api_key {
            Some(key) => config.api_key = key,
            None if self.name.is_some() && !is_own => config.api_key = key_from_environment(&config)?,
            None => {}
        }
        provider.check_model(&config).map_err(|error| BuildError::Model(error.to_string()))?;
        Ok((provider, config))
    }
}

/// All protocols that this build contains.
#[cfg(feature = "models")]
fn built_in_provider() -> Result<Arc<dyn StreamProvider>, BuildError> {
    Ok(Arc::new(lariat_model::ProviderRegistry::default()))
}

#[cfg(feature = "models")]
fn find(name: &str) -> Result<ModelConfig, BuildError> {
    use lariat_model::catalogue::FindModel;
    ModelConfig::find(name).map_err(|error| BuildError::Model(error.to_string()))
}

/// Reads the key of the model's provider. A provider with credentials of its own, such as the AWS chain, needs
/// none.
#[cfg(feature = "models")]
fn key_from_environment(config: &ModelConfig) -> Result<ApiKey, BuildError> {
    let variables = lariat_model::catalogue::key_variables(&config.provider);
    #[expect(clippy::disallowed_methods, reason = "the caller named a model and no key")]
    let value = |name: &&&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (variables.iter().find_map(|name| value(&name)), variables.first()) {
        (Some(key), _) => Ok(ApiKey::new(key)),
        (None, Some(variable)) if !lariat_model::catalogue::has_credential_chain(&config.provider) => {
            Err(BuildError::NoApiKey { provider: config.provider.clone(), variable: (*variable).to_owned() })
        }
        (None, _) => Ok(ApiKey::default()),
    }
}

#[cfg(not(feature = "models"))]
fn built_in_provider() -> Result<Arc<dyn StreamProvider>, BuildError> {
    Err(BuildError::Model(NO_MODELS.to_owned()))
}

#[cfg(not(feature = "models"))]
fn find(_name: &str) -> Result<ModelConfig, BuildError> {
    Err(BuildError::Model(NO_MODELS.to_owned()))
}

#[cfg(not(feature = "models"))]
fn key_from_environment(_config: &ModelConfig) -> Result<ApiKey, BuildError> {
    Ok(ApiKey::default())
}

#[cfg(not(feature = "models"))]
const NO_MODELS: &str =
    "this build contains no provider; enable the feature `models`, or call `.provider(…)`";
