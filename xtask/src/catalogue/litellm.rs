//! Converts LiteLLM's price list to the format of models.dev.
//!
//! Maps its provider names to ours and keeps the chat models that can call tools. Prices are per token there
//! and per million tokens here.

use serde_json::{Map, Value, json};

/// LiteLLM's name of a provider, our name, and the prefix of its keys.
const PROVIDER_NAMES: &[(&str, &str, &str)] = &[
    ("anthropic", "anthropic", ""),
    ("openai", "openai", ""),
    ("gemini", "google", "gemini/"),
    ("vertex_ai-language-models", "google-vertex", "vertex_ai/"),
    ("bedrock_converse", "amazon-bedrock", ""),
    ("azure", "azure", "azure/"),
    ("xai", "xai", "xai/"),
    ("groq", "groq", "groq/"),
    ("cerebras", "cerebras", "cerebras/"),
    ("mistral", "mistral", "mistral/"),
    ("deepseek", "deepseek", "deepseek/"),
    ("together_ai", "togetherai", "together_ai/"),
    ("fireworks_ai", "fireworks-ai", "fireworks_ai/"),
    ("moonshot", "moonshotai", "moonshot/"),
    ("zai", "zai", "zai/"),
    ("minimax", "minimax", "minimax/"),
    ("dashscope", "alibaba", "dashscope/"),
];
/// Providers whose ids contain no slash. With a slash, they are regions or routes of LiteLLM's own.
const WITHOUT_SLASH: &[&str] =
    &["anthropic", "openai", "google", "google-vertex", "amazon-bedrock", "azure", "deepseek"];
/// Parts of ids of models that are not for chat.
const NOT_CHAT: &[&str] = &[
    "audio",
    "realtime",
    "tts",
    "-live",
    "live-",
    "image",
    "robotics",
    "transcribe",
    "deep-research",
    "search",
];
/// Amazon's regions. A regional id with the same price is omitted, because lookups find it by the id without
/// the region.
const REGIONS: &[&str] = &["us.", "eu.", "apac.", "au.", "jp.", "global.", "us-gov."];

/// Whether a file has LiteLLM's format.
pub(super) fn is(file: &Map<String, Value>) -> bool {
    file.values().any(|entry| entry.get("litellm_provider").is_some())
}

/// Returns the providers and their models.
pub(super) fn providers(file: &Map<String, Value>, date: &str) -> Map<String, Value> {
    let mut providers: Map<String, Value> = Map::new();
    for (key, entry) in file {
        let service = entry.get("litellm_provider").and_then(Value::as_str);
        let Some((_, provider, prefix)) = PROVIDER_NAMES.iter().find(|(name, _, _)| Some(*name) == service)
        else {
            continue;
        };
        let id = key.strip_prefix(prefix).unwrap_or(key);
        if !is_wanted(provider, id, entry, date) {
            continue;
        }
        let Some(model) = model(entry) else { continue };
        let slot = providers.entry(*provider).or_insert_with(|| json!({"models": {}}));
        if let Some(models) = slot.get_mut("models").and_then(Value::as_object_mut) {
            models.insert(id.to_owned(), model);
        }
    }
    if let Some(models) =
        providers.get_mut("amazon-bedrock").and_then(|slot| slot.get_mut("models")?.as_object_mut())
    {
        drop_regions(models);
    }
    providers
}

fn is_wanted(provider: &str, id: &str, entry: &Value, date: &str) -> bool {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let chats = matches!(text("mode"), "chat" | "responses");
    let calls = entry.get("supports_function_calling") == Some(&Value::Bool(true));
    let retired = text("deprecation_date");
    let lives = retired.is_empty() || retired > date;
    let fine_tuned = id.starts_with("ft:");
    let routed = WITHOUT_SLASH.contains(&provider) && id.contains('/');
    let short = provider == "fireworks-ai" && !id.starts_with("accounts/");
    chats
        && calls
        && lives
        && !fine_tuned
        && !routed
        && !short
        && !NOT_CHAT.iter().any(|part| id.contains(part))
}

fn model(entry: &Value) -> Option<Value> {
    let number = |name: &str| entry.get(name).and_then(Value::as_f64).filter(|number| *number > 0.0);
    let truth = |name: &str| entry.get(name) == Some(&Value::Bool(true));
    let context = number("max_input_tokens").or_else(|| number("max_tokens"))? as u64;
    let mut limit = Map::from_iter([("context".to_owned(), json!(context))]);
    if let Some(output) = number("max_output_tokens") {
        limit.insert("output".to_owned(), json!(output as u64));
    }
    let kinds =
        [("supports_vision", "image"), ("supports_pdf_input", "pdf"), ("supports_audio_input", "audio")];
    let mut input = vec!["text"];
    input.extend(kinds.iter().filter(|(field, _)| truth(field)).map(|(_, kind)| *kind));
    let mut fields = Map::new();
    fields.insert("reasoning".to_owned(), json!(truth("supports_reasoning")));
    fields.insert("tool_call".to_owned(), json!(true));
    fields.insert("limit".to_owned(), Value::Object(limit));
    fields.insert("modalities".to_owned(), json!({"input": input, "output": ["text"]}));
    if let Some(cost) = cost(entry) {
        fields.insert("cost".to_owned(), Value::Object(cost));
    }
    Some(Value::Object(fields))
}

fn cost(entry: &Value) -> Option<Map<String, Value>> {
    let mut cost = prices(entry, "");
    if !(cost.contains_key("input") && cost.contains_key("output")) {
        return None;
    }
    // `input_cost_per_token_above_200k_tokens`; if there are several sizes, the smallest.
    let size = |field: &String| -> Option<u64> {
        field.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?.parse().ok()
    };
    if let Some(thousands) = entry.as_object()?.keys().filter_map(size).min() {
        let tier = prices(entry, &format!("_above_{thousands}k_tokens"));
        cost.insert(format!("context_over_{thousands}k"), Value::Object(tier));
    }
    Some(cost)
}

fn prices(entry: &Value, suffix: &str) -> Map<String, Value> {
    const FIELDS: [(&str, &str); 4] = [
        ("input", "input_cost_per_token"),
        ("output", "output_cost_per_token"),
        ("cache_read", "cache_read_input_token_cost"),
        ("cache_write", "cache_creation_input_token_cost"),
    ];
    let price = |(ours, theirs): &(&str, &str)| {
        let per_token = entry.get(format!("{theirs}{suffix}"))?.as_f64()?;
        // Rounded to a millionth of a dollar, because smaller digits come from binary fractions.
        let per_million = (per_token * 1e12).round() / 1e6;
        Some(((*ours).to_owned(), json!(per_million)))
    };
    FIELDS.iter().filter_map(price).collect()
}

fn drop_regions(models: &mut Map<String, Value>) {
    let all = models.clone();
    models.retain(|id, model| {
        let bare = REGIONS.iter().find_map(|region| id.strip_prefix(region));
        bare.and_then(|bare| all.get(bare)).is_none_or(|same| same.get("cost") != model.get("cost"))
    });
}
