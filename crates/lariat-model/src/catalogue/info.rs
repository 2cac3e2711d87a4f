//! What is known of a model, and the configuration it makes.

use lariat_core::model::{ModelConfig, ModelCost};

use super::entry::ModelEntry;
use crate::protocol::ApiProtocol;

/// What is known of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Service, for example `anthropic`.
    pub provider: String,
    /// Id, as the service knows it.
    pub id: String,
    /// Name for people; the id where there is none.
    pub name: String,
    /// The protocol that the service speaks.
    pub api: ApiProtocol,
    /// Where the service is; empty where its protocol knows.
    pub base_url: String,
    /// Whether it reasons.
    pub reasoning: bool,
    /// Whether it calls tools.
    pub tool_call: bool,
    /// Context window in tokens.
    pub context: Option<u64>,
    /// Output limit in tokens.
    pub output: Option<u32>,
    /// What it reads: `text`, `image`, `audio`, …
    pub input_modalities: Vec<String>,
    /// What it writes.
    pub output_modalities: Vec<String>,
    /// When it was released, such as `2025-09-29`.
    pub release_date: Option<String>,
    /// Prices.
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

    /// Whether it sees images.
    pub fn sees_images(&self) -> bool {
        self.input_modalities.iter().any(|kind| kind == "image")
    }

    /// A configuration for the model, without a key.
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

    /// Takes over what an entry says.
    pub(super) fn take(&mut self, entry: ModelEntry) {
        entry.price(&mut self.cost);
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
