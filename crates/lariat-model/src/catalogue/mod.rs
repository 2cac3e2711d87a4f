//! Which models there are, what they can do and what they cost: the models.dev catalogue, offline.
//!
//! A snapshot is part of the program ([`Catalogue::embedded`]; `cargo xtask catalogue` renews it), and a person's own
//! file can correct or extend it field by field ([`Catalogue::with_override`]). Owns reading, merging and finding; does
//! not reach the network and decides nothing about requests.
//! Invariant: an entry that cannot be read is left out, and never takes others with it.

mod distance;
mod entry;
mod find;
mod info;
mod lookup;
mod provider;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use find::{FindModel, UnknownModel};
pub use info::ModelInfo;

use entry::ProviderEntry;
use provider::Provider;

/// The snapshot, in the format of models.dev.
const SNAPSHOT: &str = include_str!("snapshot.json");

/// Models by service and id.
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

/// A catalogue that is not JSON, or no object.
#[derive(Debug, thiserror::Error)]
#[error("the catalogue of models cannot be read: {0}")]
pub struct Unreadable(#[from] serde_json::Error);

impl Catalogue {
    /// The snapshot that came with the program. Read once.
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Catalogue> = OnceLock::new();
        // A test reads the snapshot; should it ever be damaged, models are unknown, which is not fatal.
        EMBEDDED.get_or_init(|| Self::from_json(SNAPSHOT).unwrap_or_default())
    }

    /// Reads a catalogue in the format of models.dev.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn from_json(json: &str) -> Result<Self, Unreadable> {
        Self::default().with_override(json)
    }

    /// The same catalogue with another on top. What the other says of a model wins, field by field; models and services
    /// that only it has are added.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn with_override(mut self, json: &str) -> Result<Self, Unreadable> {
        let entries: BTreeMap<String, serde_json::Value> = serde_json::from_str(json)?;
        for (id, entry) in entries {
            // The header and whatever a newer format adds are no services.
            let Some(entry) = ProviderEntry::of(entry) else { continue };
            self.providers.entry(id.clone()).or_insert_with(|| Provider::new(&id)).take(entry);
        }
        Ok(self)
    }

    /// All models, by service and id.
    pub fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.providers.values().flat_map(Provider::models)
    }

    /// The models of a service.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &ModelInfo> {
        self.providers.get(provider).into_iter().flat_map(Provider::models)
    }

    /// The services.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
