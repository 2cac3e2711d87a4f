//! Builds requests in the format of Converse.
//!
//! Replies of the requested model go back exactly as received; of other models' replies only text and tool
//! calls go back. Roles must alternate, so consecutive messages of one role become one item. Invariant: what
//! is appended for a message never depends on later messages.

use std::collections::BTreeSet;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::model::{CacheTtl, ModelConfig, ProviderError, StreamConfig, ToolChoice};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use super::address;
use super::validate::{self, IMAGES, OPAQUE, RequestValidator};
use crate::protocol::anthropic::request::{covers_tools, input_schema, valid_name};
use crate::protocol::anthropic::thinking::{self, ClaudeProvider, ConversationEnd, ThinkingPlan};
use crate::wire::{Body, CallIds, Conversation, IdRule, ItemWriter, OutgoingRequest, is_own_reply};

/// Output limit of Claude models if neither the request nor the model sets one.
const MAX_TOKENS: u32 = 8192;
/// Number of user items that get a cache point: the newest writes the cache, the one before it reads it.
const MARKED_ITEMS: usize = 2;

/// Replaces the content of a message that has none this provider can read.
const UNREADABLE_CONTENT: &str = "(content that this model cannot read)";
/// Replaces the output of a tool that returned none.
const NO_OUTPUT: &str = "(no output)";
/// Asks for the rest of a paused reply, because this provider cannot resume one.
const CONTINUE: &str = "(The reply above was interrupted. Continue.)";
/// Describes a tool that was called earlier and is no longer offered: tool calls in the history need a
/// definition.
const REMOVED_TOOL: &str = "This tool is no longer available. Do not call it.";

pub(super) fn build(request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
    let model = &request.model_config;
    let cached = CachePoints::of(request);
    let claude = thinking::is_claude(&model.id) || model.compat.get("thinking").is_some();
    let max_tokens = request.output_limit().or(claude.then_some(MAX_TOKENS));
    let planned = |conversation_end| {
        thinking::plan(request, max_tokens.unwrap_or_default(), ClaudeProvider::Bedrock, conversation_end)
    };
    let choice = tool_choice(&planned(ConversationEnd::Free).tool_choice);

    // Tools and tool choice are one object on this wire, so both decide whether the stored form can be
    // reused.
    let kept = json!([choice, cached.tools.then_some(&cached.point)]);
    let key = format!("{}\n{}\n{}\n{kept}", model.api, model.provider, model.id);
    let mut body = Body::of(request, key, || MessageTranslator::new(Arc::clone(model)))?;
    body.conversation.validator.end()?;
    body.tools(&request.tools, |tools| tool_config(tools, choice.as_ref(), &cached));

    let called = body.conversation.validator.has_calls();
    // This wire has no tool choice `none`: the tools are omitted, unless earlier tool calls need them.
    let offered = request.tool_choice != ToolChoice::None || called;
    let plan = planned(body.conversation.conversation_end());
    let mut head = head(request, max_tokens, plan, &cached);
    if request.tools.is_empty() && called {
        let removed: Vec<ToolDefinition> =
            body.conversation.names.iter().map(|name| removed_tool(name)).collect();
        head.insert("toolConfig".to_owned(), tool_config(&removed, None, &CachePoints::default()));
    }
    validate::head(&head, &model.id, &request.tools, request.output_schema.as_deref())?;

    let places: Vec<usize> = match cached.messages {
        true => body.places("user").take(MARKED_ITEMS).collect(),
        false => Vec::new(),
    };
    // A position is before the brace that closes a block. This text closes that block and opens the cache
    // point, which the same brace then closes.
    let point = cached.point.to_string();
    let mark = format!("}},{}", point.strip_suffix('}').unwrap_or(&point));
    let bytes = body.finish(request, &head, offered.then_some("toolConfig"), "messages", (&mark, &places));
    OutgoingRequest::post(address::converse(model), address::auth(model), bytes)
        .header("accept", "application/vnd.amazon.eventstream")
        .with_headers_of(model)
}

/// Where the request gets cache points.
#[derive(Debug, Default)]
struct CachePoints {
    system: bool,
    tools: bool,
    messages: bool,
    point: Value,
}

impl CachePoints {
    /// Claude accepts cache points everywhere, Nova not for tools, and other models reject them ("You invoked
    /// an unsupported model or your request did not allow prompt caching"). `compat` decides if the id does
    /// not reveal the model, as with application profiles.
    fn of(request: &StreamConfig) -> Self {
        let model = &request.model_config;
        let (claude, nova) = (thinking::caches_on_bedrock(&model.id), model.id.contains("amazon.nova"));
        let knows = model.compat.get("caching").and_then(Value::as_bool).unwrap_or(claude || nova);
        let (system, tools, messages) = request.cache_config.breakpoints();
        let tools = tools && !(system && covers_tools(&request.system_prompt));
        let point = match request.cache_config.ttl {
            CacheTtl::OneHour if !nova => json!({"cachePoint": {"type": "default", "ttl": "1h"}}),
            _ => json!({"cachePoint": {"type": "default"}}),
        };
        Self { system: system && knows, tools: tools && knows && !nova, messages: messages && knows, point }
    }
}

fn head(
    request: &StreamConfig,
    max_tokens: Option<u32>,
    plan: ThinkingPlan,
    cached: &CachePoints,
) -> Map<String, Value> {
    let mut head = Map::new();
    let mut put = |name: &str, value: Map<String, Value>| {
        if !value.is_empty() {
            head.insert(name.to_owned(), value.into());
        }
    };
    let named = |name: &str, value: Value| (name.to_owned(), value);
    let limit = max_tokens.map(|limit| named("maxTokens", limit.into()));
    let temperature = plan.temperature.map(|temperature| named("temperature", temperature.into()));
    put("inferenceConfig", limit.into_iter().chain(temperature).collect());

    let extra = request.model_config.compat.get("additionalModelRequestFields").and_then(Value::as_object);
    let thinking = plan.thinking.map(|thinking| named("thinking", thinking));
    put(
        "additionalModelRequestFields",
        thinking.into_iter().chain(extra.cloned().into_iter().flatten()).collect(),
    );

    let effort = plan.effort.map(|effort| named("effort", effort.into()));
    let format = request.output_schema.as_ref().map(|schema| {
        // The provider expects the schema as text.
        let schema = json!({"name": schema.name, "schema": schema.schema.to_string()});
        named("textFormat", json!({"type": "json_schema", "structure": {"jsonSchema": schema}}))
    });
    put("outputConfig", effort.into_iter().chain(format).collect());

    if !request.system_prompt.is_blank() {
        let point = || cached.system.then(|| cached.point.clone());
        let parts = request.system_prompt.parts();
        let system = parts.flat_map(|text| std::iter::once(json!({"text": text})).chain(point()));
        head.insert("system".to_owned(), system.collect());
    }
    head
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Required => Some(json!({"any": {}})),
        ToolChoice::Tool(name) => Some(json!({"tool": {"name": name}})),
        // Auto is the provider's default, and it has no choice `none`.
        _ => None,
    }
}

fn tool_config(tools: &[ToolDefinition], choice: Option<&Value>, cached: &CachePoints) -> Value {
    let listed = tools.iter().map(|tool| {
        let mut spec = json!({"name": tool.name, "inputSchema": {"json": input_schema(&tool.parameters)}});
        if let (Value::Object(spec), false) = (&mut spec, tool.description.trim().is_empty()) {
            spec.insert("description".to_owned(), tool.description.as_str().into());
        }
        json!({"toolSpec": spec})
    });
    let listed: Vec<Value> = listed.chain(cached.tools.then(|| cached.point.clone())).collect();
    match choice {
        Some(choice) => json!({"tools": listed, "toolChoice": choice}),
        None => json!({"tools": listed}),
    }
}

fn removed_tool(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.to_owned(), description: REMOVED_TOOL.to_owned(), parameters: json!({}) }
}

/// Translates messages and remembers what later messages depend on.
#[derive(Debug)]
pub(super) struct MessageTranslator {
    model: Arc<ModelConfig>,
    ids: CallIds,
    validator: RequestValidator,
    /// Names of the tools that were called so far.
    names: BTreeSet<String>,
    /// Whether the model accepts the `status` of a result; others reject the field.
    statuses: bool,
    role: &'static str,
    /// The last assistant item starts with reasoning.
    starts_with_thinking: bool,
    /// The last user item contains tool results.
    results: bool,
}

impl Conversation for MessageTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        match message {
            Message::User(user) => {
                let blocks = readable(&user.content, UNREADABLE_CONTENT);
                blocks.iter().try_for_each(|block| self.add("user", block, items))
            }
            Message::ToolResult(result) => {
                let block = self.result(result);
                self.add("user", &block, items)
            }
            Message::Assistant(reply) => self.reply(reply, items),
        }
    }
}

impl MessageTranslator {
    fn new(model: Arc<ModelConfig>) -> Self {
        let statuses = thinking::is_claude(&model.id) || model.id.contains("amazon.nova");
        Self {
            model,
            ids: CallIds::new(IdRule::COMMON),
            validator: RequestValidator::default(),
            names: BTreeSet::new(),
            statuses,
            role: "",
            starts_with_thinking: false,
            results: false,
        }
    }

    fn conversation_end(&self) -> ConversationEnd {
        let open = self.role == "user" && self.results;
        if open && !self.starts_with_thinking {
            ConversationEnd::WithoutThinking
        } else {
            ConversationEnd::Free
        }
    }

    fn add(
        &mut self,
        role: &'static str,
        block: &Value,
        items: &mut ItemWriter,
    ) -> Result<(), ProviderError> {
        self.validator.block(role, block)?;
        if self.role != role {
            self.role = role;
            match role {
                "assistant" => self.starts_with_thinking = block.get("reasoningContent").is_some(),
                _ => self.results = false,
            }
        }
        self.results |= role == "user" && block.get("toolResult").is_some();
        items.block(role, "content", block);
        Ok(())
    }

    fn reply(&mut self, reply: &AssistantMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let own = is_own_reply(reply, &self.model);
        let mut blocks: Vec<Value> =
            reply.content.iter().filter_map(|block| self.reply_block(block, own)).collect();
        // Claude: "The final block in an assistant message cannot be `thinking`."
        while blocks.last().is_some_and(|block| block.get("reasoningContent").is_some()) {
            blocks.pop();
        }
        blocks.iter().try_for_each(|block| self.add("assistant", block, items))?;
        let interrupted = reply.stop_reason == StopReason::Pause && reply.tool_calls().next().is_none();
        if interrupted && self.role == "assistant" {
            self.add("user", &json!({"text": CONTINUE}), items)?;
        }
        Ok(())
    }

    /// Returns the wire form of a block of a reply, if it goes back at all.
    fn reply_block(&mut self, block: &Content, own: bool) -> Option<Value> {
        match block {
            _ if block.is_empty() => None,
            Content::Text { text } => Some(json!({"text": text})),
            Content::ToolCall(call) => {
                let (id, name) = (self.ids.wire(&call.id), valid_name(&call.name));
                self.names.insert(name.clone());
                Some(json!({"toolUse": {"toolUseId": id, "name": name, "input": call.arguments}}))
            }
            Content::Thinking { thinking, signature: Some(signature) } if own && !signature.is_empty() => {
                let text = json!({"text": thinking, "signature": signature});
                Some(json!({"reasoningContent": {"reasoningText": text}}))
            }
            Content::RedactedThinking { data } if own => {
                Some(json!({"reasoningContent": {"redactedContent": data}}))
            }
            Content::Unknown(fields) if own && is_opaque(fields) => Some(Value::Object(fields.clone())),
            _ => None,
        }
    }

    fn result(&mut self, result: &ToolResultMessage) -> Value {
        let id = self.ids.wire(&result.tool_call_id);
        let content = readable(&result.content, NO_OUTPUT);
        match result.is_error && self.statuses {
            true => json!({"toolResult": {"toolUseId": id, "content": content, "status": "error"}}),
            false => json!({"toolResult": {"toolUseId": id, "content": content}}),
        }
    }
}

/// Whether this is a block of the provider's own tools: it has exactly one type, and a tool call carries the
/// provider's `type`.
fn is_opaque(fields: &Map<String, Value>) -> bool {
    let served = |inner: &Value| inner.get("type").is_some_and(Value::is_string);
    let known = |(kind, inner): (&String, &Value)| {
        OPAQUE.contains(&kind.as_str()) && inner.is_object() && (kind != "toolUse" || served(inner))
    };
    fields.len() == 1 && fields.iter().all(known)
}

/// The blocks of a user message or a tool result, at least one.
fn readable(content: &[Content], nothing: &str) -> Vec<Value> {
    let mut blocks: Vec<Value> = content.iter().filter_map(content_block).collect();
    if blocks.is_empty() {
        blocks.push(json!({"text": nothing}));
    }
    blocks
}

fn content_block(block: &Content) -> Option<Value> {
    match block {
        _ if block.is_empty() => None,
        Content::Text { text } => Some(json!({"text": text})),
        Content::Image { data, mime_type } => Some(image_block(data, mime_type)),
        _ => None,
    }
}

fn image_block(data: &str, mime_type: &str) -> Value {
    let format = mime_type.strip_prefix("image/").unwrap_or_default();
    let format = if format == "jpg" { "jpeg" } else { format };
    if !IMAGES.contains(&format) {
        return json!({"text": format!("(image of type {mime_type} omitted: this model cannot read it)")});
    }
    json!({"image": {"format": format, "source": {"bytes": data}}})
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
