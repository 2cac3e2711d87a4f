//! Implements `ModelConfig::find`, which looks up a model's configuration by the name that users write.
//!
//! The configuration has the protocol, address, context window and price, but no key.

use lariat_core::model::ModelConfig;

use super::Catalogue;

/// The catalogue has no model of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`{}", suggestion(.near))]
#[non_exhaustive]
pub struct UnknownModel {
    /// The name that was looked up.
    pub name: String,
    /// Similar names in the catalogue, most similar first.
    pub near: Vec<String>,
}

fn suggestion(near: &[String]) -> String {
    near.first().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

mod sealed {
    /// Restricts [`FindModel`](super::FindModel) to [`ModelConfig`](lariat_core::model::ModelConfig).
    pub trait ModelSource {}
    impl ModelSource for lariat_core::model::ModelConfig {}
}

/// Finds models in the catalogue embedded in this crate.
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
pub trait FindModel: sealed::ModelSource + Sized {
    /// Returns the configuration of the model called `name`, which is `provider/id` or an id alone: protocol,
    /// address, context window, output limit and price. Add a key with `with_api_key`.
    ///
    /// # Errors
    /// Returns an error if the catalogue has no such model.
    fn find(name: &str) -> Result<Self, UnknownModel>;
}

impl FindModel for ModelConfig {
    fn find(name: &str) -> Result<Self, UnknownModel> {
        let catalogue = Catalogue::embedded();
        let found = catalogue.find(name).map(super::ModelInfo::config);
        found.ok_or_else(|| UnknownModel { name: name.to_owned(), near: catalogue.suggest(name) })
    }
}
