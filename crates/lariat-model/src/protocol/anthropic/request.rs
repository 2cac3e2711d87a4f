//! Builds requests in Anthropic's format.
//!
//! Replies of the requested model go back exactly as received; of other models' replies only text and tool
//! calls go back. Consecutive messages of one role become one item, with tool results first. Invariant: what
//! is appended for a message never depends on later messages.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::model::{CacheTtl, ModelConfig, ProviderError, StreamConfig, SystemPrompt, ToolChoice};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value, json};

use super::thinking::{self, ClaudeProvider, ConversationEnd, ThinkingPlan};
use super::validate::{self, IMAGES, RequestValidator};
use crate::wire::{Auth, Body, CallIds, Conversation, IdRule, ItemWriter, OutgoingRequest, is_own_reply};

/// Default base URL.
const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";
/// API version that this code implements.
pub(super) const VERSION: &str = "2023-06-01";
/// Output limit if neither the request nor the model sets one: the provider requires one.
const MAX_TOKENS: u32 = 8192;
/// Number of user items that get a cache mark: the newest writes the cache, the one before it reads it.
const MARKED_ITEMS: usize = 2;
/// Longest tool name that every version of the API accepts, in characters.
const NAME_LIMIT: usize = 64;

/// Replaces the content of a message that has none this provider can read.
const UNREADABLE_CONTENT: &str = "(content that this model cannot read)";
/// Replaces the output of a tool that returned none.
const NO_OUTPUT: &str = "(no output)";
/// Asks for the rest of a reply that another model paused, because only the model that paused a reply can
/// resume it.
const CONTINUE: &str = "(The reply above was interrupted. Continue.)";

pub(super) fn build(request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
    let model = &request.model_config;
    let (mark_system, mark_tools, mark_messages) = request.cache_config.breakpoints();
    let mark_tools = mark_tools && !(mark_system && covers_tools(&request.system_prompt));
    let mark = cache_control(request.cache_config.ttl);
    let key = format!("{}\n{}\n{}\n{mark_tools} {mark}", model.api, model.provider, model.id);
    let mut body = Body::of(request, key, || MessageTranslator::new(Arc::clone(model)))?;
    body.tools(&request.tools, |tools| tool_list(tools, mark_tools.then_some(&mark)));
    body.conversation.validator.end(body.conversation.paused)?;

    let max_tokens = request.output_limit().unwrap_or(MAX_TOKENS);
    let plan =
        thinking::plan(request, max_tokens, ClaudeProvider::Anthropic, body.conversation.conversation_end());
    let head = head(request, max_tokens, plan, mark_system.then_some(&mark));
    validate::head(&head, &request.tools, request.output_schema.as_deref())?;

    let places: Vec<usize> = match mark_messages {
        true => body.places("user").take(MARKED_ITEMS).collect(),
        false => Vec::new(),
    };
    let mark = format!(",\"cache_control\":{mark}");
    let bytes = body.finish(request, &head, Some("tools"), "messages", (&mark, &places));
    OutgoingRequest::post(address(model, "/v1/messages"), auth(model), bytes)
        .header("anthropic-version", VERSION)
        .with_headers_of(model)
}

/// Builds an address. The base URL may end in `/v1` or not.
pub(super) fn address(model: &ModelConfig, path: &str) -> String {
    let base = model.base_url.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base).trim_end_matches('/');
    format!("{}{path}", if base.is_empty() { DEFAULT_BASE_URL } else { base })
}

/// The key goes into its own header. For gateways that expect a bearer token, set `auth` in `compat`.
pub(super) fn auth(model: &ModelConfig) -> Auth {
    match model.compat.get("auth").and_then(Value::as_str) {
        Some("bearer") => Auth::Bearer,
        Some("none") => Auth::None,
        _ => Auth::Header("x-api-key"),
    }
}

/// Whether the cache mark after the static part of the prompt also covers the tools, which precede the system
/// prompt on this wire. The provider accepts four marks ("A maximum of 4 blocks with cache_control may be
/// provided"), and the conversation needs two of them.
pub(crate) fn covers_tools(prompt: &SystemPrompt) -> bool {
    prompt.parts().nth(1).is_some()
}

fn cache_control(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

fn head(
    request: &StreamConfig,
    max_tokens: u32,
    plan: ThinkingPlan,
    mark: Option<&Value>,
) -> Map<String, Value> {
    let mut head = Map::new();
    let mut put = |name: &str, value: Value| {
        head.insert(name.to_owned(), value);
    };
    put("model", request.model_config.id.as_str().into());
    put("max_tokens", max_tokens.into());
    put("stream", true.into());
    if !request.system_prompt.is_blank() {
        let parts = request.system_prompt.parts();
        let blocks = parts.map(|text| marked(json!({"type": "text", "text": text}), mark));
        put("system", blocks.collect());
    }
    if let Some(thinking) = plan.thinking {
        put("thinking", thinking);
    }
    if let Some(temperature) = plan.temperature {
        put("temperature", temperature.into());
    }
    let mut output = Map::new();
    if let Some(effort) = plan.effort {
        output.insert("effort".to_owned(), effort.into());
    }
    if let Some(schema) = &request.output_schema {
        output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema.schema}));
    }
    if !output.is_empty() {
        put("output_config", output.into());
    }
    if !request.tools.is_empty() {
        match plan.tool_choice {
            ToolChoice::None => put("tool_choice", json!({"type": "none"})),
            ToolChoice::Required => put("tool_choice", json!({"type": "any"})),
            ToolChoice::Tool(name) => put("tool_choice", json!({"type": "tool", "name": name})),
            // The provider's default.
            _ => {}
        }
    }
    head
}

fn tool_list(tools: &[ToolDefinition], mark: Option<&Value>) -> Value {
    let last = tools.len().saturating_sub(1);
    let listed = tools.iter().enumerate().map(|(at, tool)| {
        let mut entry = json!({"name": tool.name, "input_schema": input_schema(&tool.parameters)});
        if let (Value::Object(entry), false) = (&mut entry, tool.description.trim().is_empty()) {
            entry.insert("description".to_owned(), tool.description.as_str().into());
        }
        marked(entry, mark.filter(|_| at == last))
    });
    listed.collect()
}

/// Adds `type: object`, which the provider requires and schemas of tools without parameters often omit.
pub(crate) fn input_schema(schema: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    fields.entry("type").or_insert_with(|| "object".into());
    Value::Object(fields)
}

fn marked(mut block: Value, mark: Option<&Value>) -> Value {
    if let (Value::Object(fields), Some(mark)) = (&mut block, mark) {
        fields.insert("cache_control".to_owned(), mark.clone());
    }
    block
}

/// Translates messages and remembers what later messages depend on.
#[derive(Debug)]
pub(super) struct MessageTranslator {
    model: Arc<ModelConfig>,
    ids: CallIds,
    validator: RequestValidator,
    last: LastItems,
    /// Calls of the provider's own tools that have no result yet, with the tool's name. Such a call goes back
    /// unchanged while its reply can be resumed. If anything else follows, the provider rejects it without a
    /// result.
    provider_calls: Vec<(String, String)>,
    /// Whether the last message is a paused reply that can be resumed.
    paused: bool,
}

/// What is known about the last items.
#[derive(Debug, Default)]
struct LastItems {
    role: &'static str,
    /// The last assistant item starts with thinking.
    starts_with_thinking: bool,
    /// The last user item contains tool results.
    results: bool,
}

impl Conversation for MessageTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        match message {
            Message::User(user) => {
                self.close_provider_calls(items)?;
                let blocks = readable(&user.content, UNREADABLE_CONTENT);
                blocks.iter().try_for_each(|block| self.add("user", block, items))
            }
            Message::ToolResult(result) => {
                self.close_provider_calls(items)?;
                let block = self.result(result);
                self.add("user", &block, items)
            }
            Message::Assistant(reply) => self.reply(reply, items),
        }
    }
}

impl MessageTranslator {
    fn new(model: Arc<ModelConfig>) -> Self {
        Self {
            model,
            ids: CallIds::new(IdRule::COMMON),
            validator: RequestValidator::default(),
            last: LastItems::default(),
            provider_calls: Vec::new(),
            paused: false,
        }
    }

    fn conversation_end(&self) -> ConversationEnd {
        let open = self.last.role == "user" && self.last.results;
        if open && !self.last.starts_with_thinking {
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
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        if self.last.role != role {
            self.last.role = role;
            match role {
                "assistant" => self.last.starts_with_thinking = is_thinking(kind),
                _ => self.last.results = false,
            }
        }
        self.last.results |= kind == "tool_result";
        items.block(role, "content", block);
        Ok(())
    }

    fn reply(&mut self, reply: &AssistantMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let own = is_own_reply(reply, &self.model);
        let mut blocks: Vec<Value> =
            reply.content.iter().filter_map(|block| self.reply_block(block, own)).collect();
        // "The final block in an assistant message cannot be `thinking`."
        let thinks = |block: &Value| block.get("type").and_then(Value::as_str).is_some_and(is_thinking);
        while blocks.last().is_some_and(thinks) {
            blocks.pop();
        }
        if !blocks.is_empty() {
            if !own {
                self.close_provider_calls(items)?;
            }
            self.paused = false;
            blocks.iter().try_for_each(|block| self.add("assistant", block, items))?;
            blocks.iter().for_each(|block| self.track_provider_calls(block));
        }
        if reply.stop_reason == StopReason::Pause && reply.tool_calls().next().is_none() {
            self.paused |= own && !blocks.is_empty();
            if !self.paused && self.last.role == "assistant" {
                self.close_provider_calls(items)?;
                self.add("user", &json!({"type": "text", "text": CONTINUE}), items)?;
            }
        }
        Ok(())
    }

    /// Returns the wire form of a block of a reply, if it goes back at all.
    fn reply_block(&mut self, block: &Content, own: bool) -> Option<Value> {
        match block {
            _ if block.is_empty() => None,
            Content::Text { text } => Some(json!({"type": "text", "text": text})),
            Content::ToolCall(call) => {
                let (id, name) = (self.ids.wire(&call.id), valid_name(&call.name));
                Some(json!({"type": "tool_use", "id": id, "name": name, "input": call.arguments}))
            }
            Content::Thinking { thinking, signature: Some(signature) } if own && !signature.is_empty() => {
                Some(json!({"type": "thinking", "thinking": thinking, "signature": signature}))
            }
            Content::RedactedThinking { data } if own => {
                Some(json!({"type": "redacted_thinking", "data": data}))
            }
            Content::Unknown(fields) if own && fields.get("type").is_some_and(Value::is_string) => {
                Some(Value::Object(fields.clone()))
            }
            _ => None,
        }
    }

    fn result(&mut self, result: &ToolResultMessage) -> Value {
        let id = self.ids.wire(&result.tool_call_id);
        let mut content = readable(&result.content, NO_OUTPUT);
        if result.is_error {
            content.iter_mut().for_each(replace_image_with_note);
        }
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        if let (Value::Object(fields), true) = (&mut block, result.is_error) {
            fields.insert("is_error".to_owned(), true.into());
        }
        block
    }

    fn track_provider_calls(&mut self, block: &Value) {
        let text = |field: &str| block.get(field).and_then(Value::as_str).map(str::to_owned);
        match block.get("type").and_then(Value::as_str) {
            Some("server_tool_use") => self.provider_calls.extend(text("id").zip(text("name"))),
            _ => {
                if let Some(answered) = text("tool_use_id") {
                    self.provider_calls.retain(|(id, _)| *id != answered);
                }
            }
        }
    }

    /// Called when something other than the rest of a paused reply follows: adds an `unavailable` result to
    /// every open call of the provider's own tools.
    fn close_provider_calls(&mut self, items: &mut ItemWriter) -> Result<(), ProviderError> {
        self.paused = false;
        for (id, name) in std::mem::take(&mut self.provider_calls) {
            // `tool_search_tool_regex` and `tool_search_tool_bm25` share one result type.
            let name = if name.starts_with("tool_search_tool") { "tool_search" } else { &name };
            let error = json!({"type": format!("{name}_tool_result_error"), "error_code": "unavailable"});
            let result = json!({"type": format!("{name}_tool_result"), "tool_use_id": id, "content": error});
            self.add("assistant", &result, items)?;
        }
        Ok(())
    }
}

fn is_thinking(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// The blocks of a user message or a tool result, at least one.
fn readable(content: &[Content], nothing: &str) -> Vec<Value> {
    let mut blocks: Vec<Value> = content.iter().filter_map(content_block).collect();
    if blocks.is_empty() {
        blocks.push(json!({"type": "text", "text": nothing}));
    }
    blocks
}

fn content_block(block: &Content) -> Option<Value> {
    match block {
        _ if block.is_empty() => None,
        Content::Text { text } => Some(json!({"type": "text", "text": text})),
        Content::Image { data, mime_type } => Some(image_block(data, mime_type)),
        _ => None,
    }
}

fn image_block(data: &str, mime_type: &str) -> Value {
    let media_type = if mime_type == "image/jpg" { "image/jpeg" } else { mime_type };
    if !IMAGES.contains(&media_type) {
        return json!({"type": "text", "text": format!("(image of type {mime_type} omitted: this model cannot read it)")});
    }
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

/// "All content must be type \"text\" if `is_error` is true."
fn replace_image_with_note(block: &mut Value) {
    if block.get("type").is_some_and(|kind| kind == "image") {
        *block = json!({"type": "text", "text": "(image omitted: the result of a failed tool call can only contain text)"});
    }
}

/// Replaces the characters in another model's tool name that this provider does not accept. Own names stay
/// unchanged.
pub(crate) fn valid_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().take(NAME_LIMIT).map(fit).collect()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
