//! Resolves a model's name to its provider, URL, key and prices.
//!
//! Looks a name up in the providers of the settings, then in the catalogue, then among servers on this machine. Also holds
//! the table of known providers. Reads no environment: keys come through [`Keys`].

use std::sync::Arc;

use lariat_core::model::{ApiKey, ModelConfig, ModelCost, UsdPerMillion};
use lariat_core::usage::Cost;
use lariat_model::catalogue::CatalogueError;
pub use lariat_model::catalogue::{Catalogue, ModelInfo};
use serde_json::{Map, Value};

use crate::ServiceError;
use crate::config::{ProviderSettings, Settings};

/// A source of API keys.
pub trait Keys: Send + Sync {
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The key that the user stored for a provider.
    fn stored_key(&self, provider: &str) -> Option<String>;

    /// Reads a secret that `store_secret` saved, in this process or another one. May block.
    fn load_secret(&self, name: &str) -> Option<String> {
        self.stored_key(name)
    }

    /// Saves a secret where API keys are kept, or removes it. May block.
    ///
    /// # Errors
    /// The reason why it could not be saved.
    fn store_secret(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        let _ = (name, value);
        Err("this program does not store secrets".to_owned())
    }
}

/// A known provider.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KnownProvider {
    /// Its name.
    pub name: &'static str,
    /// Variables that may hold its key, the usual one first.
    pub variables: &'static [&'static str],
    /// Variables that may hold its address, the usual one first.
    pub addresses: &'static [&'static str],
    /// The source of its credentials if no key is set.
    pub chain: Option<Chain>,
    /// Its default model.
    pub model: &'static str,
}

/// Credentials that a cloud provider's own tools find: files, logins, metadata services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chain {
    /// The standard AWS chain.
    Aws,
    /// Google's application default credentials.
    Google,
}

impl Chain {
    /// Whether this build supports it.
    const fn is_supported(self) -> bool {
        match self {
            Self::Aws => cfg!(feature = "aws"),
            Self::Google => cfg!(feature = "google"),
        }
    }
}

const fn provider_row(
    name: &'static str,
    variables: &'static [&'static str],
    model: &'static str,
) -> KnownProvider {
    KnownProvider { name, variables, addresses: &[], chain: None, model }
}

impl KnownProvider {
    const fn at(mut self, addresses: &'static [&'static str]) -> Self {
        self.addresses = addresses;
        self
    }

    const fn with_chain(mut self, chain: Chain) -> Self {
        self.chain = Some(chain);
        self
    }
}

/// The known providers. Without a `model` setting, the first one with a key is used.
pub const KNOWN: &[KnownProvider] = &[
    provider_row("anthropic", &["ANTHROPIC_API_KEY", AUTH_TOKEN], "claude-sonnet-5-5")
        .at(&["ANTHROPIC_BASE_URL"]),
    provider_row("openai", &["OPENAI_API_KEY"], "gpt-5.5").at(&["OPENAI_BASE_URL", "OPENAI_API_BASE"]),
    provider_row(
        "google",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        "gemini-3.8-flash",
    )
    .at(&["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"]),
    provider_row("openrouter", &["OPENROUTER_API_KEY"], "openai/gpt-5"),
    provider_row("xai", &["XAI_API_KEY"], "grok-code-fast-1"),
    provider_row("deepseek", &["DEEPSEEK_API_KEY"], "deepseek-v4-pro"),
    provider_row("mistral", &["MISTRAL_API_KEY"], "devstral-latest"),
    provider_row("groq", &["GROQ_API_KEY"], "openai/gpt-oss-120b"),
    provider_row("cerebras", &["CEREBRAS_API_KEY"], "qwen-3-32b"),
    provider_row("moonshotai", &["MOONSHOT_API_KEY"], "kimi-k3"),
    provider_row("zai", &["ZAI_API_KEY", "ZHIPU_API_KEY"], "glm-5.3"),
    provider_row("togetherai", &["TOGETHER_API_KEY"], "zai-org/GLM-5.3"),
    provider_row("fireworks-ai", &["FIREWORKS_API_KEY"], "accounts/fireworks/models/kimi-k3"),
    provider_row("alibaba", &["DASHSCOPE_API_KEY"], "qwen3.8-max"),
    provider_row("minimax", &["MINIMAX_API_KEY"], "MiniMax-M3"),
    provider_row("azure", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], "gpt-5.5")
        .at(&["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"]),
    provider_row("amazon-bedrock", &["AWS_BEARER_TOKEN_BEDROCK"], "anthropic.claude-sonnet-5-5")
        .at(&["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "ANTHROPIC_BEDROCK_BASE_URL"])
        .with_chain(Chain::Aws),
    provider_row("google-vertex", &["GOOGLE_VERTEX_ACCESS_TOKEN"], "gemini-3.8-flash")
        .at(&["GOOGLE_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"])
        .with_chain(Chain::Google),
];

/// A token for the `Authorization` header, as gateways expect, instead of Anthropic's own header.
const AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// Variables for a model's location: provider, `compat` field, and the variables that may hold it.
const LOCATION_VARIABLES: &[(&str, &str, &[&str])] = &[
    ("amazon-bedrock", "region", &["AWS_REGION", "AWS_DEFAULT_REGION"]),
    (
        "google-vertex",
        "project",
        &["GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"],
    ),
    ("google-vertex", "region", &["GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"]),
];

/// A server on this machine that speaks Chat Completions.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LocalServer {
    /// The provider name in settings.
    pub name: &'static str,
    /// The product name.
    pub title: &'static str,
    /// Its usual URL.
    pub base_url: &'static str,
    /// The command that starts it.
    pub start: &'static str,
}

/// The local servers that Lariat detects.
pub const LOCAL_SERVERS: &[LocalServer] = &[
    LocalServer {
        name: "ollama",
        title: "Ollama",
        base_url: "http://127.0.0.1:11434/v1",
        start: "ollama serve",
    },
    LocalServer {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://127.0.0.1:1234/v1",
        start: "lms server start",
    },
    LocalServer {
        name: "llamacpp",
        title: "llama.cpp",
        base_url: "http://127.0.0.1:8080/v1",
        start: "llama-server -m MODEL.gguf --jinja",
    },
];

/// Finds a known provider.
pub fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Why a model is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To send requests: it must exist and have a key.
    Calling,
    /// To inspect the context: neither is needed.
    Inspecting,
}

/// Resolves models with the settings and the catalogue.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    settings: &'a Settings,
    keys: &'a dyn Keys,
    catalogue: Option<&'a ModelCatalogue>,
    purpose: Purpose,
}

/// The model catalogue: the built-in one, with corrections from the user's file ([`UserDirectories::models`]).
///
/// [`UserDirectories::models`]: crate::UserDirectories::models
#[derive(Clone, Debug, Default)]
pub struct ModelCatalogue(Option<Arc<Catalogue>>);

impl ModelCatalogue {
    /// The built-in catalogue with corrections: JSON in the format of models.dev.
    ///
    /// # Errors
    /// If the corrections are not a JSON object.
    pub fn with_corrections(json: &str) -> Result<Self, CatalogueError> {
        let corrected = Catalogue::embedded().clone().with_override(json)?;
        Ok(Self(Some(Arc::new(corrected))))
    }

    /// The catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        // Parsing the built-in catalogue takes a millisecond, so it happens on first use.
        self.0.as_deref().unwrap_or_else(|| Catalogue::embedded())
    }
}

impl<'a> Models<'a> {
    /// Resolves models with these settings.
    pub fn new(settings: &'a Settings, keys: &'a dyn Keys) -> Self {
        Self { settings, keys, catalogue: None, purpose: Purpose::Calling }
    }

    /// Uses a corrected catalogue.
    #[must_use]
    pub fn with_catalogue(self, catalogue: &'a ModelCatalogue) -> Self {
        Self { catalogue: Some(catalogue), ..self }
    }

    fn catalogue(&self) -> &'a Catalogue {
        self.catalogue.map_or_else(|| Catalogue::embedded(), ModelCatalogue::catalogue)
    }

    /// Sets why models are resolved.
    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// The model in the settings, or the default model of the first provider with a key. To inspect the context, a model
    /// without a name is enough; it has the usual context window.
    ///
    /// # Errors
    /// If there is none, it is unknown, or its key is missing.
    pub fn selected_model(&self) -> Result<ModelConfig, ServiceError> {
        if let Some(name) = &self.settings.model {
            return self.find(name);
        }
        match KNOWN.iter().find(|known| self.key(known.name).is_some()) {
            Some(found) => self.find(&format!("{}/{}", found.name, found.model)),
            None if self.purpose == Purpose::Inspecting => Ok(ModelConfig::new("", "")),
            None => Err(ServiceError::NoModel),
        }
    }

    /// Resolves a model by name, with its key; to inspect the context, without.
    ///
    /// # Errors
    /// If it is unknown, or its key is missing.
    pub fn find(&self, name: &str) -> Result<ModelConfig, ServiceError> {
        let mut config = self.resolve_name(name)?;
        if self.purpose == Purpose::Inspecting {
            return Ok(config);
        }
        self.set_location(&mut config);
        match self.key(&config.provider) {
            Some(key) => config.api_key = ApiKey::new(key),
            None => {
                let known = known_provider(&config.provider);
                if let Some(known) = known.filter(|known| !known.chain.is_some_and(Chain::is_supported)) {
                    return Err(ServiceError::NoKey {
                        provider: config.provider,
                        variables: known.variables.iter().map(|name| (*name).to_owned()).collect(),
                    });
                }
            }
        }
        Ok(config)
    }

    /// Sets region, project and kind of key from the usual variables.
    fn set_location(&self, config: &mut ModelConfig) {
        for (provider, field, variables) in LOCATION_VARIABLES {
            if *provider == config.provider
                && let Some(value) = self.first(variables)
            {
                set_compat(config, field, value);
            }
        }
        let is_token = self.first(&["ANTHROPIC_API_KEY"]).is_none() && self.first(&[AUTH_TOKEN]).is_some();
        if config.provider == "anthropic" && is_token {
            set_compat(config, "auth", "bearer".to_owned());
        }
    }

    /// The first nonempty one of these variables.
    fn first(&self, variables: &[&str]) -> Option<String> {
        variables.iter().filter_map(|name| self.keys.variable(name)).find(|value| !value.is_empty())
    }

    /// The settings of a provider.
    fn provider(&self, name: &str) -> Option<&'a ProviderSettings> {
        self.settings.providers.get(name)
    }

    /// The URL of a provider, from the settings or the usual variables.
    fn address(&self, provider: &str) -> Option<String> {
        let set = self.provider(provider).and_then(|provider| provider.base_url.clone());
        set.or_else(|| self.first(known_provider(provider)?.addresses))
    }

    /// Resolves a model by name, without its key.
    fn resolve_name(&self, name: &str) -> Result<ModelConfig, ServiceError> {
        let name = name.trim();
        let (provider, id) = name.split_once('/').unwrap_or(("", name));
        if let Some(config) = self.configured_model(provider, id) {
            return Ok(config);
        }
        if let Some(info) = self.catalogue_model(name) {
            return Ok(info);
        }
        if let Some(server) = LOCAL_SERVERS.iter().find(|server| server.name == provider) {
            let mut config = ModelConfig::new("openai-chat", id).with_base_url(server.base_url);
            config.provider = server.name.to_owned();
            // Local models are free.
            config.cost = Some(ModelCost::default());
            return Ok(config);
        }
        let mut suggestions = self.catalogue().suggest(name);
        let own = self
            .settings
            .providers
            .iter()
            .flat_map(|(name, provider)| provider.models.iter().map(move |id| format!("{name}/{id}")));
        let own: Vec<String> =
            own.filter(|own| lariat_core::nearest::nearest(name, [own.as_str()]).is_some()).collect();
        suggestions.splice(0..0, own);
        Err(ServiceError::UnknownModel { name: name.to_owned(), suggestions })
    }

    /// A model of a provider in the settings. The catalogue supplies missing values.
    fn configured_model(&self, provider: &str, id: &str) -> Option<ModelConfig> {
        let set = self.provider(provider).filter(|set| set.api.is_some() || set.base_url.is_some())?;
        if provider.is_empty() {
            return None;
        }
        // Parsing the catalogue is the slowest step here, so only known providers are looked up.
        let mut config = known_provider(provider)
            .and_then(|_| self.catalogue().get(provider, id))
            .map_or_else(|| ModelConfig::new("openai-chat", id), ModelInfo::config);
        config.provider = provider.to_owned();
        if let Some(api) = set.api {
            config.api = api.as_str().to_owned();
        }
        if let Some(base_url) = &set.base_url {
            config.base_url.clone_from(base_url);
        }
        if let Some(window) = set.context {
            config.context_window = window.get();
        }
        if set.input_price.is_some() || set.output_price.is_some() {
            let price = |cost: Option<Cost>| UsdPerMillion::from_usd(cost.unwrap_or_default().as_usd());
            let (input, output) = (price(set.input_price), price(set.output_price));
            config.cost = Some(ModelCost { input, output, ..ModelCost::default() });
        }
        Some(config)
    }

    fn catalogue_model(&self, name: &str) -> Option<ModelConfig> {
        let mut config = self.catalogue().find(name)?.config();
        if let Some(base_url) = self.address(&config.provider) {
            config.base_url = base_url;
        }
        Some(config)
    }

    /// The key of a provider: from the variable in the settings, then the usual variables, then the stored key.
    pub fn key(&self, provider: &str) -> Option<String> {
        let named = self.provider(provider).and_then(|provider| provider.key_env.as_deref());
        let usual = known_provider(provider).map(|known| known.variables).unwrap_or_default();
        let variables = named.into_iter().chain(usual.iter().copied());
        let found = variables.filter_map(|name| self.keys.variable(name)).find(|key| !key.is_empty());
        found.or_else(|| self.keys.stored_key(provider))
    }
}

/// Sets a `compat` field of a model.
#[cfg(feature = "aws")]
pub(crate) fn with_compat(mut config: ModelConfig, field: &str, value: String) -> ModelConfig {
    set_compat(&mut config, field, value);
    config
}

/// Sets a `compat` field of a model, unless it is set already.
fn set_compat(config: &mut ModelConfig, field: &str, value: String) {
    if !config.compat.is_object() {
        config.compat = Value::Object(Map::new());
    }
    if let Some(compat) = config.compat.as_object_mut() {
        compat.entry(field).or_insert_with(|| Value::from(value));
    }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
