//! `ModelConfig::find`: a model's configuration by the name that people write.
//!
//! Owns the way from a name to a configuration with protocol, address, window and price. Adds no key.

use lariat_core::model::ModelConfig;

use super::Catalogue;

/// A name that the catalogue does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`{}", suggestion(.near))]
#[non_exhaustive]
pub struct UnknownModel {
    /// What was asked for.
    pub name: String,
    /// Names that are near to it, nearest first.
    pub near: Vec<String>,
}

fn suggestion(near: &[String]) -> String {
    near.first().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

mod sealed {
    /// Only [`ModelConfig`](lariat_core::model::ModelConfig) is found.
    pub trait Sealed {}
    impl Sealed for lariat_core::model::ModelConfig {}
}

/// Finds models in the catalogue that comes with this crate.
///
/// ```
/// use lariat_core::model::ModelConfig;
/// use lariat_model::catalogue::FindModel;
///
/// # fn main() -> Result<(), lariat_model::catalogue::UnknownModel> {
/// let model = ModelConfig::find("anthropic/claude-sonnet-4-5")?.with_api_key("…");
/// assert_eq!((model.api.as_str(), model.context_window), ("anthropic-messages", 200_000));
/// assert!(model.cost.is_some());
/// # Ok(())
/// # }
/// ```
pub trait FindModel: sealed::Sealed + Sized {
    /// The configuration of a model by its name, `provider/id` or an id alone: protocol, address, window, output limit
    /// and price. A key is yours to add.
    ///
    /// # Errors
    /// When the catalogue has no such model.
    fn find(name: &str) -> Result<Self, UnknownModel>;
}

impl FindModel for ModelConfig {
    fn find(name: &str) -> Result<Self, UnknownModel> {
        let catalogue = Catalogue::embedded();
        let found = catalogue.find(name).map(super::ModelInfo::config);
        found.ok_or_else(|| UnknownModel { name: name.to_owned(), near: catalogue.suggest(name) })
    }
}
