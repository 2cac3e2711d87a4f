//! The scripted server, which counts the tokens of requests with its own tokenizer.
//!
//! It counts what Anthropic's API would: system prompt, tools, every block, some framing, and a hidden
//! preamble. Its model calls the tool until the end of the script.

use std::sync::atomic::{AtomicUsize, Ordering};

use bpe_openai::Tokenizer;
use lariat_proofs::server::{Answer, Request, Script, Turn, TurnUsage};
use serde_json::{Value, json};

/// Tokens of framing for each message and each block, and the tokens added to every request with tools.
const FRAMING: u64 = 3;
const PREAMBLE: u64 = 346;

/// A tokenizer that stands in for that of a provider.
#[derive(Clone, Copy)]
pub(crate) struct ProviderTokenizer {
    pub(crate) name: &'static str,
    pub(crate) tokenizer: fn() -> &'static Tokenizer,
}

impl ProviderTokenizer {
    fn text(self, text: &str) -> u64 {
        (self.tokenizer)().count(text) as u64
    }

    fn request(self, body: &Value) -> u64 {
        let part = |name: &str| body.get(name).map_or(0, |part| self.value(part));
        PREAMBLE + part("system") + part("tools") + part("messages")
    }

    /// Counts all texts of a value. Field names are not sent to a model, but tools and arguments are, as
    /// JSON.
    fn value(self, value: &Value) -> u64 {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().map(|item| self.value(item)).sum(),
            Value::Object(fields) => {
                let sent = |(name, value): (&String, &Value)| match name.as_str() {
                    "type" | "role" | "cache_control" | "id" | "tool_use_id" => 0,
                    "input" | "input_schema" => self.text(&value.to_string()),
                    _ => self.value(value),
                };
                FRAMING + fields.iter().map(sent).sum::<u64>()
            }
            _ => 0,
        }
    }
}

/// The model's reply in each turn; after the last one it stops.
pub(crate) fn script(counting: ProviderTokenizer, replies: Vec<String>) -> Script {
    let next = AtomicUsize::new(0);
    Script::answer(move |request: &Request| -> Answer {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let text = replies.get(at).cloned().unwrap_or_default();
        let input = counting.request(&request.body);
        let arguments = json!({ "part": at });
        let output = counting.text(&text)
            + counting.text(&arguments.to_string())
            + counting.text("read")
            + 2 * FRAMING;
        // As if a cache contained everything except the newest part.
        let fresh = input / 10;
        let usage =
            TurnUsage { input: fresh, output, cache_read: input - fresh, cache_write: 0, reasoning: 0 };
        let turn = Turn::new().text(text).usage(usage);
        let goes_on = at + 1 < replies.len();
        Answer::Turn(if goes_on { turn.call(format!("toolu_{at:04}"), "read", &arguments) } else { turn })
    })
}
