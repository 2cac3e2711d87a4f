//! Validates requests like Gemini, at Google AI and at Vertex. The contents and tools have their own modules.
//!
//! Invariant: a name that is neither in the camel case nor in the snake case of the API is an unknown name.

mod contents;
mod tools;

use serde_json::Value;

use super::problem::{Problem, Problems};
use crate::server::camel::camel;
use crate::server::{Wire, json};

const FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "generationConfig",
    "safetySettings",
    "serviceTier",
    "systemInstruction",
    "toolConfig",
    "tools",
];

/// Fields that only one of the two accepts.
const GEMINI_ONLY: &[&str] = &["store", "model"];
const VERTEX_ONLY: &[&str] = &["labels", "modelArmorConfig"];

const CONFIG: &[&str] = &[
    "audioTimestamp",
    "candidateCount",
    "enableAffectiveDialog",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseFormat",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "routingConfig",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

pub(super) fn problems(wire: Wire, model: &str, body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    let body = &*camel(body);
    let own = if wire == Wire::Vertex { VERTEX_ONLY } else { GEMINI_ONLY };
    for name in json::unknown(body, FIELDS).filter(|name| !own.contains(name)) {
        found.whole(unknown_name(name, ""));
    }
    if let Some(instruction) = body.get("systemInstruction") {
        let parts = json::list(instruction, "parts");
        if parts.is_empty()
            || !parts.iter().all(|part| json::text(part, "text").is_some_and(|text| !text.is_empty()))
        {
            found.at(
                format_args!("systemInstruction"),
                "system instruction must consist of text parts that are not empty",
            );
        }
    }
    config(&mut found, model, body);
    tools::check(&mut found, body);
    contents::check(&mut found, wire, model, body);
    found.0
}

fn unknown_name(name: &str, place: &str) -> String {
    let at = if place.is_empty() { String::new() } else { format!(" at '{place}'") };
    format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field.")
}

/// Whether the model belongs to the generation that signs its function calls and has thinking levels.
fn is_third(model: &str) -> bool {
    model.contains("gemini-3")
}

fn config(found: &mut Problems, model: &str, body: &Value) {
    let Some(config) = body.get("generationConfig") else { return };
    for name in json::unknown(config, CONFIG) {
        found.whole(unknown_name(name, "generation_config"));
    }
    if json::has(config, "maxOutputTokens")
        && config.get("maxOutputTokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0)
    {
        found.at(format_args!("generationConfig.maxOutputTokens"), "max_output_tokens must be positive.");
    }
    let schemas =
        ["responseSchema", "responseJsonSchema"].iter().filter(|name| json::has(config, name)).count();
    if schemas > 1 {
        let message = "Only one of response_schema and response_json_schema may be set.";
        found.at(format_args!("generationConfig.responseJsonSchema"), message);
    }
    let mime = json::text(config, "responseMimeType");
    if schemas > 0 && mime != Some("application/json") {
        let message = "response_mime_type must be application/json when a response schema is set.";
        found.at(format_args!("generationConfig.responseMimeType"), message);
    }
    if mime == Some("application/json") && !tools::declarations(body).is_empty() && !is_third(model) {
        found.whole("Function calling with a response mime type: 'application/json' is unsupported");
    }
    thinking(found, model, config);
}

fn thinking(found: &mut Problems, model: &str, config: &Value) {
    let Some(thinking) = config.get("thinkingConfig") else { return };
    for name in json::unknown(thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"]) {
        found.whole(unknown_name(name, "generation_config.thinking_config"));
    }
    let (budget, level) =
        (thinking.get("thinkingBudget").and_then(Value::as_i64), json::text(thinking, "thinkingLevel"));
    if budget.is_some() && level.is_some() {
        found.whole("You can only set only one of thinking budget and thinking level.");
    }
    if level.is_some() && !is_third(model) {
        found.whole("Thinking level is not supported for this model.");
    }
    if level.is_some_and(|level| {
        !["minimal", "low", "medium", "high"].contains(&level.to_ascii_lowercase().as_str())
    }) {
        found.at(format_args!("generationConfig.thinkingConfig.thinkingLevel"), "Invalid value");
    }
    if model.contains("2.0") || model.contains("1.5") {
        found.whole("Thinking is not supported for this model.");
    }
    // -1 lets the model decide.
    let range = if model.contains("2.5-pro") { 128..=32_768 } else { 0..=32_768 };
    if let Some(budget) = budget
        && budget != -1
        && !range.contains(&budget)
    {
        let message = match budget {
            0 => "Budget 0 is invalid. This model only works in thinking mode.".to_owned(),
            _ => format!(
                "The thinking budget {budget} is invalid. Please choose a value between {} and {}.",
                range.start(),
                range.end()
            ),
        };
        found.whole(message);
    }
}
