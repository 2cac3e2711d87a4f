//! Decodes replies: the events of a ConverseStream.
//!
//! Only tool calls have a start event; text and reasoning begin with their first delta. The reply is complete
//! with `metadata`, which follows `messageStop`, or when the body ends after `messageStop`. Invariant: an
//! unknown event changes nothing.

use std::borrow::Cow;

use lariat_core::content::Content;
use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error;
use crate::wire::{Frame, FrameKind, Reply, StreamInterpreter};

/// Maximum number of blocks in one reply, so that a stream that loops cannot exhaust the memory.
const BLOCK_LIMIT: usize = 16 * 1024;
/// Maximum total size of signatures and blocks of unknown types in one reply, in bytes.
const HELD_LIMIT: usize = 32 * 1024 * 1024;
/// Upper bound for reported token numbers, so that a broken provider's numbers cannot overflow sums. No request has
/// used more.
const TOKEN_LIMIT: u64 = 1 << 40;

/// Text borrowed from the frame unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// All events in one flat shape: fields that are missing or null become `None`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    content_block_index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    start: Option<Value>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Box<Tokens>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    tool_use: Option<ToolInput<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Reasoning<'a>>,
    tool_result: Option<Vec<Value>>,
    image: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct ToolInput<'a> {
    #[serde(borrow)]
    input: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reasoning<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    redacted_content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

/// The blocks of a reply. A block's position is its index in the reply.
#[derive(Debug, Default)]
pub(super) struct ConverseInterpreter {
    blocks: Vec<Block>,
    held_bytes: usize,
    counted: bool,
}

#[derive(Debug)]
struct Block {
    wire: u64,
    /// The parts of the signature so far.
    signature: String,
    /// A block that only the provider understands: its type, its fields and the parts of its input.
    other: Option<(&'static str, Map<String, Value>, String)>,
}

impl StreamInterpreter for ConverseInterpreter {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        if frame.kind == FrameKind::Exception {
            return Err(error::in_stream(frame.name, frame.data));
        }
        let event: Event<'_> = serde_json::from_str(frame.data).map_err(|error| {
            ProviderError::InvalidReply(format!("cannot read an event of the stream: {error}").into())
        })?;
        // The provider does not name the model that replies.
        reply.start("");
        let wire = event.content_block_index.unwrap_or_default();
        match frame.name {
            "contentBlockDelta" => match event.delta {
                Some(delta) => self.delta(wire, delta, reply),
                None => Ok(()),
            },
            "contentBlockStart" => self.start(wire, event.start, reply),
            "contentBlockStop" => match self.index_of(wire) {
                Some(index) => self.close(index, reply),
                None => Ok(()),
            },
            "messageStop" => {
                reply.stop(stop_reason(event.stop_reason.as_ref().map_or("", |reason| &reason.0))?);
                if self.counted { self.finish(reply) } else { Ok(()) }
            }
            "metadata" => {
                count(reply, event.usage.map(|tokens| *tokens));
                self.counted = true;
                if reply.has_stopped() { self.finish(reply) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        match reply.has_stopped() {
            true => self.finish(reply),
            false => Err(ProviderError::Network("the stream ended before the reply was complete".into())),
        }
    }
}

impl ConverseInterpreter {
    /// The index of the newest block with this wire number.
    fn index_of(&self, wire: u64) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.wire == wire)
    }

    fn open(&mut self, wire: u64) -> Result<usize, ProviderError> {
        if self.blocks.len() >= BLOCK_LIMIT {
            return Err(ProviderError::InvalidReply(format!("more than {BLOCK_LIMIT} blocks").into()));
        }
        self.blocks.push(Block { wire, signature: String::new(), other: None });
        Ok(self.blocks.len() - 1)
    }

    fn add_held_bytes(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.held_bytes += bytes;
        if self.held_bytes > HELD_LIMIT {
            let megabytes = HELD_LIMIT / (1024 * 1024);
            return Err(ProviderError::InvalidReply(
                format!("signatures and unknown blocks exceed {megabytes} MB").into(),
            ));
        }
        Ok(())
    }

    fn start(&mut self, wire: u64, start: Option<Value>, reply: &mut Reply) -> Result<(), ProviderError> {
        let Some(Value::Object(mut start)) = start else { return Ok(()) };
        if let Some(Value::Object(call)) = start.remove("toolUse") {
            let index = self.open(wire)?;
            if call.get("type").is_some_and(Value::is_string) {
                return self.other(index, "toolUse", call);
            }
            let text = |field: &str| match call.get(field) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            return reply.call(index, &text("toolUseId"), &text("name"));
        }
        for kind in ["toolResult", "image"] {
            if let Some(Value::Object(fields)) = start.remove(kind) {
                let index = self.open(wire)?;
                return self.other(index, kind, fields);
            }
        }
        Ok(())
    }

    fn other(
        &mut self,
        index: usize,
        kind: &'static str,
        fields: Map<String, Value>,
    ) -> Result<(), ProviderError> {
        self.add_held_bytes(Value::Object(fields.clone()).to_string().len())?;
        if let Some(block) = self.blocks.get_mut(index) {
            block.other = Some((kind, fields, String::new()));
        }
        Ok(())
    }

    #[inline]
    fn delta(&mut self, wire: u64, delta: Delta<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let index = match self.index_of(wire) {
            Some(index) => index,
            None => self.open(wire)?,
        };
        if let Some(Text(text)) = delta.text {
            return reply.text(index, text);
        }
        if let Some(Text(input)) = delta.tool_use.and_then(|call| call.input) {
            if self.is_other(index) {
                self.add_held_bytes(input.len())?;
                if let Some((_, _, pieces)) =
                    self.blocks.get_mut(index).and_then(|block| block.other.as_mut())
                {
                    pieces.push_str(&input);
                }
                return Ok(());
            }
            return reply.arguments(index, input);
        }
        if let Some(reasoning) = delta.reasoning_content {
            if let Some(Text(text)) = reasoning.text {
                reply.thinking(index, text)?;
            }
            if let Some(Text(piece)) = reasoning.signature {
                self.add_held_bytes(piece.len())?;
                if let Some(block) = self.blocks.get_mut(index) {
                    block.signature.push_str(&piece);
                }
            }
            if let Some(data) = reasoning.redacted_content.filter(|data| !data.is_empty()) {
                self.add_held_bytes(data.len())?;
                reply.block(index, Content::RedactedThinking { data })?;
            }
            return Ok(());
        }
        self.grow(index, delta.tool_result, delta.image)
    }

    fn is_other(&self, index: usize) -> bool {
        self.blocks.get(index).is_some_and(|block| block.other.is_some())
    }

    /// Adds parts of results and images that the provider's own tools made.
    fn grow(
        &mut self,
        index: usize,
        parts: Option<Vec<Value>>,
        image: Option<Map<String, Value>>,
    ) -> Result<(), ProviderError> {
        let (parts, image) = (parts.unwrap_or_default(), image.unwrap_or_default());
        self.add_held_bytes(json!([parts, image]).to_string().len())?;
        let Some((_, fields, _)) = self.blocks.get_mut(index).and_then(|block| block.other.as_mut()) else {
            return Ok(());
        };
        if !parts.is_empty() {
            match fields.get_mut("content") {
                Some(Value::Array(content)) => content.extend(parts),
                _ => drop(fields.insert("content".to_owned(), parts.into())),
            }
        }
        fields.extend(image);
        Ok(())
    }

    fn close(&mut self, index: usize, reply: &mut Reply) -> Result<(), ProviderError> {
        let Some(block) = self.blocks.get_mut(index) else { return Ok(()) };
        let signature = std::mem::take(&mut block.signature);
        let other = block.other.take();
        reply.signature(index, signature.into())?;
        let Some((kind, mut fields, input)) = other else { return Ok(()) };
        if kind == "toolUse" {
            let input = if input.trim().is_empty() { "{}" } else { &input };
            // The input was cut off. The provider would reject half a tool call, so the block is dropped.
            let Ok(input) = serde_json::from_str::<Value>(input) else { return Ok(()) };
            fields.insert("input".to_owned(), input);
        }
        reply.block(index, Content::Unknown(Map::from_iter([(kind.to_owned(), Value::Object(fields))])))
    }

    fn finish(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        for index in 0..self.blocks.len() {
            self.close(index, reply)?;
        }
        reply.finish()
    }
}

fn count(reply: &mut Reply, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let counted = |count: Option<u64>| count.unwrap_or_default().min(TOKEN_LIMIT);
    let usage = reply.usage_mut();
    usage.input = counted(tokens.input_tokens);
    usage.output = counted(tokens.output_tokens);
    usage.cache_read = counted(tokens.cache_read_input_tokens);
    usage.cache_write = counted(tokens.cache_write_input_tokens);
    usage.total_tokens = counted(tokens.total_tokens);
}

fn stop_reason(reason: &str) -> Result<StopReason, ProviderError> {
    Ok(match reason {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::Length,
        "guardrail_intervened" | "content_filtered" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        // Bedrock could not parse the model's output, so this code does not try either.
        "malformed_model_output" | "malformed_tool_use" => {
            return Err(ProviderError::InvalidReply(format!("the provider reported `{reason}`").into()));
        }
        // `end_turn`, `stop_sequence` and any future reason.
        _ => StopReason::Stop,
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
