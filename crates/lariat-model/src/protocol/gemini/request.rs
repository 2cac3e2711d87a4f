//! Translates conversations to Gemini's format: contents of the user and of the model, each a list of parts.
//!
//! Adjacent messages of one role become one content. The content after a reply starts with the responses to
//! its tool calls, in the order of the tool calls, followed by what belongs to them but does not fit into
//! them. Invariant: a message always becomes the same parts, whatever follows it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use lariat_core::content::{Content, ToolCall, joined_text};
use lariat_core::id::ToolCallId;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage, UserMessage};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use serde_json::{Map, Value, json};

use super::generation::{self, Era, ModelTraits};
use super::head;
use super::validate::{IMAGES, MODEL, RequestValidator, USER, is_function_name, is_opaque_part};
use crate::protocol::ApiProtocol;
use crate::wire::{Body, CallIds, Conversation, IdRule, ItemWriter, is_own_reply};

/// Replaces the missing signature of tool calls that another model made. Google documents it for this case.
const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";
/// Types of images that may be part of a function response, since Gemini 3.
const RESPONSE_IMAGES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
/// Maximum length of a name derived from an invalid one.
const DERIVED_NAME_LIMIT: usize = 64;

/// Builds the body of a request.
pub(in crate::protocol) fn body(request: &StreamConfig, api: ApiProtocol) -> Result<Bytes, ProviderError> {
    let model = &request.model_config;
    let traits = generation::of(&model.id);
    let ids = CallIdMode::of(model, &traits);
    let key = format!("{api}\n{}\n{}\n{ids:?}", model.provider, model.id);
    let mut body = Body::of(request, key, || MessageTranslator::new(Arc::clone(model), traits, ids))?;
    let checked = body.conversation.validator.end().and_then(|()| head::fields(request, &traits));
    let head = match checked {
        Ok(head) => head,
        Err(error) => {
            // The stored part is valid as far as it goes.
            request.memo.put(body);
            return Err(error);
        }
    };
    body.tools(&request.tools, head::tools);
    Ok(body.finish(request, &head, Some("tools"), "contents", ("", &[])))
}

/// Whether tool calls and responses are paired by an id or by their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallIdMode {
    /// Since Gemini 3. Without ids, the reply to several results can be empty.
    Sent,
    /// Before Gemini 3, Vertex rejects the field (400).
    Omitted,
}

impl CallIdMode {
    fn of(model: &ModelConfig, traits: &ModelTraits) -> Self {
        match (model.compat.get("callIds").and_then(Value::as_bool), traits.era) {
            (Some(true), _) | (None, Era::Modern) => Self::Sent,
            (Some(false), _) | (None, Era::Early) => Self::Omitted,
        }
    }
}

/// Translates messages and remembers what later messages depend on.
struct MessageTranslator {
    model: Arc<ModelConfig>,
    era: Era,
    ids: CallIdMode,
    call_ids: CallIds,
    validator: RequestValidator,
    /// Tool calls of the last reply that wait for results, with the names they were sent under.
    open_calls: VecDeque<(ToolCallId, String)>,
    /// Parts to send after the responses to all tool calls.
    deferred_parts: Vec<Value>,
}

impl MessageTranslator {
    fn new(model: Arc<ModelConfig>, traits: ModelTraits, ids: CallIdMode) -> Self {
        Self {
            model,
            era: traits.era,
            ids,
            call_ids: CallIds::new(IdRule::COMMON),
            validator: RequestValidator::new(traits.era),
            open_calls: VecDeque::new(),
            deferred_parts: Vec::new(),
        }
    }

    fn add(&mut self, role: &'static str, part: &Value, items: &mut ItemWriter) -> Result<(), ProviderError> {
        self.validator.part(role, part)?;
        items.block(role, "parts", part);
        Ok(())
    }

    fn user(&mut self, user: &UserMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let mut empty = true;
        for part in user.content.iter().filter_map(content_part) {
            empty = false;
            self.add(USER, &part, items)?;
        }
        if empty {
            self.add(USER, &text("(no content)"), items)?;
        }
        Ok(())
    }

    fn reply(&mut self, reply: &AssistantMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let own = is_own_reply(reply, &self.model);
        let mut has_parts = false;
        // A signature that belongs to the following text or image.
        let mut signature: Option<&str> = None;
        let mut first_call = true;
        for block in &reply.content {
            let mut part = match block {
                Content::Thinking { thinking, signature: Some(bare) } if own && thinking.is_empty() => {
                    if let Some(earlier) = signature.replace(bare) {
                        self.add(MODEL, &signed(text(""), earlier), items)?;
                    }
                    continue;
                }
                Content::Thinking { thinking, signature } if own && !thinking.is_empty() => {
                    let part = json!({"text": thinking, "thought": true});
                    signature.as_deref().map_or(part.clone(), |signature| signed(part, signature))
                }
                Content::Unknown(fields) if own && is_opaque_part(fields) => Value::Object(fields.clone()),
                Content::Text { .. } if !block.is_empty() => content_part(block).unwrap_or_default(),
                Content::Image { .. } if own => content_part(block).unwrap_or_default(),
                Content::ToolCall(call) => {
                    let own_signature = call.signature.as_deref().filter(|_| own);
                    let required = std::mem::take(&mut first_call) && self.era == Era::Modern;
                    let part = self.call(call);
                    match own_signature.or(required.then_some(PLACEHOLDER_SIGNATURE)) {
                        Some(signature) => signed(part, signature),
                        None => part,
                    }
                }
                _ => continue,
            };
            if let Some(kept) = signature.take() {
                match block {
                    Content::Text { .. } | Content::Image { .. } => part = signed(part, kept),
                    _ => self.add(MODEL, &signed(text(""), kept), items)?,
                }
            }
            has_parts = true;
            self.add(MODEL, &part, items)?;
        }
        if let Some(kept) = signature.filter(|_| has_parts) {
            self.add(MODEL, &signed(text(""), kept), items)?;
        }
        // Another provider's paused reply: asks the model to continue, because the last content must be the
        // user's.
        if reply.stop_reason == StopReason::Pause
            && self.open_calls.is_empty()
            && self.validator.ends_with_model()
        {
            self.add(USER, &text("Continue."), items)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCall) -> Value {
        let name = function_name(&call.name);
        let mut fields = Map::new();
        if self.ids == CallIdMode::Sent {
            fields.insert("id".to_owned(), self.call_ids.wire(&call.id).into());
        }
        fields.insert("name".to_owned(), name.as_str().into());
        fields.insert("args".to_owned(), call.arguments.clone());
        self.open_calls.push_back((call.id.clone(), name));
        json!({"functionCall": fields})
    }

    fn result(&mut self, result: &ToolResultMessage, items: &mut ItemWriter) -> Result<(), ProviderError> {
        let position = self.open_calls.iter().position(|(id, _)| *id == result.tool_call_id);
        let called = position.and_then(|at| self.open_calls.remove(at)).map(|(_, name)| name);
        let name = called.unwrap_or_else(|| function_name(&result.tool_name));
        let words = joined_text(&result.content);
        let (mut inside, mut beside) = (Vec::new(), Vec::new());
        for block in &result.content {
            match block {
                Content::Image { mime_type, .. }
                    if self.era == Era::Modern && RESPONSE_IMAGES.contains(&mime_type.as_str()) =>
                {
                    inside.extend(content_part(block));
                }
                Content::Image { .. } => beside.extend(content_part(block)),
                _ => {}
            }
        }
        let words = match words.trim() {
            "" if inside.is_empty() && beside.is_empty() => "(no output)".to_owned(),
            "" => "(see the image)".to_owned(),
            _ => words,
        };
        let mut fields = Map::new();
        if self.ids == CallIdMode::Sent {
            fields.insert("id".to_owned(), self.call_ids.wire(&result.tool_call_id).into());
        }
        fields.insert("name".to_owned(), name.as_str().into());
        let key = if result.is_error { "error" } else { "output" };
        fields.insert("response".to_owned(), json!({key: words}));
        if !inside.is_empty() {
            fields.insert("parts".to_owned(), Value::Array(inside));
        }
        if !beside.is_empty() {
            self.deferred_parts.push(text(&format!("Output of the tool `{name}`:")));
            self.deferred_parts.append(&mut beside);
        }
        self.add(USER, &json!({"functionResponse": fields}), items)?;
        if self.open_calls.is_empty() {
            for part in std::mem::take(&mut self.deferred_parts) {
                self.add(USER, &part, items)?;
            }
        }
        Ok(())
    }
}

impl Conversation for MessageTranslator {
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError> {
        match message {
            Message::User(user) => self.user(user, items),
            Message::Assistant(reply) => self.reply(reply, items),
            Message::ToolResult(result) => self.result(result, items),
        }
    }
}

/// The part for a text or an image; `None` for other content.
fn content_part(block: &Content) -> Option<Value> {
    match block {
        _ if block.is_empty() => None,
        Content::Text { text: words } => Some(text(words)),
        Content::Image { data, mime_type } if IMAGES.contains(&mime_type.as_str()) => {
            Some(json!({"inlineData": {"mimeType": mime_type, "data": data}}))
        }
        Content::Image { mime_type, .. } => {
            Some(text(&format!("(image of type {mime_type} omitted: this model cannot read it)")))
        }
        _ => None,
    }
}

fn text(words: &str) -> Value {
    json!({"text": words})
}

fn signed(mut part: Value, signature: &str) -> Value {
    if let Value::Object(fields) = &mut part {
        fields.insert("thoughtSignature".to_owned(), signature.into());
    }
    part
}

/// Makes a function name valid: models of other providers use names that Gemini rejects.
fn function_name(name: &str) -> String {
    if is_function_name(name) {
        return name.to_owned();
    }
    let valid =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-') { c } else { '_' };
    let mut derived: String = name.chars().take(DERIVED_NAME_LIMIT - 1).map(valid).collect();
    if !is_function_name(&derived) {
        derived.insert(0, '_');
    }
    derived
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
