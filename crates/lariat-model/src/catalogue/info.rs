//! Holds what the catalogue knows about one model and turns it into a `ModelConfig`.

use lariat_core::model::{ModelConfig, ModelCost};

use super::entry::ModelEntry;
use crate::protocol::ApiProtocol;

/// What the catalogue knows about one model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Provider id, for example `anthropic`.
    pub provider: String,
    /// Model id, as the provider writes it.
    pub id: String,
    /// Display name; the id if the catalogue has no name.
    pub name: String,
    /// The protocol that the provider speaks.
    pub api: ApiProtocol,
    /// Base URL of the provider; empty for the protocol's default.
    pub base_url: String,
    /// Whether the model supports reasoning.
    pub reasoning: bool,
    /// Whether the model supports tool calls.
    pub tool_call: bool,
    /// Context window in tokens.
    pub context: Option<u64>,
    /// Output limit in tokens.
    pub output: Option<u32>,
    /// Kinds of input the model accepts: `text`, `image`, `audio`, …
    pub input_modalities: Vec<String>,
    /// Kinds of output the model produces.
    pub output_modalities: Vec<String>,
    /// Release date, such as `2025-09-29`.
    pub release_date: Option<String>,
    /// Prices per million tokens, if known.
    pub cost: Option<ModelCost>,
}

impl ModelInfo {
    pub(super) fn new(provider: &str, id: &str, api: ApiProtocol, base_url: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            name: id.to_owned(),
            api,
            base_url: base_url.to_owned(),
            reasoning: false,
            tool_call: true,
            context: None,
            output: None,
            input_modalities: vec!["text".to_owned()],
            output_modalities: vec!["text".to_owned()],
            release_date: None,
            cost: None,
        }
    }

    /// Whether the model accepts images.
    pub fn sees_images(&self) -> bool {
        self.input_modalities.iter().any(|kind| kind == "image")
    }

    /// Returns a configuration for the model, without a key.
    pub fn config(&self) -> ModelConfig {
        let mut config = ModelConfig::new(self.api.as_str(), self.id.as_str());
        config.name.clone_from(&self.name);
        config.provider.clone_from(&self.provider);
        config.base_url.clone_from(&self.base_url);
        config.reasoning = self.reasoning;
        config.context_window = self.context.unwrap_or(config.context_window);
        config.max_tokens = self.output;
        config.cost.clone_from(&self.cost);
        config
    }

    /// Overwrites the fields that `entry` states.
    pub(super) fn apply(&mut self, entry: ModelEntry) {
        entry.apply_prices(&mut self.cost);
        self.name = entry.name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.reasoning = entry.reasoning.unwrap_or(self.reasoning);
        self.tool_call = entry.tool_call.unwrap_or(self.tool_call);
        self.context = entry.context.or(self.context);
        self.output = entry.output.or(self.output);
        self.input_modalities =
            entry.input_modalities.unwrap_or_else(|| std::mem::take(&mut self.input_modalities));
        self.output_modalities =
            entry.output_modalities.unwrap_or_else(|| std::mem::take(&mut self.output_modalities));
        self.release_date = entry.release_date.or_else(|| self.release_date.take());
    }
}
