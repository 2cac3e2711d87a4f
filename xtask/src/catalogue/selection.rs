//! Selects what goes into the snapshot, merges sources and writes the text.
//!
//! The snapshot has one model per line, so that a renewal can be reviewed.

use serde_json::{Map, Value};

/// Providers that the protocols support.
const PROVIDERS: &[&str] = &[
    "alibaba",
    "amazon-bedrock",
    "anthropic",
    "azure",
    "cerebras",
    "deepseek",
    "fireworks-ai",
    "google",
    "google-vertex",
    "groq",
    "minimax",
    "mistral",
    "moonshotai",
    "openai",
    "openrouter",
    "togetherai",
    "xai",
    "zai",
];
/// Fields of a model to keep.
const FIELDS: &[&str] = &["name", "reasoning", "tool_call", "release_date", "limit", "modalities", "cost"];
/// Parts of ids of short-lived models: OpenRouter's free and trial offers.
const SHORT_LIVED: &[&str] = &[":free", "-alpha", "-beta", "preview"];

/// Returns the providers of a file in the format of models.dev, with the models that can call tools.
pub(super) fn from_models_dev(file: &Map<String, Value>) -> Map<String, Value> {
    let mut providers = Map::new();
    for (id, provider) in file.iter().filter(|(id, _)| PROVIDERS.contains(&id.as_str())) {
        let Some(models) = provider.get("models").and_then(Value::as_object) else { continue };
        let wanted = |(model, fields): &(&String, &Value)| {
            let calls = fields.get("tool_call") == Some(&Value::Bool(true));
            let sized =
                fields.pointer("/limit/context").and_then(Value::as_u64).is_some_and(|tokens| tokens > 0);
            calls && sized && !(id == "openrouter" && SHORT_LIVED.iter().any(|part| model.contains(part)))
        };
        let selected =
            models.iter().filter(wanted).map(|(model, fields)| (model.clone(), keep_fields(fields)));
        let models = Value::Object(selected.collect());
        providers.insert(id.clone(), Value::Object(Map::from_iter([("models".to_owned(), models)])));
    }
    providers
}

fn keep_fields(fields: &Value) -> Value {
    let field = |name: &&str| Some(((*name).to_owned(), fields.get(*name)?.clone()));
    Value::Object(FIELDS.iter().filter_map(field).collect())
}

/// Merges a source: adds providers that are missing, and missing fields of models that exist.
pub(super) fn merge(providers: &mut Map<String, Value>, source: Map<String, Value>) {
    for (id, provider) in source {
        let Some(known) = providers.get_mut(&id) else {
            providers.insert(id, provider);
            continue;
        };
        let models = provider.get("models").and_then(Value::as_object).into_iter().flatten();
        for (model, fields) in models {
            let slot = known.get_mut("models").and_then(|models| models.get_mut(model)?.as_object_mut());
            let (Some(slot), Some(fields)) = (slot, fields.as_object()) else { continue };
            for (name, value) in fields {
                slot.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Writes the text of the snapshot.
pub(super) fn render(head: &Value, providers: &Map<String, Value>) -> String {
    let mut text = format!("{{\n\"_source\":{head}");
    for (id, provider) in providers {
        text.push_str(&format!(",\n{}:{{\"models\":{{", Value::from(id.as_str())));
        let models = provider.get("models").and_then(Value::as_object).into_iter().flatten();
        let lines: Vec<String> =
            models.map(|(model, fields)| format!("\n{}:{fields}", Value::from(model.as_str()))).collect();
        text.push_str(&lines.join(","));
        text.push_str("\n}}");
    }
    text.push_str("\n}\n");
    text
}
