//! Parses the models.dev format leniently.
//!
//! Every field is optional, so that an override can be a fragment. A field of the wrong type is treated as
//! missing.

use std::collections::BTreeMap;

use lariat_core::model::{ModelCost, PriceTier, UsdPerMillion};
use serde_json::{Map, Value};

/// What a catalogue says about a provider.
pub(super) struct ProviderEntry {
    pub(super) base_url: Option<String>,
    /// The provider's protocol. This field is Lariat's addition to the format.
    pub(super) protocol: Option<String>,
    pub(super) models: BTreeMap<String, ModelEntry>,
}

/// What a catalogue says about a model.
pub(super) struct ModelEntry {
    pub(super) name: Option<String>,
    pub(super) reasoning: Option<bool>,
    pub(super) tool_call: Option<bool>,
    pub(super) context: Option<u64>,
    pub(super) output: Option<u32>,
    pub(super) input_modalities: Option<Vec<String>>,
    pub(super) output_modalities: Option<Vec<String>>,
    pub(super) release_date: Option<String>,
    cost: Option<Map<String, Value>>,
}

impl ProviderEntry {
    /// Returns `None` if the value has no models and therefore is not a provider.
    pub(super) fn of(value: Value) -> Option<Self> {
        let Value::Object(mut fields) = value else { return None };
        let Some(Value::Object(models)) = fields.remove("models") else { return None };
        let models = models.into_iter().filter_map(|(id, model)| Some((id, ModelEntry::of(&model)?)));
        Some(Self {
            base_url: text(&fields, "api"),
            protocol: text(&fields, "protocol"),
            models: models.collect(),
        })
    }
}

impl ModelEntry {
    fn of(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let boolean = |name: &str| fields.get(name).and_then(Value::as_bool);
        let number = |path: &str| value.pointer(path).and_then(whole_number);
        let strings = |path: &str| {
            let list = value.pointer(path)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        Some(Self {
            name: text(fields, "name"),
            reasoning: boolean("reasoning"),
            tool_call: boolean("tool_call"),
            context: number("/limit/context").filter(|tokens| *tokens > 0),
            output: number("/limit/output")
                .and_then(|tokens| u32::try_from(tokens).ok())
                .filter(|tokens| *tokens > 0),
            input_modalities: strings("/modalities/input"),
            output_modalities: strings("/modalities/output"),
            release_date: text(fields, "release_date"),
            cost: fields.get("cost").and_then(Value::as_object).cloned(),
        })
    }

    /// Overwrites the prices in `cost` with those that this entry states.
    pub(super) fn apply_prices(&self, cost: &mut Option<ModelCost>) {
        let Some(given) = &self.cost else { return };
        let cost = cost.get_or_insert_default();
        set_prices(given, cost);
        for (field, tier) in given {
            let (Some(above), Some(prices)) = (threshold(field), tier.as_object()) else { continue };
            let known = cost.tier.take().filter(|tier| tier.above == above);
            let mut tier = known.unwrap_or_else(|| {
                let base = ModelCost { tier: None, ..cost.clone() };
                Box::new(PriceTier { above, cost: base })
            });
            set_prices(prices, &mut tier.cost);
            cost.tier = Some(tier);
        }
    }
}

fn set_prices(given: &Map<String, Value>, cost: &mut ModelCost) {
    let price = |name: &str| given.get(name).and_then(Value::as_f64).map(UsdPerMillion::from_usd);
    if let Some(price) = price("input") {
        cost.input = price;
    }
    if let Some(price) = price("output") {
        cost.output = price;
    }
    cost.cache_read = price("cache_read").or(cost.cache_read);
    cost.cache_write = price("cache_write").or(cost.cache_write);
}

/// Parses a tier's field name: `context_over_200k` means above 200,000 tokens.
fn threshold(field: &str) -> Option<u64> {
    let thousands: u64 = field.strip_prefix("context_over_")?.strip_suffix('k')?.parse().ok()?;
    thousands.checked_mul(1000)
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Parses a whole number, also in the form `1e6`.
fn whole_number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|number| (0.0..1e15).contains(number)).map(|number| number as u64))
}
