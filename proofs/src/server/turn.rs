//! A scripted reply, independent of the protocol: blocks, stop reason, usage. `render` turns it into bytes.

use serde_json::Value;

use super::Wire;
use super::crc32::crc32;

/// A scripted reply of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The content of the reply, in order.
    pub blocks: Vec<TurnBlock>,
    /// Why it stopped.
    pub stop: Stop,
    /// The usage; `None` omits it from the reply.
    pub usage: Option<TurnUsage>,
    /// The model that replied. If empty, the server inserts the requested model.
    pub model: String,
    /// The reply's id without the protocol's prefix.
    pub id: String,
    /// Characters per delta; `None` splits into chunks of varying size.
    pub piece: Option<usize>,
}

/// One block of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnBlock {
    /// Readable thinking.
    Thinking {
        /// The text.
        text: String,
        /// Proof that the text is the model's own, in base64. Google calls it a thought signature and
        /// attaches it to the next part; the Responses API calls it encrypted content; Chat Completions does
        /// not have it.
        signature: Option<String>,
    },
    /// Redacted thinking, in base64.
    RedactedThinking {
        /// The opaque data.
        data: String,
    },
    /// Text for the user.
    Text(String),
    /// A tool call.
    Call {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them: JSON, unless the script plays a bad model.
        arguments: String,
    },
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The reply is complete.
    Stop,
    /// The limit of output tokens was reached.
    Length,
    /// The model waits for tool results.
    ToolUse,
    /// The model refused.
    Refusal,
    /// The API paused a long turn, which may be continued.
    Pause,
    /// The context window was full.
    ContextExceeded,
    /// A stop sequence was written.
    StopSequence,
}

/// Token usage of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnUsage {
    /// Input tokens neither read from nor written to a cache.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens that were reasoning.
    pub reasoning: u64,
}

impl TurnUsage {
    /// All input tokens, cached or not: what OpenAI and Google call prompt tokens.
    #[must_use]
    pub const fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl Default for TurnUsage {
    fn default() -> Self {
        Self { input: 25, output: 40, cache_read: 0, cache_write: 0, reasoning: 0 }
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            stop: Stop::Stop,
            usage: Some(TurnUsage::default()),
            model: String::new(),
            id: "0123456789abcdef".to_owned(),
            piece: None,
        }
    }
}

impl Turn {
    /// An empty reply that stops at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds thinking, signed by the server, which later detects if the text was changed.
    #[must_use]
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        let signature = Some(signature(&text));
        self.blocks.push(TurnBlock::Thinking { text, signature });
        self
    }

    /// Adds redacted thinking; `data` is base64.
    #[must_use]
    pub fn redacted(mut self, data: impl Into<String>) -> Self {
        self.blocks.push(TurnBlock::RedactedThinking { data: data.into() });
        self
    }

    /// Adds text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(TurnBlock::Text(text.into()));
        self
    }

    /// Adds a tool call and sets the stop reason.
    #[must_use]
    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        self.call_raw(id, name, arguments.to_string())
    }

    /// Adds a tool call whose arguments need not be JSON, and sets the stop reason.
    #[must_use]
    pub fn call_raw(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        self.blocks.push(TurnBlock::Call { id: id.into(), name: name.into(), arguments: arguments.into() });
        self.stop = Stop::ToolUse;
        self
    }

    /// Sets why the model stopped.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the usage.
    #[must_use]
    pub fn usage(mut self, usage: TurnUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Omits usage.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Sets which model replied.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets the reply's id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Splits text and arguments into deltas of this many characters.
    #[must_use]
    pub fn piece(mut self, characters: usize) -> Self {
        self.piece = Some(characters.max(1));
        self
    }
}

impl Stop {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Stop,
        Self::Length,
        Self::ToolUse,
        Self::Refusal,
        Self::Pause,
        Self::ContextExceeded,
        Self::StopSequence,
    ];

    /// The reason as far as a protocol can express it: what a perfect client can know. `ToolUse` is kept even
    /// where only the presence of tool calls shows it.
    #[must_use]
    pub const fn seen_through(self, wire: Wire) -> Self {
        match (wire, self) {
            (Wire::AnthropicMessages, _)
            | (Wire::BedrockConverse, Self::ContextExceeded | Self::StopSequence) => self,
            (_, Self::Pause | Self::StopSequence) => Self::Stop,
            (Wire::OpenAiChat | Wire::Gemini | Wire::Vertex, Self::ContextExceeded) => Self::Length,
            _ => self,
        }
    }
}

/// Prefix of a decoded signature, before the checksum.
const SIGNED: &str = "lariat-signed:";

/// Signs a text, so that the server can later detect whether it was changed.
#[must_use]
pub fn signature(text: &str) -> String {
    super::base64::encode(format!("{SIGNED}{:08x}", crc32(text.as_bytes())).as_bytes())
}

/// Whether a signature belongs to a text. Signatures that the server did not make are accepted.
#[must_use]
pub fn signature_fits(signature: &str, text: &str) -> bool {
    let decoded = super::base64::decode(signature).and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.as_deref().and_then(|decoded| decoded.strip_prefix(SIGNED)) {
        Some(sum) => sum == format!("{:08x}", crc32(text.as_bytes())),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Turn, TurnBlock, signature, signature_fits};

    #[test]
    fn a_signature_is_valid_only_for_its_text() {
        let signed = signature("two plus two");
        assert!(signature_fits(&signed, "two plus two"));
        assert!(!signature_fits(&signed, "two plus  two"));
        assert!(signature_fits("EqoBCkgIARABGAIiQ", "a signature made elsewhere"));
    }

    #[test]
    fn a_call_sets_the_stop_reason_to_tool_use() {
        let turn = Turn::new().call("a", "read", &serde_json::json!({"path": "x"}));
        assert_eq!(turn.stop, super::Stop::ToolUse);
        let [TurnBlock::Call { arguments, .. }] = &turn.blocks[..] else { panic!("{turn:?}") };
        assert_eq!(arguments, r#"{"path":"x"}"#);
    }
}
