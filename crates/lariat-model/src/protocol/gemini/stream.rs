//! Reading a reply: each event is a response object that holds the parts that are new.
//!
//! Owns the order of blocks and where signatures go. A signature on a text or an image belongs to that part; the
//! conversation has room for it only as reasoning without words, which is put right before the part and found there
//! by [`super::request`].
//! The protocol has no closing event: a reply is complete when the body ends after a reason for finishing.
//! Invariant: a call whose arguments were still arriving is not delivered.

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
use crate::wire::{Frame, Interpret, Reply};

/// Reads a stream of responses.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// The index of the next block.
    next: usize,
    open: Open,
    partial: Option<PartialCall>,
    counts: Counts,
}

/// The block that the next piece of its kind belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Thinking(usize),
    /// Text; the index before it is kept for its signature.
    Text(usize),
}

/// Text that is borrowed from the frame where it can be. (An option of `Cow` would always be owned.)
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
    content: Option<Parts<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    finish_message: Option<Text<'a>>,
    index: Option<u64>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    function_call: Option<Box<FunctionCall<'a>>>,
    inline_data: Option<Box<Blob>>,
}

/// A call, or a piece of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    /// Some services number their calls.
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

/// Tokens so far. Each response tells them again; what one leaves out still holds.
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

    /// The prompt's count includes what was cached; the candidates' does not include thoughts.
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

impl Interpret for Responses {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        // Proxies in the manner of OpenAI close every stream with this word.
        if frame.data == "[DONE]" {
            return Ok(());
        }
        let response: Response<'_> = serde_json::from_str(frame.data)
            .map_err(|error| invalid(format!("an event is not a response: {error}")))?;
        if let Some(trouble) = &response.error {
            return Err(error::of_stream(trouble));
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
        // One candidate is asked for; others would be other replies.
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

impl Responses {
    fn part(
        &mut self,
        part: Part<'_>,
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
            self.open = Open::Nothing;
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
            Open::Thinking(index) => index,
            _ => self.take_index(),
        };
        self.open = Open::Thinking(index);
        reply.thinking(index, text)?;
        if let Some(signature) = signature {
            self.open = Open::Nothing;
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
        // Empty text only carries a signature or the reason for finishing; it begins nothing.
        if text.is_empty() && signature.is_none() {
            return Ok(());
        }
        let index = match self.open {
            Open::Text(index) => index,
            _ => {
                let before = self.take_index();
                self.next = before + 2;
                before + 1
            }
        };
        self.open = Open::Text(index);
        reply.text(index, text)?;
        if let Some(signature) = signature {
            self.open = Open::Nothing;
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
        self.open = Open::Nothing;
        let goes_on = call.will_continue == Some(true);
        let in_pieces = goes_on || call.partial_args.is_some();
        if self.partial.is_none() && !in_pieces {
            let index = self.take_index();
            let arguments = call.args.clone().unwrap_or_else(|| Value::Object(Map::new()));
            let signature = signature.map(Cow::into_owned);
            return reply.whole_call(index, &call.id(), call.name(), arguments, signature);
        }
        let mut partial = match self.partial.take() {
            Some(partial) => partial,
            None => PartialCall::new(self.take_index()),
        };
        partial.take_in(call, signature, bytes)?;
        if goes_on {
            self.partial = Some(partial);
            return Ok(());
        }
        partial.finish(reply)
    }

    /// A part of a kind that only the service knows: kept as it is.
    fn opaque(&mut self, at: usize, frame: &str, reply: &mut Reply) -> Result<(), ProviderError> {
        let frame: Value = serde_json::from_str(frame).unwrap_or_default();
        let candidates = frame.get("candidates").and_then(Value::as_array).into_iter().flatten();
        let mut first = candidates.filter(|one| one.get("index").and_then(Value::as_u64).unwrap_or(0) == 0);
        let parts = first.next().and_then(|candidate| candidate.pointer("/content/parts"));
        let Some(Value::Object(fields)) = parts.and_then(|parts| parts.get(at)) else { return Ok(()) };
        if !is_opaque_part(fields) {
            return Ok(());
        }
        self.open = Open::Nothing;
        let index = self.take_index();
        reply.block(index, Content::Unknown(fields.clone()))
    }

    const fn take_index(&mut self) -> usize {
        let index = self.next;
        self.next += 1;
        index
    }
}

/// What a reason for finishing means. Reasons that cut a reply short are errors: half a reply is none.
fn finish(reason: &str, message: Option<&str>, reply: &mut Reply) -> Result<(), ProviderError> {
    let said = || {
        let message = message.map(|message| format!(": {message}")).unwrap_or_default();
        ErrorDetail::new(format!("the service ended the reply with {reason}{message}"))
    };
    let stop = match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
        // The second is a limit per request of very long replies.
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
        | "OTHER" => return Err(ProviderError::InvalidReply(said())),
        // The request's fault: it would end the same way again.
        "MISSING_THOUGHT_SIGNATURE" => return Err(ProviderError::Api(said())),
        // `STOP`, `NO_IMAGE`, and whatever comes to be.
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
