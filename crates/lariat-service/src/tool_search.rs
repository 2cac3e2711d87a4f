//! Lets the model find connected tools (MCP servers, APIs) if their definitions would take too much of the context window.
//!
//! Then no definition of them is sent. The model has two tools instead: `tool_search` returns the best matches with their
//! schemas, and `tool_call` calls one. A `tool_call` becomes a call of the tool itself when the reply arrives
//! ([`FoundToolCalls`]), so permission rules, hooks, limits and the journal see the tool by its own name.
//!
//! Schemas are read only when a search returns them: a session may know thousands of tools.
//!
//! Invariant: the definitions in a request stay the same for the whole session, so the cached prefix stays valid; what the
//! model found is in results of `tool_search`, which the journal keeps.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::model::{
    ModelConfig, ModelStream, ProviderError, StreamConfig, StreamEvent, StreamProvider,
};
use lariat_core::nearest::nearest;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

/// The name of the tool that finds tools.
const SEARCH: &str = "tool_search";
/// The name of the tool that calls a tool that was found.
const CALL: &str = "tool_call";
/// Bytes of a definition per token, as an estimate.
const BYTES_PER_TOKEN: usize = 4;
/// How many tools a search returns.
const BEST: usize = 5;
/// How many names a search without a match lists.
const LISTED: usize = 40;
/// The weight of a word in the name of a tool, compared with one in its description.
const NAME_WEIGHT: usize = 4;

/// The connected tools of a session whose definitions are not sent.
pub(crate) struct HiddenTools {
    tools: Arc<[Arc<dyn AgentTool>]>,
    names: Arc<BTreeSet<String>>,
}

impl HiddenTools {
    /// The tools to hide.
    pub(crate) fn new(tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        let tools: Arc<[Arc<dyn AgentTool>]> = tools.into_iter().collect();
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        Self { tools, names: Arc::new(names) }
    }

    /// Whether to hide tools: if their definitions, of `bytes` bytes, take more than `percent` of a window of `window` tokens.
    pub(crate) fn is_needed(bytes: usize, percent: u8, window: u64) -> bool {
        let most = window.saturating_mul(percent.into()) / 100;
        (bytes / BYTES_PER_TOKEN) as u64 > most
    }

    /// The tools that the model has instead.
    pub(crate) fn tools(&self) -> [Arc<dyn AgentTool>; 2] {
        let sources: BTreeSet<&str> = self.tools.iter().map(|tool| source(tool.name())).collect();
        let sources: Vec<&str> = sources.into_iter().collect();
        let description = format!(
            "Finds one of {} more tools, by words of their names and descriptions. Returns the best matches with the schemas of their arguments. \
             Call a tool that you found with `{CALL}`. The tools come from: {}.",
            self.tools.len(),
            sources.join(", ")
        );
        [
            Arc::new(ToolSearch { tools: Arc::clone(&self.tools), description }),
            Arc::new(FoundToolCall { tools: Arc::clone(&self.tools) }),
        ]
    }

    /// The names of the tools.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        (*self.names).clone()
    }

    /// A provider whose replies call these tools by their own names.
    pub(crate) fn provider(&self, inner: Arc<dyn StreamProvider>) -> Arc<dyn StreamProvider> {
        Arc::new(FoundToolCalls { inner, names: Arc::clone(&self.names) })
    }
}

/// The size of the definition of a tool, in bytes.
pub(crate) fn definition_bytes(tool: &dyn AgentTool) -> usize {
    tool.name().len() + tool.description().len() + tool.parameters_schema().to_string().len()
}

/// The server or API in the name of a tool: `time` of `mcp__time__now`.
fn source(name: &str) -> &str {
    name.split("__").nth(1).unwrap_or(name)
}

/// `tool_search`: finds tools.
struct ToolSearch {
    tools: Arc<[Arc<dyn AgentTool>]>,
    description: String,
}

impl ToolSearch {
    fn find(&self, query: &str) -> String {
        let words = words(query);
        let score = |tool: &dyn AgentTool| -> usize {
            let (name, description) = (self::words(tool.name()), self::words(tool.description()));
            let has =
                |text: &[String], word: &String| text.iter().any(|known| known.starts_with(word.as_str()));
            let each =
                |word| NAME_WEIGHT * usize::from(has(&name, word)) + usize::from(has(&description, word));
            if tool.name() == query.trim() { usize::MAX } else { words.iter().map(each).sum() }
        };
        let mut found: Vec<(usize, &dyn AgentTool)> =
            self.tools.iter().map(|tool| (score(&**tool), &**tool)).filter(|(score, _)| *score > 0).collect();
        // Stable, so that equal tools stay in the order of their servers.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        if found.is_empty() {
            let names: Vec<&str> = self.tools.iter().take(LISTED).map(|tool| tool.name()).collect();
            let more = self.tools.len().saturating_sub(LISTED);
            return format!("No tool matches. Some of the tools: {} (and {more} more).", names.join(", "));
        }
        let shown = found.iter().take(BEST).map(|(_, tool)| {
            let (name, description) = (tool.name(), tool.description());
            json!({ "name": name, "description": description, "arguments": tool.parameters_schema() })
                .to_string()
        });
        let shown: Vec<String> = shown.collect();
        let rest = found.len().saturating_sub(BEST);
        let more = if rest > 0 {
            format!("\n{rest} more tools match; use other words to see them.")
        } else {
            String::new()
        };
        format!("{}{more}", shown.join("\n"))
    }
}

/// The words of a text, in lower case. Names are split at `_` and `-`, and before capital letters.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| word.chars().count() > 1);
    words
}

impl AgentTool for ToolSearch {
    fn name(&self) -> &str {
        SEARCH
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "query": { "type": "string", "description": "Words that describe what the tool does, or its name." } },
            "required": ["query"],
            "additionalProperties": false
        })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(&'a self, params: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let query = params.get("query").and_then(Value::as_str);
        let found = query.map(|query| ToolResult::text(self.find(query)));
        Box::pin(std::future::ready(
            found.ok_or_else(|| ToolError::InvalidArgs("`query` must be a string".to_owned())),
        ))
    }
}

/// `tool_call`: calls a tool that was found. It only runs if the call names no such tool; see [`FoundToolCalls`].
struct FoundToolCall {
    tools: Arc<[Arc<dyn AgentTool>]>,
}

impl AgentTool for FoundToolCall {
    fn name(&self) -> &str {
        CALL
    }

    fn description(&self) -> &str {
        "Calls a tool that `tool_search` returned."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the tool, as `tool_search` returned it." },
                "arguments": { "type": "object", "description": "The arguments of the tool, by its schema." }
            },
            "required": ["name", "arguments"],
            "additionalProperties": false
        })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(&'a self, params: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let names = self.tools.iter().map(|tool| tool.name());
        let meant =
            nearest(name, names).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let problem = match params.get("arguments") {
            Some(Value::Object(_)) => format!("no tool is named `{name}`{meant}; find tools with `{SEARCH}`"),
            _ => "`arguments` must be an object".to_owned(),
        };
        Box::pin(std::future::ready(Err(ToolError::InvalidArgs(problem))))
    }
}

/// A provider that turns each `tool_call` of a reply into a call of the tool that it names.
struct FoundToolCalls {
    inner: Arc<dyn StreamProvider>,
    names: Arc<BTreeSet<String>>,
}

/// The call of the tool that a `tool_call` names; the same call if it names none.
fn real_call(call: ToolCall, names: &BTreeSet<String>) -> ToolCall {
    if call.name != CALL {
        return call;
    }
    let name = call.arguments.get("name").and_then(Value::as_str).filter(|name| names.contains(*name));
    let arguments = call.arguments.get("arguments").filter(|arguments| arguments.is_object());
    match (name, arguments) {
        (Some(name), Some(arguments)) => ToolCall {
            name: name.to_owned(),
            arguments: arguments.clone(),
            id: call.id,
            signature: call.signature,
        },
        _ => call,
    }
}

impl StreamProvider for FoundToolCalls {
    fn provider_id(&self) -> &str {
        self.inner.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let names = Arc::clone(&self.names);
        let events = self.inner.stream(request, cancel).map(move |event| {
            event.map(|event| match event {
                StreamEvent::ToolCallEnd { index, call } => {
                    StreamEvent::ToolCallEnd { index, call: real_call(call, &names) }
                }
                other => other,
            })
        });
        Box::pin(events)
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        self.inner.count_tokens(request)
    }

    fn reports_cost(&self, model: &ModelConfig) -> bool {
        self.inner.reports_cost(model)
    }

    fn check_model(&self, model: &ModelConfig) -> Result<(), ProviderError> {
        self.inner.check_model(model)
    }
}

#[cfg(test)]
#[path = "tool_search_tests.rs"]
mod tests;
