//! The seven protocols by name, and how a path selects one: operation, model, streaming.
//!
//! Invariant: every path belongs to at most one protocol, so that one server can serve all seven.

use std::fmt;

/// A model API's wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wire {
    /// Anthropic's Messages API.
    AnthropicMessages,
    /// OpenAI's Chat Completions and the many compatible servers.
    OpenAiChat,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// The Responses API as Azure serves it.
    AzureResponses,
    /// Google's Gemini Developer API.
    Gemini,
    /// Gemini as Vertex AI serves it.
    Vertex,
    /// Amazon Bedrock's Converse and ConverseStream.
    BedrockConverse,
}

/// The operation that a request's path selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A reply of a model. `model` is set only if the path names it (Google, Amazon).
    Generate {
        /// The model in the path, percent-decoded.
        model: Option<String>,
        /// Whether the path requests a stream; `None` if the body decides.
        streaming: Option<bool>,
    },
    /// The number of tokens of a request. Some paths name the model.
    Count {
        /// The model in the path, percent-decoded.
        model: Option<String>,
    },
    /// The list of models.
    Models,
}

impl Wire {
    /// Every protocol.
    pub const ALL: [Self; 7] = [
        Self::AnthropicMessages,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AzureResponses,
        Self::Gemini,
        Self::Vertex,
        Self::BedrockConverse,
    ];

    /// A short name for tables and test names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic",
            Self::OpenAiChat => "chat",
            Self::OpenAiResponses => "responses",
            Self::AzureResponses => "azure",
            Self::Gemini => "gemini",
            Self::Vertex => "vertex",
            Self::BedrockConverse => "bedrock",
        }
    }

    /// The path prefix of the protocol on this server: the base URL for its official SDK.
    #[must_use]
    pub const fn base_path(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "/anthropic",
            Self::OpenAiChat => "/chat/v1",
            Self::OpenAiResponses => "/responses/v1",
            Self::AzureResponses => "/azure/openai/v1",
            Self::Gemini => "/gemini",
            Self::Vertex => "/vertex",
            Self::BedrockConverse => "/bedrock",
        }
    }

    /// Whether the stream consists of server-sent events; Bedrock's is binary.
    #[must_use]
    pub const fn is_sse(self) -> bool {
        !matches!(self, Self::BedrockConverse)
    }

    /// The protocol and the operation of a path (without its query).
    #[must_use]
    pub fn of_path(path: &str) -> Option<(Self, Operation)> {
        Self::ALL.into_iter().find_map(|wire| Some((wire, wire.operation(path)?)))
    }

    /// The operation of `path`, if it is a path of this protocol.
    #[must_use]
    pub fn operation(self, path: &str) -> Option<Operation> {
        let inside = |base: &str| path.strip_prefix(base);
        let generate = Operation::Generate { model: None, streaming: None };
        match self {
            Self::AnthropicMessages => match inside("/anthropic")? {
                "/v1/messages" => Some(generate),
                "/v1/messages/count_tokens" => Some(Operation::Count { model: None }),
                "/v1/models" => Some(Operation::Models),
                _ => None,
            },
            Self::OpenAiChat => match inside("/chat/v1")? {
                "/chat/completions" => Some(generate),
                "/models" => Some(Operation::Models),
                _ => None,
            },
            Self::OpenAiResponses => match inside("/responses/v1")? {
                "/responses" => Some(generate),
                "/responses/input_tokens" => Some(Operation::Count { model: None }),
                "/models" => Some(Operation::Models),
                _ => None,
            },
            // The Azure class of the SDK still calls the dated API (`/openai/responses?api-version=…`).
            Self::AzureResponses => match inside("/azure/openai")? {
                "/v1/responses" | "/responses" => Some(generate),
                "/v1/models" | "/models" => Some(Operation::Models),
                _ => None,
            },
            Self::Gemini => {
                let rest = inside("/gemini/v1beta").or_else(|| inside("/gemini/v1"))?;
                if rest == "/models" {
                    return Some(Operation::Models);
                }
                google(rest.strip_prefix("/models/")?)
            }
            Self::Vertex => {
                let rest = inside("/vertex/v1beta1").or_else(|| inside("/vertex/v1"))?;
                let rest = rest.strip_prefix('/')?;
                if let Some(model) = rest.strip_prefix("publishers/google/models") {
                    return model.is_empty().then_some(Operation::Models);
                }
                let mut words = rest.splitn(8, '/');
                let shape = [words.next()?, words.next()?, words.next()?, words.next()?];
                let owner = [words.next()?, words.next()?, words.next()?];
                let ["projects", _, "locations", _] = shape else { return None };
                if owner != ["publishers", "google", "models"] {
                    return None;
                }
                google(words.next()?)
            }
            Self::BedrockConverse => {
                let rest = inside("/bedrock")?;
                if rest == "/foundation-models" {
                    return Some(Operation::Models);
                }
                let (model, verb) = rest.strip_prefix("/model/")?.split_once('/')?;
                let streaming = match verb {
                    "converse" => false,
                    "converse-stream" => true,
                    "count-tokens" => return Some(Operation::Count { model: Some(percent_decoded(model)) }),
                    _ => return None,
                };
                Some(Operation::Generate { model: Some(percent_decoded(model)), streaming: Some(streaming) })
            }
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// `MODEL:generateContent` or `MODEL:streamGenerateContent`.
fn google(rest: &str) -> Option<Operation> {
    let (model, verb) = rest.rsplit_once(':')?;
    let streaming = match verb {
        "generateContent" => false,
        "streamGenerateContent" => true,
        "countTokens" => return Some(Operation::Count { model: Some(percent_decoded(model)) }),
        _ => return None,
    };
    Some(Operation::Generate { model: Some(percent_decoded(model)), streaming: Some(streaming) })
}

/// Decodes percent escapes; invalid ones are kept.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escape {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
