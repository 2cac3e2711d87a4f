//! Decodes replies: the named events of a stream.
//!
//! Each block gets its own index in the reply when it starts, so that a gateway which gives all blocks the
//! same number mixes nothing up. Blocks of unknown types are assembled as the official SDK does it and
//! emitted whole. Invariant: an unknown event changes nothing.

use std::borrow::Cow;

use lariat_core::content::Content;
use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;
use lariat_core::usage::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error;
use crate::wire::{Frame, Reply, StreamInterpreter};

/// Maximum number of blocks in one reply, so that a stream that loops cannot exhaust the memory.
const BLOCK_LIMIT: usize = 16 * 1024;
/// Maximum total size of the blocks of unknown types in one reply, in bytes.
const HELD_LIMIT: usize = 32 * 1024 * 1024;
/// Arguments of a tool call that neither received any nor ended: an incomplete object, which does not parse.
/// An empty text would parse as no arguments.
const INCOMPLETE_ARGUMENTS: &str = "{";
/// Upper bound for reported token numbers, so that a broken provider's numbers cannot overflow sums. No request has
/// used more.
const TOKEN_LIMIT: u64 = 1 << 40;

/// Text borrowed from the frame unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn piece(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|Text(text)| text).unwrap_or_default()
}

/// All events in one flat shape: fields that are missing or null become `None`.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Box<MessageStart<'a>>>,
    content_block: Option<Value>,
    usage: Option<Box<Tokens>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct MessageStart<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    usage: Option<Tokens>,
}

/// Token counts so far; each event repeats the ones it knows.
#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

/// The blocks of a reply. A block's position is its index in the reply.
#[derive(Debug, Default)]
pub(super) struct MessagesInterpreter {
    blocks: Vec<Block>,
    held_bytes: usize,
}

#[derive(Debug)]
struct Block {
    wire: u64,
    kind: BlockKind,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    Thinking,
    /// Holds the input that came with the start, until parts of the arguments arrive.
    Call(Option<Value>),
    /// A block of an unknown type: its fields and the parts of its input.
    Other(Map<String, Value>, String),
    Closed,
}

impl StreamInterpreter for MessagesInterpreter {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        if frame.name == "error" {
            return Err(error::in_stream(frame.data));
        }
        let event: Event<'_> = serde_json::from_str(frame.data).map_err(|error| {
            ProviderError::InvalidReply(format!("cannot read an event of the stream: {error}").into())
        })?;
        let kind = event.kind.as_ref().map_or(frame.name, |kind| &kind.0);
        match kind {
            "content_block_delta" => self.delta(event, frame.data, reply),
            "content_block_start" => self.start(event.index.unwrap_or_default(), event.content_block, reply),
            "content_block_stop" => match self.index_of(event.index.unwrap_or_default()) {
                Some(index) => self.close(index, reply),
                None => Ok(()),
            },
            "message_start" => {
                let opening = event.message;
                let model = opening.as_ref().and_then(|opening| opening.model.as_ref());
                reply.start(model.map_or("", |model| &model.0));
                count(reply.usage_mut(), opening.and_then(|opening| opening.usage));
                Ok(())
            }
            "message_delta" => {
                count(reply.usage_mut(), event.usage.map(|tokens| *tokens));
                if let Some(Text(reason)) = event.delta.and_then(|delta| delta.stop_reason) {
                    reply.stop(stop_reason(&reason));
                }
                Ok(())
            }
            "message_stop" => {
                for (index, block) in self.blocks.iter().enumerate() {
                    if let BlockKind::Call(None) = block.kind {
                        reply.replace_arguments(index, INCOMPLETE_ARGUMENTS);
                    }
                }
                for index in 0..self.blocks.len() {
                    self.close(index, reply)?;
                }
                reply.finish()
            }
            "error" => Err(error::in_stream(frame.data)),
            _ => Ok(()),
        }
    }
}

impl MessagesInterpreter {
    /// The index of the newest block with this wire number.
    fn index_of(&self, wire: u64) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.wire == wire)
    }

    fn open(&mut self, wire: u64, kind: BlockKind) -> Result<usize, ProviderError> {
        if self.blocks.len() >= BLOCK_LIMIT {
            return Err(ProviderError::InvalidReply(format!("more than {BLOCK_LIMIT} blocks").into()));
        }
        self.blocks.push(Block { wire, kind });
        Ok(self.blocks.len() - 1)
    }

    fn add_held_bytes(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.held_bytes += bytes;
        if self.held_bytes > HELD_LIMIT {
            let megabytes = HELD_LIMIT / (1024 * 1024);
            let what = format!("blocks of unknown types exceed {megabytes} MB");
            return Err(ProviderError::InvalidReply(what.into()));
        }
        Ok(())
    }

    fn start(&mut self, wire: u64, block: Option<Value>, reply: &mut Reply) -> Result<(), ProviderError> {
        let Some(Value::Object(mut fields)) = block else { return Ok(()) };
        let mut take = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => text,
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        match take("type").as_str() {
            "text" => {
                let index = self.open(wire, BlockKind::Text)?;
                reply.text(index, take("text").into())
            }
            "thinking" => {
                let index = self.open(wire, BlockKind::Thinking)?;
                reply.thinking(index, take("thinking").into())?;
                reply.signature(index, take("signature").into())
            }
            "redacted_thinking" => {
                let index = self.open(wire, BlockKind::Closed)?;
                let data = take("data");
                self.add_held_bytes(data.len())?;
                match data.is_empty() {
                    true => Ok(()),
                    false => reply.block(index, Content::RedactedThinking { data }),
                }
            }
            "tool_use" => {
                let (id, name) = (take("id"), take("name"));
                let whole =
                    fields.remove("input").filter(|input| input.as_object().is_some_and(|f| !f.is_empty()));
                let index = self.open(wire, BlockKind::Call(whole))?;
                reply.call(index, &id, &name)
            }
            "" => Ok(()),
            kind => {
                fields.insert("type".to_owned(), kind.into());
                self.add_held_bytes(Value::Object(fields.clone()).to_string().len())?;
                self.open(wire, BlockKind::Other(fields, String::new())).map(drop)
            }
        }
    }

    #[inline]
    fn delta(&mut self, event: Event<'_>, data: &str, reply: &mut Reply) -> Result<(), ProviderError> {
        let wire = event.index.unwrap_or_default();
        let delta = event.delta.unwrap_or_default();
        let kind = delta.kind.as_ref().map_or("", |kind| &kind.0);
        let index = self.index_of(wire);
        if let Some(index) = index
            && let Some(Block { kind: BlockKind::Other(..), .. }) = self.blocks.get(index)
        {
            self.add_held_bytes(data.len())?;
            match delta.partial_json {
                Some(Text(piece)) => self.grow_input(index, &piece),
                None => self.grow(index, data),
            }
            return Ok(());
        }
        match kind {
            "text_delta" => {
                let index = index.map_or_else(|| self.open(wire, BlockKind::Text), Ok)?;
                reply.text(index, piece(delta.text))
            }
            "thinking_delta" => {
                let index = index.map_or_else(|| self.open(wire, BlockKind::Thinking), Ok)?;
                reply.thinking(index, piece(delta.thinking))
            }
            "signature_delta" => match index {
                Some(index) => reply.signature(index, piece(delta.signature)),
                None => Ok(()),
            },
            "input_json_delta" => {
                let piece = piece(delta.partial_json);
                let Some(index) = index.filter(|_| !piece.is_empty()) else { return Ok(()) };
                if let Some(Block { kind: kind @ BlockKind::Call(_), .. }) = self.blocks.get_mut(index) {
                    *kind = BlockKind::Closed;
                }
                reply.arguments(index, piece)
            }
            // Citations refer to documents by position; the text is complete without them.
            _ => Ok(()),
        }
    }

    fn grow_input(&mut self, index: usize, piece: &str) {
        if let Some(Block { kind: BlockKind::Other(_, input), .. }) = self.blocks.get_mut(index) {
            input.push_str(piece);
        }
    }

    /// Applies an unknown delta to a block of an unknown type: strings are appended, everything else is
    /// replaced.
    fn grow(&mut self, index: usize, data: &str) {
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        let Some(Block { kind: BlockKind::Other(fields, _), .. }) = self.blocks.get_mut(index) else {
            return;
        };
        let pieces = event.get("delta").and_then(Value::as_object).into_iter().flatten();
        for (name, piece) in pieces.filter(|(name, _)| *name != "type") {
            match (fields.get_mut(name), piece) {
                (Some(Value::String(text)), Value::String(piece)) => text.push_str(piece),
                _ => drop(fields.insert(name.clone(), piece.clone())),
            }
        }
    }

    fn close(&mut self, index: usize, reply: &mut Reply) -> Result<(), ProviderError> {
        let Some(block) = self.blocks.get_mut(index) else { return Ok(()) };
        match &mut block.kind {
            BlockKind::Call(whole) => {
                let whole = whole.take();
                block.kind = BlockKind::Closed;
                whole.map_or(Ok(()), |input| reply.arguments(index, input.to_string().into()))
            }
            BlockKind::Other(..) => {
                let BlockKind::Other(mut fields, input) =
                    std::mem::replace(&mut block.kind, BlockKind::Closed)
                else {
                    return Ok(());
                };
                if !input.is_empty() {
                    // The input was cut off. The provider would reject half a call, so the block is dropped.
                    let Ok(input) = serde_json::from_str(&input) else { return Ok(()) };
                    fields.insert("input".to_owned(), input);
                }
                reply.block(index, Content::Unknown(fields))
            }
            BlockKind::Text | BlockKind::Thinking | BlockKind::Closed => Ok(()),
        }
    }
}

fn count(usage: &mut Usage, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let mut set = |slot: fn(&mut Usage) -> &mut u64, count: Option<u64>| {
        if let Some(count) = count {
            *slot(usage) = count.min(TOKEN_LIMIT);
        }
    };
    set(|usage| &mut usage.input, tokens.input_tokens);
    set(|usage| &mut usage.output, tokens.output_tokens);
    set(|usage| &mut usage.cache_write, tokens.cache_creation_input_tokens);
    set(|usage| &mut usage.cache_read, tokens.cache_read_input_tokens);
    set(
        |usage| &mut usage.reasoning,
        tokens.output_tokens_details.and_then(|details| details.thinking_tokens),
    );
    usage.total_tokens = usage.context().saturating_add(usage.output);
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "max_tokens" => StopReason::Length,
        "tool_use" => StopReason::ToolUse,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        // `end_turn`, `stop_sequence` and any future reason.
        _ => StopReason::Stop,
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
