//! Lists models with their capabilities, limits and prices: the models.dev catalogue, offline.
//!
//! The program embeds a snapshot ([`Catalogue::embedded`]; `cargo xtask catalogue` renews it), and the user's
//! own file can correct or extend it field by field ([`Catalogue::with_override`]). The catalogue never uses
//! the network and does not decide anything about requests.
//! Invariant: an entry that cannot be parsed is skipped and does not affect other entries.

mod entry;
mod find;
mod info;
mod keys;
mod lookup;
mod provider;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use find::{FindModel, UnknownModel};
pub use info::ModelInfo;
pub use keys::{has_credential_chain, key_variables};

use entry::ProviderEntry;
use provider::Provider;

/// The snapshot, in the format of models.dev.
const SNAPSHOT: &str = include_str!("snapshot.json");

/// All known models, by provider and model id.
///
/// ```
/// use lariat_model::catalogue::Catalogue;
///
/// let model = Catalogue::embedded().find("anthropic/claude-sonnet-4-5").unwrap();
/// assert!(model.reasoning && model.config().cost.is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    providers: BTreeMap<String, Provider>,
}

/// The catalogue is not a JSON object.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the model catalogue: {0}")]
pub struct CatalogueError(#[from] serde_json::Error);

impl Catalogue {
    /// Returns the snapshot embedded in the program, which is parsed once.
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Catalogue> = OnceLock::new();
        // A test parses the snapshot. If it were damaged anyway, every model would be unknown, which is not
        // fatal.
        EMBEDDED.get_or_init(|| Self::from_json(SNAPSHOT).unwrap_or_default())
    }

    /// Reads a catalogue in the format of models.dev.
    ///
    /// # Errors
    /// Returns an error if `json` is not a JSON object.
    pub fn from_json(json: &str) -> Result<Self, CatalogueError> {
        Self::default().with_override(json)
    }

    /// Merges another catalogue into this one. Where both have a field of a model, the field of `json` wins;
    /// models and providers that only `json` has are added.
    ///
    /// # Errors
    /// Returns an error if `json` is not a JSON object.
    pub fn with_override(mut self, json: &str) -> Result<Self, CatalogueError> {
        let entries: BTreeMap<String, serde_json::Value> = serde_json::from_str(json)?;
        for (id, entry) in entries {
            // The header, and whatever a newer format adds, is not a provider.
            let Some(entry) = ProviderEntry::of(entry).filter(|_| provider::is_built(&id)) else { continue };
            self.providers.entry(id.clone()).or_insert_with(|| Provider::new(&id)).apply(entry);
        }
        Ok(self)
    }

    /// All models, ordered by provider and id.
    pub fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.providers.values().flat_map(Provider::models)
    }

    /// The models of one provider; empty if the provider is unknown.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &ModelInfo> {
        self.providers.get(provider).into_iter().flat_map(Provider::models)
    }

    /// The ids of all providers, sorted.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
