//! Knows each provider's protocol and address.
//!
//! A provider that is not in the table is assumed to speak OpenAI's Chat Completions, as nearly all do, at
//! the address that the catalogue gives.

use std::collections::BTreeMap;

use super::entry::ProviderEntry;
use super::info::ModelInfo;
use crate::protocol::ApiProtocol::{
    self, AnthropicMessages, AzureResponses, GoogleGemini, GoogleVertex, OpenAiChat, OpenAiResponses,
};

/// Provider, protocol and base URL. An empty base URL means the protocol's default.
const TABLE: &[(&str, ApiProtocol, &str)] = &[
    ("alibaba", OpenAiChat, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
    #[cfg(feature = "bedrock")]
    ("amazon-bedrock", ApiProtocol::BedrockConverse, ""),
    ("anthropic", AnthropicMessages, ""),
    ("azure", AzureResponses, ""),
    ("cerebras", OpenAiChat, "https://api.cerebras.ai/v1"),
    ("deepseek", OpenAiChat, "https://api.deepseek.com/v1"),
    ("fireworks-ai", OpenAiChat, "https://api.fireworks.ai/inference/v1"),
    ("google", GoogleGemini, ""),
    ("google-vertex", GoogleVertex, ""),
    ("groq", OpenAiChat, "https://api.groq.com/openai/v1"),
    ("minimax", OpenAiChat, "https://api.minimax.io/v1"),
    ("mistral", OpenAiChat, "https://api.mistral.ai/v1"),
    ("moonshotai", OpenAiChat, "https://api.moonshot.ai/v1"),
    ("openai", OpenAiResponses, ""),
    ("openrouter", OpenAiChat, "https://openrouter.ai/api/v1"),
    ("togetherai", OpenAiChat, "https://api.together.xyz/v1"),
    ("xai", OpenAiChat, "https://api.x.ai/v1"),
    ("zai", OpenAiChat, "https://api.z.ai/api/paas/v4"),
];

/// Whether this build can call a provider at all.
pub(super) fn is_built(id: &str) -> bool {
    cfg!(feature = "bedrock") || id != "amazon-bedrock"
}

/// A provider and its models.
#[derive(Clone, Debug)]
pub(super) struct Provider {
    id: String,
    api: ApiProtocol,
    base_url: String,
    models: BTreeMap<String, ModelInfo>,
}

impl Provider {
    pub(super) fn new(id: &str) -> Self {
        let known = TABLE.iter().find(|(name, _, _)| *name == id);
        let (api, base_url) = known.map_or((OpenAiChat, ""), |(_, api, base_url)| (*api, *base_url));
        Self { id: id.to_owned(), api, base_url: base_url.to_owned(), models: BTreeMap::new() }
    }

    pub(super) fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.models.values()
    }

    pub(super) fn model(&self, id: &str) -> Option<&ModelInfo> {
        self.models.get(id)
    }

    /// Overwrites what `entry` states about the provider and its models.
    pub(super) fn apply(&mut self, entry: ProviderEntry) {
        let api = entry.protocol.and_then(|name| name.parse().ok());
        if entry.base_url.is_some() || api.is_some() {
            self.api = api.unwrap_or(self.api);
            self.base_url = entry.base_url.unwrap_or_else(|| std::mem::take(&mut self.base_url));
            for model in self.models.values_mut() {
                model.api = self.api;
                model.base_url.clone_from(&self.base_url);
            }
        }
        for (id, entry) in entry.models {
            let fresh = || ModelInfo::new(&self.id, &id, self.api, &self.base_url);
            self.models.entry(id.clone()).or_insert_with(fresh).apply(entry);
        }
    }
}
