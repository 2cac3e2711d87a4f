//! Estimates how many tokens a text, an image or a message uses, without asking the provider.
//!
//! Has the contract for token counters, the built-in counter and the rules for images. The tracker adds what
//! providers report. Invariant: the same content always has the same count, computed in time proportional to
//! its length.

use std::fmt;

use super::classes;
use super::image::{self, ImageSize};
use crate::content::Content;
use crate::message::{AgentMessage, Message};

/// Tokens for the role and the delimiters of a message.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens of an image of unknown size.
const IMAGE_TOKENS: u64 = 1_200;
/// Pixels per token in Anthropic's image formula.
const PIXELS_PER_TOKEN: u64 = 750;
/// Maximum tokens of an image: larger images are scaled down first.
const LARGEST_IMAGE_TOKENS: u64 = 1_600;

/// Counts the tokens of a text. Must be deterministic: the count of a text never changes.
///
/// ```
/// use lariat_core::context::TokenCounter;
///
/// #[derive(Debug)]
/// struct WordCounter;
///
/// impl TokenCounter for WordCounter {
///     fn count(&self, text: &str) -> u64 {
///         text.split_whitespace().map(|_| 1).sum()
///     }
/// }
///
/// assert_eq!(WordCounter.count("one two three"), 3);
/// ```
pub trait TokenCounter: fmt::Debug + Send + Sync {
    /// Returns the tokens of a text.
    fn count(&self, text: &str) -> u64;
}

/// The built-in counter, which looks at the sequence of character classes. Needs no tokenizer tables and
/// processes hundreds of megabytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CharacterClasses;

impl TokenCounter for CharacterClasses {
    fn count(&self, text: &str) -> u64 {
        classes::count(text)
    }
}

/// How a provider counts the tokens of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageTokens {
    /// Every image has the same count.
    Flat(u64),
    /// By area, as Anthropic does; the default count if the size is unknown.
    ByArea,
}

impl Default for ImageTokens {
    fn default() -> Self {
        Self::Flat(IMAGE_TOKENS)
    }
}

impl ImageTokens {
    /// Returns the rule of the provider that uses a wire protocol.
    pub fn of_protocol(api: &str) -> Self {
        if api.starts_with("anthropic") || api.starts_with("bedrock") {
            Self::ByArea
        } else {
            Self::default()
        }
    }

    /// Returns the tokens of a base64 image.
    pub fn count(self, data: &str) -> u64 {
        match (self, image::size(data)) {
            (Self::Flat(tokens), _) => tokens,
            (Self::ByArea, None) => IMAGE_TOKENS,
            (Self::ByArea, Some(ImageSize { width, height })) => {
                let pixels = u64::from(width) * u64::from(height);
                pixels.div_ceil(PIXELS_PER_TOKEN).clamp(1, LARGEST_IMAGE_TOKENS)
            }
        }
    }
}

/// Estimates the tokens of a text with the built-in counter.
pub fn estimate_tokens(text: &str) -> u64 {
    CharacterClasses.count(text)
}

/// Estimates the tokens of a message with the built-in counter.
pub fn message_tokens(message: &AgentMessage) -> u64 {
    count_message(&CharacterClasses, ImageTokens::default(), message)
}

/// Returns the tokens of a message as sent; 0 for content that is never sent to a model.
pub fn count_message(counter: &dyn TokenCounter, images: ImageTokens, message: &AgentMessage) -> u64 {
    let Some(message) = message.as_llm() else { return 0 };
    let content = message.content();
    if content.is_empty() {
        return 0;
    }
    let sent_back = |block: &&Content| !matches!(block, Content::Thinking { signature: None, .. });
    let blocks = content.iter().filter(sent_back).map(|block| count_block(counter, images, block));
    let id = match message {
        Message::ToolResult(result) => counter.count(result.tool_call_id.as_str()),
        _ => 0,
    };
    MESSAGE_TOKENS + id + blocks.sum::<u64>()
}

fn count_block(counter: &dyn TokenCounter, images: ImageTokens, block: &Content) -> u64 {
    let json = |value: &dyn fmt::Display| counter.count(&value.to_string());
    match block {
        Content::Text { text } => counter.count(text),
        Content::Image { data, .. } => images.count(data),
        Content::Thinking { thinking, .. } => counter.count(thinking),
        Content::RedactedThinking { data } => counter.count(data),
        Content::ToolCall(call) => {
            MESSAGE_TOKENS
                + counter.count(call.id.as_str())
                + counter.count(&call.name)
                + json(&call.arguments)
        }
        Content::Unknown(fields) => serde_json::to_string(fields).map_or(0, |text| counter.count(&text)),
    }
}

/// Returns the tokens of the reasoning in a reply that is sent back, and of the reasoning that is not.
pub(super) fn thinking_tokens(counter: &dyn TokenCounter, content: &[Content]) -> (u64, u64) {
    content.iter().fold((0, 0), |(back, gone), block| match block {
        Content::Thinking { thinking, signature: Some(_) } => (back + counter.count(thinking), gone),
        Content::Thinking { thinking, signature: None } => (back, gone + counter.count(thinking)),
        Content::RedactedThinking { data } => (back + counter.count(data), gone),
        _ => (back, gone),
    })
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
