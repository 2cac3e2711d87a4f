//! From a model's name to what reaches it: the service, its address, its key, its prices.
//!
//! Owns the order in which a name is understood (services of the settings, the catalogue, servers on this machine) and the
//! table of services that people have keys for. Reads no environment: keys come through [`Keys`].

use lariat_core::model::{ApiKey, ModelConfig, ModelCost};
use lariat_model::catalogue::{Catalogue, ModelInfo};

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
    /// The model that is used when nobody says which.
    pub model: &'static str,
}

const fn known(name: &'static str, variables: &'static [&'static str], model: &'static str) -> Known {
    Known { name, variables, model }
}

/// The services, in the order in which a key that is found decides.
pub const KNOWN: &[Known] = &[
    known("anthropic", &["ANTHROPIC_API_KEY"], "claude-sonnet-5-5"),
    known("openai", &["OPENAI_API_KEY"], "gpt-5.5"),
    known(
        "google",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        "gemini-3.8-flash",
    ),
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
    known("azure", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], "gpt-5.5"),
    known("amazon-bedrock", &["AWS_BEARER_TOKEN_BEDROCK"], "anthropic.claude-sonnet-5-5"),
    known("google-vertex", &["GOOGLE_VERTEX_ACCESS_TOKEN"], "gemini-3.8-flash"),
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
    purpose: Purpose,
}

impl<'a> Models<'a> {
    /// The models of these settings.
    pub fn new(config: &'a Config, keys: &'a dyn Keys) -> Self {
        Self { config, keys, purpose: Purpose::Calling }
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
        match self.key(&config.provider) {
            Some(key) => config.api_key = ApiKey::new(key),
            None => {
                if let Some(known) = known_provider(&config.provider) {
                    return Err(ServiceError::NoKey {
                        provider: config.provider,
                        variables: known.variables.iter().map(|name| (*name).to_owned()).collect(),
                    });
                }
            }
        }
        Ok(config)
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
        let mut suggestions = Catalogue::embedded().suggest(name);
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
            .and_then(|_| Catalogue::embedded().get(provider, id))
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
        let mut config = Catalogue::embedded().find(name)?.config();
        if let Some(base_url) = self.config.text(&format!("providers.{}.base_url", config.provider)) {
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

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
