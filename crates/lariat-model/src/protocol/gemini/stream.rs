//! Decodes replies: each event is a response object with the parts that are new.
//!
//! A signature on a text or an image belongs to that part. A transcript can only store it as reasoning
//! without text, so it is emitted right before the part, where [`super::request`] finds it again.
//! The protocol has no closing event: a reply is complete when the body ends after a finish reason.
//! Invariant: a tool call whose arguments are incomplete is not emitted.

use std::borrow::Cow;

use lariat_core::content::Content;
use lariat_core::message::StopReason;
use lariat_core::model::{ErrorDetail, ProviderError};
use lariat_core::usage::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error;
use super::partial::PartialCall;
use super::validate::is_opaque_part;
use crate::wire::{Frame, Reply, StreamInterpreter};

/// Decodes a stream of responses.
#[derive(Debug, Default)]
pub(super) struct ResponseInterpreter {
    /// Index of the next block.
    next: usize,
    open: OpenBlock,
    partial: Option<PartialCall>,
    counts: Counts,
}

/// The block that the next delta of the same kind belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
enum OpenBlock {
    #[default]
    Nothing,
    Thinking(usize),
    /// Text; the index before it is reserved for its signature.
    Text(usize),
}

/// Text borrowed from the frame if possible. (An `Option<Cow>` would always be owned.)
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    prompt_feedback: Option<Box<PromptFeedback<'a>>>,
    usage_metadata: Option<Counts>,
    #[serde(borrow)]
    model_version: Option<Text<'a>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<ContentParts<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    finish_message: Option<Text<'a>>,
    index: Option<u64>,
}

#[derive(Deserialize)]
struct ContentParts<'a> {
    #[serde(borrow)]
    parts: Option<Vec<ContentPart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentPart<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    function_call: Option<Box<FunctionCall<'a>>>,
    inline_data: Option<Box<Blob>>,
}

/// A tool call, or a part of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    /// Some providers use numbers as ids.
    pub(super) id: Option<Value>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    pub(super) args: Option<Value>,
    pub(super) partial_args: Option<Vec<super::partial::PartialArg>>,
    pub(super) will_continue: Option<bool>,
}

impl FunctionCall<'_> {
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| &name.0)
    }

    pub(super) fn id(&self) -> String {
        match &self.id {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    mime_type: Option<String>,
    data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow)]
    block_reason: Option<Text<'a>>,
}

/// Token counts so far. Each response repeats them; a count that one omits keeps its last value.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl Counts {
    fn update(&mut self, newer: Self) {
        let newest = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        newest(&mut self.prompt_token_count, newer.prompt_token_count);
        newest(&mut self.cached_content_token_count, newer.cached_content_token_count);
        newest(&mut self.candidates_token_count, newer.candidates_token_count);
        newest(&mut self.thoughts_token_count, newer.thoughts_token_count);
        newest(&mut self.tool_use_prompt_token_count, newer.tool_use_prompt_token_count);
        newest(&mut self.total_token_count, newer.total_token_count);
    }

    /// The prompt's count includes cached tokens; the candidates' count does not include thoughts.
    fn fill(&self, usage: &mut Usage) {
        let cached = self.cached_content_token_count.unwrap_or(0);
        let prompt = self.prompt_token_count.unwrap_or(0).saturating_sub(cached);
        let thoughts = self.thoughts_token_count.unwrap_or(0);
        usage.input = prompt.saturating_add(self.tool_use_prompt_token_count.unwrap_or(0));
        usage.cache_read = cached;
        usage.output = self.candidates_token_count.unwrap_or(0).saturating_add(thoughts);
        usage.reasoning = thoughts;
        usage.total_tokens = self.total_token_count.unwrap_or(0);
    }
}

impl StreamInterpreter for ResponseInterpreter {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        // OpenAI-style proxies close every stream with this.
        if frame.data == "[DONE]" {
            return Ok(());
        }
        let response: Response<'_> = serde_json::from_str(frame.data)
            .map_err(|error| invalid(format!("cannot read an event of the stream: {error}")))?;
        if let Some(rpc_error) = &response.error {
            return Err(error::in_stream(rpc_error));
        }
        reply.start(response.model_version.as_ref().map_or("", |model| &model.0));
        if let Some(counts) = response.usage_metadata {
            self.counts.update(counts);
            self.counts.fill(reply.usage_mut());
        }
        if let Some(feedback) = response.prompt_feedback
            && feedback.block_reason.is_some_and(|reason| !reason.0.is_empty())
        {
            reply.stop(StopReason::Refusal);
        }
        let candidates = response.candidates.unwrap_or_default();
        // The request asked for one candidate; others would be other replies.
        let Some(candidate) = candidates.into_iter().find(|one| one.index.unwrap_or(0) == 0) else {
            return Ok(());
        };
        let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        for (at, part) in parts.into_iter().enumerate() {
            self.part(part, at, frame.data, reply)?;
        }
        if let Some(reason) = candidate.finish_reason {
            let message = candidate.finish_message.map(|message| message.0);
            finish(&reason.0, message.as_deref(), reply)?;
        }
        Ok(())
    }

    fn end(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        if self.partial.is_some() && reply.has_stopped() {
            return Err(invalid("the reply ended in the middle of a tool call".to_owned()));
        }
        reply.finish()
    }
}

impl ResponseInterpreter {
    fn part(
        &mut self,
        part: ContentPart<'_>,
        at: usize,
        frame: &str,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let signature = part.thought_signature.map(|signature| signature.0).filter(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            return self.call(&call, signature, frame.len(), reply);
        }
        if let Some(Blob { mime_type: Some(mime_type), data: Some(data) }) =
            part.inline_data.map(|blob| *blob)
        {
            let index = self.take_index() + 1;
            self.next = index + 1;
            self.open = OpenBlock::Nothing;
            reply.signature(index - 1, signature.unwrap_or_default())?;
            return reply.block(index, Content::Image { data, mime_type });
        }
        let Some(Text(text)) = part.text else { return self.opaque(at, frame, reply) };
        if part.thought == Some(true) {
            self.thought(text, signature, reply)
        } else {
            self.text(text, signature, reply)
        }
    }

    fn thought(
        &mut self,
        text: Cow<'_, str>,
        signature: Option<Cow<'_, str>>,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let index = match self.open {
            OpenBlock::Thinking(index) => index,
            _ => self.take_index(),
        };
        self.open = OpenBlock::Thinking(index);
        reply.thinking(index, text)?;
        if let Some(signature) = signature {
            self.open = OpenBlock::Nothing;
            reply.signature(index, signature)?;
        }
        Ok(())
    }

    fn text(
        &mut self,
        text: Cow<'_, str>,
        signature: Option<Cow<'_, str>>,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        // An empty text only carries a signature or the finish reason; it does not start a block.
        if text.is_empty() && signature.is_none() {
            return Ok(());
        }
        let index = match self.open {
            OpenBlock::Text(index) => index,
            _ => {
                let before = self.take_index();
                self.next = before + 2;
                before + 1
            }
        };
        self.open = OpenBlock::Text(index);
        reply.text(index, text)?;
        if let Some(signature) = signature {
            self.open = OpenBlock::Nothing;
            reply.signature(index.saturating_sub(1), signature)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &FunctionCall<'_>,
        signature: Option<Cow<'_, str>>,
        bytes: usize,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        self.open = OpenBlock::Nothing;
        let continues = call.will_continue == Some(true);
        let is_partial = continues || call.partial_args.is_some();
        if self.partial.is_none() && !is_partial {
            let index = self.take_index();
            let arguments = call.args.clone().unwrap_or_else(|| Value::Object(Map::new()));
            let signature = signature.map(Cow::into_owned);
            return reply.complete_call(index, &call.id(), call.name(), arguments, signature);
        }
        let mut partial = match self.partial.take() {
            Some(partial) => partial,
            None => PartialCall::new(self.take_index()),
        };
        partial.add(call, signature, bytes)?;
        if continues {
            self.partial = Some(partial);
            return Ok(());
        }
        partial.finish(reply)
    }

    /// Keeps a part of a type that only the provider understands.
    fn opaque(&mut self, at: usize, frame: &str, reply: &mut Reply) -> Result<(), ProviderError> {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        let candidates = frame.get("candidates").and_then(Value::as_array).into_iter().flatten();
        let mut first = candidates.filter(|one| one.get("index").and_then(Value::as_u64).unwrap_or(0) == 0);
        let parts = first.next().and_then(|candidate| candidate.pointer("/content/parts"));
        let Some(Value::Object(fields)) = parts.and_then(|parts| parts.get(at)) else { return Ok(()) };
        if !is_opaque_part(fields) {
            return Ok(());
        }
        self.open = OpenBlock::Nothing;
        let index = self.take_index();
        reply.block(index, Content::Unknown(fields.clone()))
    }

    const fn take_index(&mut self) -> usize {
        let index = self.next;
        self.next += 1;
        index
    }
}

/// Applies a finish reason. Reasons that cut a reply short become errors, because half a reply is not a
/// reply.
fn finish(reason: &str, message: Option<&str>, reply: &mut Reply) -> Result<(), ProviderError> {
    let detail = || {
        let message = message.map(|message| format!(": {message}")).unwrap_or_default();
        ErrorDetail::new(format!("the provider ended the reply with {reason}{message}"))
    };
    let stop = match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
        // The second is a limit per request for very long replies.
        "MAX_TOKENS" | "CONTINUATION" => StopReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::Refusal,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE"
        | "IMAGE_OTHER"
        | "OTHER" => return Err(ProviderError::InvalidReply(detail())),
        // The request's fault: a retry would end the same way.
        "MISSING_THOUGHT_SIGNATURE" => return Err(ProviderError::Api(detail())),
        // `STOP`, `NO_IMAGE` and any future reason.
        _ => StopReason::Stop,
    };
    reply.stop(stop);
    Ok(())
}

fn invalid(what: String) -> ProviderError {
    ProviderError::InvalidReply(what.into())
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
