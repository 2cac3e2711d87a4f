//! Builds requests of Chat Completions.
//!
//! Decides the wire form of every message, including content that the provider has no field for. Only the
//! [`Dialect`] makes providers differ. Invariant: what is written for a message does not depend on later
//! messages, so that a conversation can be appended to.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::model::{CacheTtl, ModelConfig, ProviderError, StreamConfig, ToolChoice};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use super::dialect::{
    AfterTool, CacheHint, ChoiceSupport, ContentForm, Dialect, EmptyContent, MissingReasoning, OutputStyle,
    ReasoningField, SystemRole, TemperatureRule,
};
use super::validate::{self, RequestValidator};
use super::{schema, thinking};
use crate::wire::{Body, CallIds, Conversation, ItemWriter, is_own_reply};

/// Replaces a user message of which nothing can be sent.
pub(crate) const NO_CONTENT: &str = "(no content)";
/// Replaces a tool result of which nothing can be sent.
pub(crate) const NO_OUTPUT: &str = "(no output)";
/// Replaces an image if the provider accepts none.
pub(crate) const NO_IMAGE: &str = "(image omitted: this provider does not accept images)";
/// Asks for the rest of a paused reply, for providers that do not support pauses.
pub(crate) const CONTINUE: &str = "Continue.";
/// A reply inserted between a tool result and a user message, if the provider requires one.
const BRIDGE_REPLY: &str = "Noted.";

/// Builds the body of a request.
pub(super) fn body(request: &StreamConfig, dialect: &Dialect) -> Result<bytes::Bytes, ProviderError> {
    validate::head(request)?;
    let model = &request.model_config;
    let (cache_system, cache_tools, cache_messages) = match dialect.cache {
        CacheHint::Automatic => (false, false, false),
        CacheHint::CacheControl => request.cache_config.breakpoints(),
    };
    let cache_control = match request.cache_config.ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    };
    // The provider puts tools before the system prompt, so a mark on the prompt covers both.
    let system_mark = (cache_system || cache_tools).then_some(&cache_control);
    let system = system(request, dialect, system_mark);
    let key = format!(
        "openai-chat\n{}\n{}\n{}\n{}\n{}\n{}",
        model.provider,
        model.id,
        model.reasoning,
        model.base_url.is_empty(),
        model.compat,
        system.as_ref().map_or(&Value::Null, |system| system),
    );
    let mut body = Body::of(request, key, || MessageTranslator::new(Arc::clone(model), *dialect, system))?;
    body.conversation.validator.end()?;
    body.tools(&request.tools, |tools| tools_of(tools, dialect));
    let hidden = request.tool_choice == ToolChoice::None && dialect.tool_choice == ChoiceSupport::AutoOnly;
    let marks: Vec<usize> = if cache_messages { body.places("user").take(2).collect() } else { Vec::new() };
    let mark = format!(",\"cache_control\":{cache_control}");
    let head = head(request, dialect);
    Ok(body.finish(request, &head, (!hidden).then_some("tools"), "messages", (&mark, &marks)))
}

fn head(request: &StreamConfig, dialect: &Dialect) -> Map<String, Value> {
    let model = &request.model_config;
    let mut head = Map::new();
    let mut set = |name: &str, value: Value| {
        head.insert(name.to_owned(), value);
    };
    set("model", json!(model.id));
    set("stream", json!(true));
    if dialect.stream_usage {
        set("stream_options", json!({"include_usage": true}));
    }
    if let Some(limit) = request.output_limit() {
        set(dialect.max_tokens_field.as_str(), json!(limit));
    }
    let reasons = thinking::reasons(dialect, model);
    if let Some(temperature) = request.temperature
        && !(reasons && dialect.temperature == TemperatureRule::NotReasoning)
    {
        set("temperature", schema::temperature(temperature));
    }
    if !request.tools.is_empty() {
        if let Some(parallel) = dialect.parallel_tool_calls {
            set("parallel_tool_calls", json!(parallel));
        }
        if dialect.tool_choice == ChoiceSupport::All {
            match &request.tool_choice {
                ToolChoice::None => set("tool_choice", json!("none")),
                ToolChoice::Required => set("tool_choice", json!(dialect.required_choice.as_str())),
                ToolChoice::Tool(name) => {
                    set("tool_choice", json!({"type": "function", "function": {"name": name}}));
                }
                _ => {}
            }
        }
    }
    if let Some(output) = &request.output_schema {
        match dialect.output {
            OutputStyle::JsonSchema => {
                let mut format = json!({"name": output.name, "schema": output.schema});
                if schema::is_strict(&output.schema)
                    && let Some(format) = format.as_object_mut()
                {
                    format.insert("strict".to_owned(), json!(true));
                }
                set("response_format", json!({"type": "json_schema", "json_schema": format}));
            }
            OutputStyle::JsonObject => set("response_format", json!({"type": "json_object"})),
            OutputStyle::Prompt => {}
        }
    }
    for flag in dialect.flags.into_iter().flatten() {
        set(flag.as_str(), json!(true));
    }
    thinking::ask(dialect, model, request.thinking_level, &mut head);
    if let Some(Value::Object(extra)) = model.compat.get("extra_body") {
        head.extend(extra.clone());
    }
    head
}

fn system(request: &StreamConfig, dialect: &Dialect, mark: Option<&Value>) -> Option<Value> {
    let mut text = request.system_prompt.as_str().trim().to_owned();
    if let Some(output) = &request.output_schema
        && dialect.output != OutputStyle::JsonSchema
    {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&schema::instruction(&output.schema));
    }
    if text.is_empty() {
        return None;
    }
    let developer =
        dialect.system_role == SystemRole::Developer && thinking::reasons(dialect, &request.model_config);
    let role = if developer { "developer" } else { "system" };
    Some(match mark {
        Some(mark) => {
            json!({"role": role, "content": [{"type": "text", "text": text, "cache_control": mark}]})
        }
        None => json!({"role": role, "content": text}),
    })
}

fn tools_of(tools: &[ToolDefinition], dialect: &Dialect) -> Value {
    let tool = |tool: &ToolDefinition| {
        let parameters = schema::parameters(&tool.parameters);
        let mut function =
            json!({"name": tool.name, "description": tool.description, "parameters": parameters});
        if let (Some(strict), Some(function)) = (dialect.strict_tools, function.as_object_mut()) {
            function.insert("strict".to_owned(), json!(strict));
        }
        json!({"type": "function", "function": function})
    };
    tools.iter().map(tool).collect()
}

/// Translates messages and remembers what later messages depend on.
#[derive(Debug)]
pub(super) struct MessageTranslator {
    model: Arc<ModelConfig>,
    dialect: Dialect,
    ids: CallIds,
    validator: RequestValidator,
    /// The system prompt, until the first message is written.
    system: Option<Value>,
    /// Number of tool calls of the last reply that have no result yet.
    waiting: usize,
    /// Images of the results so far. They are sent after the last result.
    images: Vec<Value>,
    after_tool: bool,
}

impl MessageTranslator {
    fn new(model: Arc<ModelConfig>, dialect: Dialect, system: Option<Value>) -> Self {
        let rule = dialect.call_ids.rule();
        let (ids, validator) = (CallIds::new(rule), RequestValidator::new(rule));
        Self { model, dialect, ids, validator, system, waiting: 0, images: Vec::new(), after_tool: false }
    }

    fn item(&mut self, item: &Value, items: &mut ItemWriter) -> Result<(), ProviderError> {
        self.validator.item(item)?;
        items.item(item);
        self.after_tool = false;
        Ok(())
    }

    fn user(&mut self, parts: Vec<Value>, items: &mut ItemWriter) -> Result<(), ProviderError> {
        if self.after_tool && self.dialect.after_tool == AfterTool::Assistant {
            self.item(&json!({"role": "assistant", "content": BRIDGE_REPLY}), items)?;
        }
        self.after_tool = false;
        let texts: Option<Vec<&str>> = parts.iter().map(|part| part.get("text")?.as_str()).collect();
        if let (Some(texts), ContentForm::Text) = (texts, self.dialect.content) {
            return self.item(&json!({"role": "user", "content": texts.join("\n\n")}), items);
        }
        for part in parts {
            self.validator.user_part(&part)?;
            items.block("user", "content", &part);
        }
        Ok(())
    }

    fn parts(&self, content: &[Content]) -> Vec<Value> {
        content.iter().filter(|block| !block.is_empty()).filter_map(|block| self.part(block)).collect()
    }

    fn part(&self, block: &Content) -> Option<Value> {
        match block {
            Content::Text { text } => Some(text_part(text)),
            Content::Image { .. } if !self.dialect.images => Some(text_part(NO_IMAGE)),
            Content::Image { data, mime_type } => {
                let url = format!("data:{mime_type};base64,{data}");
                Some(json!({"type": "image_url", "image_url": {"url": url}}))
            }
            _ => None,
        }
    }

    fn reply(&mut self, reply: &AssistantMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let text =
            joined(reply.content.iter().filter(|block| !block.is_empty()).filter_map(Content::as_text));
        let call = |call: &Arc<lariat_core::content::ToolCall>| {
            json!({
                "id": self.ids.wire(&call.id),
                "type": "function",
                "function": {"name": schema::valid_name(&call.name), "arguments": call.arguments.to_string()},
            })
        };
        let calls: Vec<Value> = reply.tool_calls().map(call).collect();
        if text.is_empty() && calls.is_empty() {
            return self.ask_to_continue(reply, items);
        }
        let mut item = Map::new();
        item.insert("role".to_owned(), json!("assistant"));
        let content = match self.dialect.empty_content {
            _ if !text.is_empty() => json!(text),
            EmptyContent::Null => Value::Null,
            EmptyContent::Empty => json!(""),
        };
        item.insert("content".to_owned(), content);
        if let Some(field) = self.dialect.history_reasoning
            && let Some(reasoning) = self.reasoning(reply, field, !calls.is_empty())
        {
            item.insert(field.as_str().to_owned(), reasoning);
        }
        self.waiting = calls.len();
        if !calls.is_empty() {
            item.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        self.item(&Value::Object(item), items)?;
        self.ask_to_continue(reply, items)
    }

    /// Asks the model to continue after a paused reply, unless a later message already asks for something.
    fn ask_to_continue(
        &mut self,
        reply: &AssistantMessage,
        items: &mut ItemWriter,
    ) -> Result<(), ProviderError> {
        if reply.stop_reason != StopReason::Pause || self.waiting > 0 || !self.validator.ends_in_reply() {
            return Ok(());
        }
        self.user(vec![text_part(CONTINUE)], items)
    }

    fn reasoning(&self, reply: &AssistantMessage, field: ReasoningField, calls: bool) -> Option<Value> {
        let own = is_own_reply(reply, &self.model);
        let blocks = reply.content.iter().filter(|_| own).filter_map(|block| match block {
            Content::Thinking { thinking, signature } => Some((thinking.as_str(), signature.as_deref())),
            _ => None,
        });
        if field == ReasoningField::ReasoningDetails {
            let details = blocks.filter_map(|(_, signature)| serde_json::from_str(signature?).ok());
            let details: Vec<Value> = details.flat_map(|list: Vec<Value>| list).collect();
            return (!details.is_empty()).then_some(Value::Array(details));
        }
        let text = joined(blocks.map(|(thinking, _)| thinking).filter(|thinking| !thinking.is_empty()));
        let needs_placeholder =
            calls && self.model.reasoning && self.dialect.missing_reasoning == MissingReasoning::Empty;
        (!text.is_empty() || needs_placeholder).then(|| json!(text))
    }

    fn result(&mut self, result: &ToolResultMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let id = self.ids.wire(&result.tool_call_id);
        let (texts, images): (Vec<Value>, Vec<Value>) =
            self.parts(&result.content).into_iter().partition(|part| part.get("text").is_some());
        let texts = texts.iter().filter_map(|part| part.get("text")?.as_str());
        let mut text = joined(texts);
        if text.is_empty() {
            text = if images.is_empty() { NO_OUTPUT } else { "(an image, see below)" }.to_owned();
        }
        if !images.is_empty() {
            let name = &result.tool_name;
            self.images.push(text_part(&format!("From the result of `{name}` (call {id}):")));
            self.images.extend(images);
        }
        self.waiting = self.waiting.saturating_sub(1);
        if self.dialect.cache == CacheHint::CacheControl && self.waiting == 0 {
            let item = json!({"content": [text_part(&text)], "role": "tool", "tool_call_id": id});
            self.validator.item(&item)?;
            // The mark goes before the closing brace of the only part.
            let after_part = format!("}}],\"role\":\"tool\",\"tool_call_id\":\"{id}\"}}").len();
            items.marked_item("user", &item, after_part);
        } else {
            self.item(&json!({"role": "tool", "tool_call_id": id, "content": text}), items)?;
        }
        self.after_tool = true;
        if self.waiting == 0 && !self.images.is_empty() {
            let images = std::mem::take(&mut self.images);
            self.user(images, items)?;
        }
        Ok(())
    }
}

impl Conversation for MessageTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        if let Some(system) = self.system.take() {
            self.item(&system, items)?;
        }
        match message {
            Message::User(user) => {
                let mut parts = self.parts(&user.content);
                if parts.is_empty() {
                    parts.push(text_part(NO_CONTENT));
                }
                self.user(parts, items)
            }
            Message::Assistant(reply) => self.reply(reply, items),
            Message::ToolResult(result) => self.result(result, items),
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
