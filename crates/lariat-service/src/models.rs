//! From a model's name to what reaches it: the service, its address, its key, its prices.
//!
//! Owns the order in which a name is understood (services of the settings, the catalogue, servers on this machine) and the
//! table of services that people have keys for. Reads no environment: keys come through [`Keys`].

use std::sync::Arc;

use lariat_core::model::{ApiKey, ModelConfig, ModelCost};
use lariat_model::catalogue::{Catalogue, ModelInfo, Unreadable};
use serde_json::{Map, Value};

use crate::ServiceError;
use crate::config::Config;

/// Where keys come from.
pub trait Keys: Send + Sync {
    /// The value of a variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// The key that a person stored for a service.
    fn stored(&self, provider: &str) -> Option<String>;
}

/// A service that people have keys for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Variables that may hold its key, the usual one first.
    pub variables: &'static [&'static str],
    /// Variables that may hold its address, the usual one first.
    pub addresses: &'static [&'static str],
    /// Where its credentials come from when no key is set.
    pub chain: Option<Chain>,
    /// The model that is used when nobody says which.
    pub model: &'static str,
}

/// Credentials that a vendor's own tools find: files, logins, metadata services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chain {
    /// The standard AWS chain.
    Aws,
    /// Google's application default credentials.
    Google,
}

impl Chain {
    /// Whether this build of the program has it.
    const fn is_built(self) -> bool {
        match self {
            Self::Aws => cfg!(feature = "aws"),
            Self::Google => cfg!(feature = "google"),
        }
    }
}

const fn known(name: &'static str, variables: &'static [&'static str], model: &'static str) -> Known {
    Known { name, variables, addresses: &[], chain: None, model }
}

impl Known {
    const fn at(mut self, addresses: &'static [&'static str]) -> Self {
        self.addresses = addresses;
        self
    }

    const fn by(mut self, chain: Chain) -> Self {
        self.chain = Some(chain);
        self
    }
}

/// The services, in the order in which a key that is found decides.
pub const KNOWN: &[Known] = &[
    known("anthropic", &["ANTHROPIC_API_KEY", AUTH_TOKEN], "claude-sonnet-5-5").at(&["ANTHROPIC_BASE_URL"]),
    known("openai", &["OPENAI_API_KEY"], "gpt-5.5").at(&["OPENAI_BASE_URL", "OPENAI_API_BASE"]),
    known(
        "google",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        "gemini-3.8-flash",
    )
    .at(&["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"]),
    known("openrouter", &["OPENROUTER_API_KEY"], "openai/gpt-5"),
    known("xai", &["XAI_API_KEY"], "grok-code-fast-1"),
    known("deepseek", &["DEEPSEEK_API_KEY"], "deepseek-v4-pro"),
    known("mistral", &["MISTRAL_API_KEY"], "devstral-latest"),
    known("groq", &["GROQ_API_KEY"], "openai/gpt-oss-120b"),
    known("cerebras", &["CEREBRAS_API_KEY"], "qwen-3-32b"),
    known("moonshotai", &["MOONSHOT_API_KEY"], "kimi-k3"),
    known("zai", &["ZAI_API_KEY", "ZHIPU_API_KEY"], "glm-5.3"),
    known("togetherai", &["TOGETHER_API_KEY"], "zai-org/GLM-5.3"),
    known("fireworks-ai", &["FIREWORKS_API_KEY"], "accounts/fireworks/models/kimi-k3"),
    known("alibaba", &["DASHSCOPE_API_KEY"], "qwen3.8-max"),
    known("minimax", &["MINIMAX_API_KEY"], "MiniMax-M3"),
    known("azure", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], "gpt-5.5")
        .at(&["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"]),
    known("amazon-bedrock", &["AWS_BEARER_TOKEN_BEDROCK"], "anthropic.claude-sonnet-5-5")
        .at(&["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "ANTHROPIC_BEDROCK_BASE_URL"])
        .by(Chain::Aws),
    known("google-vertex", &["GOOGLE_VERTEX_ACCESS_TOKEN"], "gemini-3.8-flash")
        .at(&["GOOGLE_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"])
        .by(Chain::Google),
];

/// A token that goes in the `Authorization` header, as gateways want it, instead of Anthropic's own header.
const AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// Variables that place a model: the name of the `compat` field, and the variables that may hold it.
const PLACES: &[(&str, &str, &[&str])] = &[
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
    /// The name of its service.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Where it usually is.
    pub base_url: &'static str,
    /// How it is started.
    pub start: &'static str,
}

/// The servers that are looked for.
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

/// What is known of a service.
pub fn known_provider(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// What a model is looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To call it: it must be there, with its key.
    Calling,
    /// To look at what it would be sent: neither is needed.
    Looking,
}

/// The models that settings and catalogue know, and how to reach them.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    config: &'a Config,
    keys: &'a dyn Keys,
    catalogue: Option<&'a KnownModels>,
    purpose: Purpose,
}

/// The catalogue of models: the program's own, corrected and extended by the person's file ([`Folders::models`]).
///
/// [`Folders::models`]: crate::Folders::models
#[derive(Clone, Debug, Default)]
pub struct KnownModels(Option<Arc<Catalogue>>);

impl KnownModels {
    /// The program's own catalogue with a correction on top: JSON in the format of models.dev.
    ///
    /// # Errors
    /// When the correction is not a JSON object.
    pub fn corrected(json: &str) -> Result<Self, Unreadable> {
        let corrected = Catalogue::embedded().clone().with_override(json)?;
        Ok(Self(Some(Arc::new(corrected))))
    }

    /// The catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        // Reading the program's own takes a millisecond, so it happens at the first question.
        self.0.as_deref().unwrap_or_else(|| Catalogue::embedded())
    }
}

impl<'a> Models<'a> {
    /// The models of these settings.
    pub fn new(config: &'a Config, keys: &'a dyn Keys) -> Self {
        Self { config, keys, catalogue: None, purpose: Purpose::Calling }
    }

    /// Looks models up in a corrected catalogue.
    #[must_use]
    pub fn with_catalogue(self, catalogue: &'a KnownModels) -> Self {
        Self { catalogue: Some(catalogue), ..self }
    }

    fn catalogue(&self) -> &'a Catalogue {
        self.catalogue.map_or_else(|| Catalogue::embedded(), KnownModels::catalogue)
    }

    /// The same models, for something else than calling them.
    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// The model that the settings name; without one, that of the first service whose key is there. To look at, one without
    /// a name will do: its window is the usual one.
    ///
    /// # Errors
    /// When there is none, it is unknown, or its key is missing.
    pub fn chosen(&self) -> Result<ModelConfig, ServiceError> {
        if let Some(name) = self.config.text("model") {
            return self.find(&name);
        }
        match KNOWN.iter().find(|known| self.key(known.name).is_some()) {
            Some(found) => self.find(&format!("{}/{}", found.name, found.model)),
            None if self.purpose == Purpose::Looking => Ok(ModelConfig::new("", "")),
            None => Err(ServiceError::NoModel),
        }
    }

    /// A model by its name, with its key; to look at, without.
    ///
    /// # Errors
    /// When it is unknown, or its key is missing.
    pub fn find(&self, name: &str) -> Result<ModelConfig, ServiceError> {
        let mut config = self.named(name)?;
        if self.purpose == Purpose::Looking {
            return Ok(config);
        }
        self.place(&mut config);
        match self.key(&config.provider) {
            Some(key) => config.api_key = ApiKey::new(key),
            None => {
                let known = known_provider(&config.provider);
                if let Some(known) = known.filter(|known| !known.chain.is_some_and(Chain::is_built)) {
                    return Err(ServiceError::NoKey {
                        provider: config.provider,
                        variables: known.variables.iter().map(|name| (*name).to_owned()).collect(),
                    });
                }
            }
        }
        Ok(config)
    }

    /// Region, project and the kind of key, from the usual variables.
    fn place(&self, config: &mut ModelConfig) {
        for (provider, field, variables) in PLACES {
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

    /// The first of these variables that is set.
    fn first(&self, variables: &[&str]) -> Option<String> {
        variables.iter().filter_map(|name| self.keys.variable(name)).find(|value| !value.is_empty())
    }

    /// The address of a service: the settings, then the usual variables.
    fn address(&self, provider: &str) -> Option<String> {
        let set = self.config.text(&format!("providers.{provider}.base_url"));
        set.or_else(|| self.first(known_provider(provider)?.addresses))
    }

    /// A model by its name, without its key.
    fn named(&self, name: &str) -> Result<ModelConfig, ServiceError> {
        let name = name.trim();
        let (provider, id) = name.split_once('/').unwrap_or(("", name));
        if let Some(config) = self.configured(provider, id) {
            return Ok(config);
        }
        if let Some(info) = self.catalogued(name) {
            return Ok(info);
        }
        if let Some(server) = LOCAL_SERVERS.iter().find(|server| server.name == provider) {
            let mut config = ModelConfig::new("openai-chat", id).with_base_url(server.base_url);
            config.provider = server.name.to_owned();
            // A known price: nothing.
            config.cost = Some(ModelCost::default());
            return Ok(config);
        }
        let mut suggestions = self.catalogue().suggest(name);
        let own = self.config.names_in("providers").into_iter().flat_map(|provider| {
            let models = self.config.texts(&format!("providers.{provider}.models"));
            models.into_iter().map(move |id| format!("{provider}/{id}"))
        });
        let own: Vec<String> =
            own.filter(|own| lariat_core::nearest::nearest(name, [own.as_str()]).is_some()).collect();
        suggestions.splice(0..0, own);
        Err(ServiceError::UnknownModel { name: name.to_owned(), suggestions })
    }

    /// A model of a service that the settings describe. What they do not say is the catalogue's.
    fn configured(&self, provider: &str, id: &str) -> Option<ModelConfig> {
        let setting = |key: &str| self.config.text(&format!("providers.{provider}.{key}"));
        let (api, base_url) = (setting("api"), setting("base_url"));
        if provider.is_empty() || (api.is_none() && base_url.is_none()) {
            return None;
        }
        // Reading the catalogue takes longer than everything else here: only a service that is in it is looked up.
        let mut config = known_provider(provider)
            .and_then(|_| self.catalogue().get(provider, id))
            .map_or_else(|| ModelConfig::new("openai-chat", id), ModelInfo::config);
        config.provider = provider.to_owned();
        if let Some(api) = api {
            config.api = api;
        }
        if let Some(base_url) = base_url {
            config.base_url = base_url;
        }
        if let Some(window) = self.config.count(&format!("providers.{provider}.context")) {
            config.context_window = window;
        }
        Some(config)
    }

    fn catalogued(&self, name: &str) -> Option<ModelConfig> {
        let mut config = self.catalogue().find(name)?.config();
        if let Some(base_url) = self.address(&config.provider) {
            config.base_url = base_url;
        }
        Some(config)
    }

    /// The key of a service: the variable that the settings name, those that usually hold it, what was stored.
    pub fn key(&self, provider: &str) -> Option<String> {
        let named = self.config.text(&format!("providers.{provider}.key_env"));
        let usual = known_provider(provider).map(|known| known.variables).unwrap_or_default();
        let variables = named.as_deref().into_iter().chain(usual.iter().copied());
        let found = variables.filter_map(|name| self.keys.variable(name)).find(|key| !key.is_empty());
        found.or_else(|| self.keys.stored(provider))
    }
}

/// A model with a detail that its configuration does not have.
#[cfg(feature = "aws")]
pub(crate) fn with_compat(mut config: ModelConfig, field: &str, value: String) -> ModelConfig {
    set_compat(&mut config, field, value);
    config
}

/// Sets a detail of a model that its configuration does not have.
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
