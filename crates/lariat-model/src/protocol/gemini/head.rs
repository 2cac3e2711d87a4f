//! Builds the fields of a request besides the conversation: system instruction, tools and generation
//! settings.
//!
//! Caching is automatic at this provider, so it gets no cache hints. Invariant: nothing is sent that the
//! model's generation rejects. A schema that the model cannot accept together with tools becomes part of the
//! instruction.

use lariat_core::model::{OutputSchema, ProviderError, StreamConfig, ToolChoice};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use super::generation::{Era, ModelTraits, Sampling};
use super::validate::{is_function_name, rejection};

/// Returns all fields of the request except `contents` and `tools`.
pub(super) fn fields(
    request: &StreamConfig,
    traits: &ModelTraits,
) -> Result<Map<String, Value>, ProviderError> {
    let mut head = Map::new();
    let mut instruction = request.system_prompt.as_str().trim().to_owned();
    let mut config = Map::new();
    if let Some(schema) = &request.output_schema {
        // Before Gemini 3: "Function calling with a response mime type: 'application/json' is unsupported" (400).
        if traits.era == Era::Early && !request.tools.is_empty() {
            instruction.push_str(&schema_instruction(schema));
        } else {
            config.insert("responseMimeType".to_owned(), "application/json".into());
            config.insert("responseJsonSchema".to_owned(), schema.schema.clone());
        }
    }
    if !instruction.trim().is_empty() {
        head.insert("systemInstruction".to_owned(), json!({"parts": [{"text": instruction.trim_start()}]}));
    }
    if let Some(limit) = request.output_limit() {
        if limit == 0 {
            return Err(rejection("the output limit is 0 tokens"));
        }
        config.insert("maxOutputTokens".to_owned(), limit.into());
    }
    if let Some(temperature) = request.temperature.filter(|_| traits.sampling == Sampling::Free) {
        config.insert("temperature".to_owned(), decimal(temperature)?);
    }
    if let Some(thinking) = traits.thinking(request.thinking_level) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if !config.is_empty() {
        head.insert("generationConfig".to_owned(), Value::Object(config));
    }
    if !request.tools.is_empty()
        && let Some(calling) = calling(&request.tool_choice, &request.tools)?
    {
        head.insert("toolConfig".to_owned(), json!({"functionCallingConfig": calling}));
    }
    check_tools(&request.tools)?;
    Ok(head)
}

/// Returns the tools' declarations.
pub(super) fn tools(tools: &[ToolDefinition]) -> Value {
    let declaration = |tool: &ToolDefinition| {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), tool.name.as_str().into());
        fields.insert("description".to_owned(), tool.description.as_str().into());
        if takes_arguments(&tool.parameters) {
            fields.insert("parametersJsonSchema".to_owned(), tool.parameters.clone());
        }
        Value::Object(fields)
    };
    json!([{"functionDeclarations": tools.iter().map(declaration).collect::<Vec<_>>()}])
}

/// Whether to send a schema. Functions without parameters get none, because some models reject an object
/// without properties.
fn takes_arguments(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    let properties = fields.get("properties").and_then(Value::as_object);
    let other =
        |key: &str| !matches!(key, "type" | "properties" | "required" | "additionalProperties" | "$schema");
    properties.is_some_and(|properties| !properties.is_empty()) || fields.keys().any(|key| other(key))
}

fn calling(choice: &ToolChoice, tools: &[ToolDefinition]) -> Result<Option<Value>, ProviderError> {
    Ok(match choice {
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Tool(name) => {
            if !tools.iter().any(|tool| tool.name == *name) {
                return Err(rejection(&format!("tool choice `{name}` is not one of the tools")));
            }
            Some(json!({"mode": "ANY", "allowedFunctionNames": [name]}))
        }
        // `Auto` is the provider's default.
        _ => None,
    })
}

fn check_tools(tools: &[ToolDefinition]) -> Result<(), ProviderError> {
    for (at, tool) in tools.iter().enumerate() {
        if !is_function_name(&tool.name) {
            return Err(rejection(&format!("invalid tool name `{}`", tool.name)));
        }
        if tools.iter().take(at).any(|earlier| earlier.name == tool.name) {
            return Err(rejection(&format!("two tools have the name `{}`", tool.name)));
        }
    }
    Ok(())
}

/// A temperature with the digits as written: 0.7, not 0.699999988079071.
fn decimal(temperature: f32) -> Result<Value, ProviderError> {
    if !(0.0..=2.0).contains(&temperature) {
        return Err(rejection(&format!("the temperature {temperature} is not between 0 and 2")));
    }
    Ok(temperature.to_string().parse::<f64>().unwrap_or_else(|_| f64::from(temperature)).into())
}

fn schema_instruction(schema: &OutputSchema) -> String {
    format!(
        "\n\nWhen you give your final answer, reply with JSON only, without a code fence, that satisfies this JSON \
         schema:\n{}",
        schema.schema
    )
}
