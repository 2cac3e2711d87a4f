//! Decodes the stream of Chat Completions.
//!
//! Interprets each field of a chunk, however a compatible provider fills it. A reply consists of reasoning,
//! text and any number of tool calls, in this order, because its wire form cannot express more. Invariant: a
//! reply is complete only with a finish reason; `[DONE]` alone is not enough, and not required.

use std::borrow::Cow;

use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::call_matcher::{CallKey, CallMatcher};
use super::dialect::{Dialect, ReasoningField};
use super::fields::{ArgumentsField, Count, Parts, Text};
use super::{error, finish_reason};
use crate::wire::{Frame, Reply, StreamInterpreter};

const REASONING: usize = 0;
const TEXT: usize = 1;
const FIRST_CALL: usize = 2;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Box<Usage>>,
    #[serde(default)]
    x_groq: Option<Box<Groq>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(borrow, default)]
    code: Option<Text<'a>>,
    #[serde(default)]
    base_resp: Option<Box<BaseResponse>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// Some providers send the whole message at once.
    #[serde(borrow, default)]
    message: Option<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    #[serde(default)]
    usage: Option<Box<Usage>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Parts<'a>>,
    #[serde(borrow, default)]
    refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Parts<'a>>,
    #[serde(borrow, default)]
    reasoning: Option<Parts<'a>>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow, default)]
    function_call: Option<Box<FunctionDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    #[serde(default)]
    index: Option<Count>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<ArgumentsField<'a>>,
}

#[derive(Deserialize)]
struct Groq {
    #[serde(default)]
    usage: Option<Box<Usage>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct BaseResponse {
    #[serde(default)]
    status_code: Option<Count>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<Count>,
    completion_tokens: Option<Count>,
    total_tokens: Option<Count>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's field for cached tokens.
    prompt_cache_hit_tokens: Option<Count>,
    /// Moonshot's field for cached tokens.
    cached_tokens: Option<Count>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<Count>,
    cache_write_tokens: Option<Count>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<Count>,
}

/// Decodes chunks.
pub(super) struct ChunkInterpreter {
    reasoning: [Option<ReasoningField>; 2],
    calls: CallMatcher,
    details: Vec<Value>,
    refused: bool,
}

impl ChunkInterpreter {
    pub(super) fn new(dialect: &Dialect) -> Self {
        let reasoning = dialect.reply_reasoning;
        Self { reasoning, calls: CallMatcher::default(), details: Vec::new(), refused: false }
    }

    fn choice(&mut self, choice: Choice<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        for delta in choice.delta.into_iter().chain(choice.message.map(|message| *message)) {
            self.delta(delta, reply)?;
        }
        let reason = Text::of(&choice.finish_reason);
        if !reason.is_empty() {
            let reason = finish_reason::stop_reason(reason)?;
            let refused = self.refused && reason == StopReason::Stop;
            reply.stop(if refused { StopReason::Refusal } else { reason });
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let (mut content, mut plain) = (delta.reasoning_content, delta.reasoning);
        let mut details = delta.reasoning_details.unwrap_or_default();
        for field in self.reasoning.into_iter().flatten() {
            let has_text = match field {
                ReasoningField::ReasoningContent => parts(content.take(), reply, REASONING)?,
                ReasoningField::Reasoning => parts(plain.take(), reply, REASONING)?,
                ReasoningField::ReasoningDetails => {
                    let text: String = details.iter().filter_map(detail_text).collect();
                    reply.thinking(REASONING, Cow::Borrowed(&text))?;
                    !text.is_empty()
                }
            };
            if has_text {
                break;
            }
        }
        if self.reasoning.contains(&Some(ReasoningField::ReasoningDetails)) {
            details.drain(..).for_each(|detail| merge_detail(&mut self.details, detail));
        }
        parts(delta.content, reply, TEXT)?;
        let refusal = Text::take(delta.refusal);
        if !refusal.is_empty() {
            self.refused = true;
            reply.text(TEXT, refusal)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            let number = call.index.and_then(|index| index.0);
            self.call(Text::of(&call.id), number, call.function, reply)?;
        }
        match delta.function_call {
            Some(function) => self.call("", Some(0), Some(*function), reply),
            None => Ok(()),
        }
    }

    fn call(
        &mut self,
        id: &str,
        number: Option<u64>,
        function: Option<FunctionDelta<'_>>,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let (name, arguments) = function.map_or((None, None), |function| (function.name, function.arguments));
        let name = Text::of(&name);
        let whole = !name.is_empty()
            && match &arguments {
                Some(ArgumentsField::Text(text)) => serde_json::from_str::<IgnoredAny>(text).is_ok(),
                Some(ArgumentsField::Whole(_)) => true,
                None => false,
            };
        let index = FIRST_CALL + self.calls.position(CallKey { id, number, name, whole });
        reply.call(index, id, name)?;
        match arguments {
            Some(ArgumentsField::Text(text)) => reply.arguments(index, text),
            Some(ArgumentsField::Whole(value)) => {
                reply.replace_arguments(index, &value.to_string());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn finish(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        if !self.details.is_empty() {
            let details = Value::Array(std::mem::take(&mut self.details)).to_string();
            reply.signature(REASONING, Cow::Owned(details))?;
        }
        reply.finish()
    }
}

impl StreamInterpreter for ChunkInterpreter {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            return self.finish(reply);
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| {
            ProviderError::InvalidReply(format!("cannot read a chunk of the stream: {error}").into())
        })?;
        let groq_failed = chunk.x_groq.as_ref().is_some_and(|groq| groq.error.is_some());
        let choice_failed = || chunk.choices.iter().flatten().any(|choice| choice.error.is_some());
        let wrapped = chunk.base_resp.as_ref().and_then(|base| base.status_code).unwrap_or_default();
        let coded = chunk.choices.is_none() && !Text::of(&chunk.code).is_empty();
        let failed = chunk.error.is_some() || frame.name == "error" || Text::of(&chunk.object) == "error";
        if failed || groq_failed || coded || wrapped.or_zero() != 0 || choice_failed() {
            return Err(failure(data));
        }
        let model = Text::of(&chunk.model);
        if !model.is_empty() || chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty()) {
            reply.start(model);
        }
        let mut usage = chunk.usage.or_else(|| chunk.x_groq.and_then(|groq| groq.usage));
        // The request asked for one choice, so further choices are ignored.
        if let Some(mut choice) = chunk.choices.into_iter().flatten().next() {
            usage = usage.or_else(|| choice.usage.take());
            self.choice(choice, reply)?;
        }
        if let Some(usage) = usage {
            count(&usage, reply);
        }
        Ok(())
    }

    fn end(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        if reply.has_stopped() {
            return self.finish(reply);
        }
        Err(ProviderError::Network("the stream ended before the reply was complete".into()))
    }
}

fn failure(data: &str) -> ProviderError {
    let json: Value = serde_json::from_str(data).unwrap_or(Value::Null);
    // OpenRouter puts the error into the choice, Groq into its extra field.
    let inner = ["/choices/0", "/x_groq"].iter().find_map(|place| {
        json.pointer(place).filter(|holder| holder.get("error").is_some_and(|error| !error.is_null()))
    });
    error::in_stream(inner.unwrap_or(&json))
}

/// Adds the parts to the reply. Returns whether any part had text.
fn parts(parts: Option<Parts<'_>>, reply: &mut Reply, index: usize) -> Result<bool, ProviderError> {
    let mut give = |index: usize, text: Cow<'_, str>| match index {
        REASONING => reply.thinking(index, text),
        _ => reply.text(index, text),
    };
    match parts {
        Some(Parts::Text(text)) => {
            let has_text = !text.is_empty();
            give(index, text)?;
            Ok(has_text)
        }
        Some(Parts::List(list)) => {
            let mut has_text = false;
            for part in list {
                has_text |= !part.text.is_empty();
                give(if part.reasoning { REASONING } else { index }, Cow::Owned(part.text))?;
            }
            Ok(has_text)
        }
        None => Ok(false),
    }
}

fn detail_text(detail: &Value) -> Option<&str> {
    detail.get("text").or_else(|| detail.get("summary"))?.as_str()
}

/// Merges a detail into the list. Text and signature of one detail arrive as several objects of the same type
/// and index.
fn merge_detail(details: &mut Vec<Value>, piece: Value) {
    let grows = |last: &Value| {
        let same = |field: &str| last.get(field) == piece.get(field);
        let textual = |kind: &Value| kind == "reasoning.text" || kind == "reasoning.summary";
        piece.get("type").is_some_and(textual) && same("type") && same("index")
    };
    match (details.last_mut().filter(|last| grows(last)), piece) {
        (Some(Value::Object(last)), Value::Object(piece)) => {
            for (name, value) in piece {
                match (last.get_mut(&name), value) {
                    (_, Value::Null) => {}
                    (Some(Value::String(text)), Value::String(more))
                        if name == "text" || name == "summary" =>
                    {
                        text.push_str(&more);
                    }
                    (_, value) => {
                        last.insert(name, value);
                    }
                }
            }
        }
        (_, piece) => details.push(piece),
    }
}

fn count(usage: &Usage, reply: &mut Reply) {
    let number = |count: Option<Count>| count.unwrap_or_default().or_zero();
    let prompt = number(usage.prompt_tokens);
    let completion = number(usage.completion_tokens);
    let total = number(usage.total_tokens);
    if prompt == 0 && completion == 0 && total == 0 {
        return;
    }
    let details = usage.prompt_tokens_details.as_ref();
    let cached = [details.and_then(|details| details.cached_tokens), usage.prompt_cache_hit_tokens];
    let cached = cached.into_iter().chain([usage.cached_tokens]).map(number).max().unwrap_or_default();
    let cache_read = cached.min(prompt);
    let written = number(details.and_then(|details| details.cache_write_tokens));
    let cache_write = written.min(prompt - cache_read);
    let reasoning = number(usage.completion_tokens_details.as_ref().and_then(|d| d.reasoning_tokens));
    // xAI reports reasoning in addition to the completion; the total reveals it.
    let beside = reasoning > 0 && total == prompt.saturating_add(completion).saturating_add(reasoning);
    let counted = reply.usage_mut();
    counted.input = prompt - cache_read - cache_write;
    counted.output = if beside { completion.saturating_add(reasoning) } else { completion };
    counted.cache_read = cache_read;
    counted.cache_write = cache_write;
    counted.reasoning = reasoning.min(counted.output);
    counted.total_tokens = total;
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
