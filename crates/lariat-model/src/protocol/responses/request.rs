//! Builds requests of OpenAI Responses, for OpenAI and Azure alike.
//!
//! The provider stores nothing (`store: false`), so reasoning is part of the conversation: encrypted, as
//! complete items, unchanged. Invariant: a reasoning item is followed by what the model wrote or called after
//! it.

use std::collections::HashSet;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig, ToolChoice};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use super::thinking;
use super::validate::RequestValidator;
use super::{PHASE_BLOCK, is_provider_item};
use crate::protocol::chat::dialect::Efforts;
use crate::protocol::chat::request::{CONTINUE, NO_CONTENT, NO_OUTPUT};
use crate::protocol::chat::{schema, validate};
use crate::wire::{Body, CallIds, Conversation, IdRule, ItemWriter, is_own_reply};

/// The smallest output limit that the provider accepts ("integer below minimum value").
const MIN_OUTPUT_LIMIT: u32 = 16;

/// Builds the body of a request. `api` distinguishes the protocols that share this code.
pub(super) fn body(request: &StreamConfig, api: &str) -> Result<bytes::Bytes, ProviderError> {
    validate::head(request)?;
    let model = &request.model_config;
    let key = format!("{api}\n{}\n{}", model.provider, model.id);
    let mut body = Body::of(request, key, || MessageTranslator::new(Arc::clone(model)))?;
    body.conversation.validator.end()?;
    body.tools(&request.tools, tools_of);
    let head = head(request)?;
    Ok(body.finish(request, &head, Some("tools"), "input", ("", &[])))
}

fn head(request: &StreamConfig) -> Result<Map<String, Value>, ProviderError> {
    let model = &request.model_config;
    let generation = thinking::of(model);
    let mut head = Map::new();
    let mut set = |name: &str, value: Value| {
        head.insert(name.to_owned(), value);
    };
    set("model", json!(model.id));
    set("stream", json!(true));
    set("store", json!(false));
    let instructions = request.system_prompt.as_str().trim();
    if !instructions.is_empty() {
        set("instructions", json!(instructions));
    }
    if let Some(limit) = request.output_limit() {
        set("max_output_tokens", json!(limit.max(MIN_OUTPUT_LIMIT)));
    }
    if generation.reasons {
        // For models that do not reason, the provider rejects both: "Encrypted content is not supported with
        // this model".
        set("include", json!(["reasoning.encrypted_content"]));
        let efforts = efforts(model)?.unwrap_or(generation.efforts);
        let mut reasoning = Map::new();
        if let Some(effort) = efforts.of(request.thinking_level) {
            reasoning.insert("effort".to_owned(), json!(effort.as_str()));
        }
        match model.compat.get("reasoning_summary") {
            None => drop(reasoning.insert("summary".to_owned(), json!("auto"))),
            Some(Value::Null) => {}
            Some(summary) => drop(reasoning.insert("summary".to_owned(), summary.clone())),
        }
        set("reasoning", Value::Object(reasoning));
    } else if let Some(temperature) = request.temperature {
        set("temperature", schema::temperature(temperature));
    }
    if !request.tools.is_empty() {
        match &request.tool_choice {
            ToolChoice::None => set("tool_choice", json!("none")),
            ToolChoice::Required => set("tool_choice", json!("required")),
            ToolChoice::Tool(name) => set("tool_choice", json!({"type": "function", "name": name})),
            _ => {}
        }
    }
    if let Some(output) = &request.output_schema {
        let strict = schema::is_strict(&output.schema);
        let (name, schema) = (&output.name, &output.schema);
        let format = json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict});
        set("text", json!({"format": format}));
    }
    if let Some(Value::Object(extra)) = model.compat.get("extra_body") {
        head.extend(extra.clone());
    }
    Ok(head)
}

/// Returns the level names in a model's `compat`.
fn efforts(model: &ModelConfig) -> Result<Option<Efforts>, ProviderError> {
    let Some(efforts) = model.compat.get("efforts") else { return Ok(None) };
    serde_json::from_value(efforts.clone()).map_err(|error| {
        ProviderError::Other(format!("invalid `compat` of model `{}`: {error}", model.id).into())
    })
}

fn tools_of(tools: &[ToolDefinition]) -> Value {
    let tool = |tool: &ToolDefinition| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": schema::parameters(&tool.parameters),
            "strict": false,
        })
    };
    tools.iter().map(tool).collect()
}

/// Translates messages and remembers what later messages depend on.
#[derive(Debug)]
pub(super) struct MessageTranslator {
    model: Arc<ModelConfig>,
    ids: CallIds,
    validator: RequestValidator,
    /// Ids of the items sent so far, because the provider rejects duplicates.
    items: HashSet<String>,
}

impl MessageTranslator {
    fn new(model: Arc<ModelConfig>) -> Self {
        Self {
            model,
            ids: CallIds::new(IdRule::COMMON),
            validator: RequestValidator::default(),
            items: HashSet::new(),
        }
    }

    fn item(&mut self, item: &Value, items: &mut ItemWriter) -> Result<(), ProviderError> {
        self.validator.item(item)?;
        items.item(item);
        Ok(())
    }

    fn user(&mut self, parts: &[Value], items: &mut ItemWriter) -> Result<(), ProviderError> {
        for part in parts {
            self.validator.user_part(part)?;
            items.block("user", "content", part);
        }
        Ok(())
    }

    fn reply(&mut self, reply: &AssistantMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let own = is_own_reply(reply, &self.model);
        let mut phase = None;
        // Reasoning waits for the following item, because on its own it is rejected ("without its required
        // following item").
        let mut reasoning: Vec<Value> = Vec::new();
        for block in reply.content.iter().filter(|block| !block.is_empty()) {
            let item = match block {
                Content::Thinking { signature: Some(signature), .. } if own => {
                    reasoning.extend(self.reasoning(signature));
                    continue;
                }
                Content::Unknown(fields) if own => match unknown(fields) {
                    UnknownBlock::Phase(word) => {
                        phase = Some(word);
                        continue;
                    }
                    UnknownBlock::Item => Value::Object(fields.clone()),
                    UnknownBlock::Omitted => continue,
                },
                Content::Text { text } => message(text, phase.take()),
                Content::ToolCall(call) => json!({
                    "type": "function_call",
                    "call_id": self.ids.wire(&call.id),
                    "name": schema::valid_name(&call.name),
                    "arguments": call.arguments.to_string(),
                }),
                _ => continue,
            };
            if !self.is_new(&item) {
                continue;
            }
            for thought in reasoning.drain(..) {
                self.item(&thought, items)?;
            }
            self.item(&item, items)?;
        }
        let paused = reply.stop_reason == StopReason::Pause && reply.tool_calls().next().is_none();
        // This reply may have been omitted after one that was not.
        if paused && self.validator.ends_in_reply() {
            self.user(&[text_part(CONTINUE)], items)?;
        }
        Ok(())
    }

    /// Returns a reasoning item unchanged, if it can go back. Reasoning that is neither encrypted nor
    /// readable is only known to a provider that stored it ("Item 'rs_…' not found").
    fn reasoning(&mut self, signature: &str) -> Option<Value> {
        let item: Value = serde_json::from_str(signature).ok()?;
        let encrypted =
            item.get("encrypted_content").and_then(Value::as_str).is_some_and(|data| !data.is_empty());
        let open = item.get("content").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
        let is_reasoning = item.get("type").is_some_and(|kind| kind == "reasoning");
        (is_reasoning && (encrypted || open) && self.is_new(&item)).then_some(item)
    }

    fn is_new(&mut self, item: &Value) -> bool {
        let id = item.get("id").and_then(Value::as_str);
        id.is_none_or(|id| self.items.insert(id.to_owned()))
    }

    fn result(&mut self, result: &ToolResultMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let parts = parts(&result.content);
        let texts: Option<Vec<&str>> = parts.iter().map(|part| part.get("text")?.as_str()).collect();
        let output = match texts {
            Some(texts) if texts.is_empty() => json!(NO_OUTPUT),
            Some(texts) => json!(texts.join("\n\n")),
            None => Value::Array(parts),
        };
        let id = self.ids.wire(&result.tool_call_id);
        self.item(&json!({"type": "function_call_output", "call_id": id, "output": output}), items)
    }
}

impl Conversation for MessageTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        match message {
            Message::User(user) => {
                let mut parts = parts(&user.content);
                if parts.is_empty() {
                    parts.push(text_part(NO_CONTENT));
                }
                self.user(&parts, items)
            }
            Message::Assistant(reply) => self.reply(reply, items),
            Message::ToolResult(result) => self.result(result, items),
        }
    }
}

/// How to send a block that only this protocol uses.
enum UnknownBlock<'a> {
    /// It is the phase of the following text.
    Phase(&'a str),
    /// It goes back as an item.
    Item,
    /// It does not go back.
    Omitted,
}

fn unknown(fields: &Map<String, Value>) -> UnknownBlock<'_> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    match (text("type"), text("phase")) {
        (Some(PHASE_BLOCK), Some(phase)) => UnknownBlock::Phase(phase),
        (Some(kind), _) if is_provider_item(kind) => UnknownBlock::Item,
        _ => UnknownBlock::Omitted,
    }
}

fn message(text: &str, phase: Option<&str>) -> Value {
    let mut item = json!({
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    });
    if let (Some(phase), Some(fields)) = (phase, item.as_object_mut()) {
        fields.insert("phase".to_owned(), json!(phase));
    }
    item
}

fn parts(content: &[Content]) -> Vec<Value> {
    let part = |block: &Content| match block {
        Content::Text { text } => Some(text_part(text)),
        Content::Image { data, mime_type } => Some(json!({
            "type": "input_image",
            "image_url": format!("data:{mime_type};base64,{data}"),
            "detail": "auto",
        })),
        _ => None,
    };
    content.iter().filter(|block| !block.is_empty()).filter_map(part).collect()
}

fn text_part(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
