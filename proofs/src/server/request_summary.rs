//! Extracts from a request of any protocol what a scripted model needs: the tools, whether thinking is
//! requested, and the content of the user's last turn.
//!
//! Expects Google's bodies in camel case.
//! Invariant: an image is reduced to its type and size, so that a reply can prove that it arrived.

use serde_json::Value;

use super::{Wire, base64, json};

pub(super) struct RequestSummary<'a> {
    /// Name and schema of each tool.
    pub(super) tools: Vec<(&'a str, &'a Value)>,
    pub(super) thinking: bool,
    /// Number of messages or items of the conversation.
    pub(super) length: usize,
    pub(super) latest: Latest,
}

pub(super) enum Latest {
    Prompt(String),
    /// One text per result, in order.
    Results(Vec<String>),
}

pub(super) fn summarize(wire: Wire, body: &Value) -> RequestSummary<'_> {
    let history = match wire {
        Wire::OpenAiResponses | Wire::AzureResponses => json::list(body, "input"),
        Wire::Gemini | Wire::Vertex => json::list(body, "contents"),
        _ => json::list(body, "messages"),
    };
    let latest = match (wire, body.get("input")) {
        (Wire::OpenAiResponses | Wire::AzureResponses, Some(Value::String(prompt))) => {
            Latest::Prompt(prompt.clone())
        }
        _ => latest(wire, history),
    };
    RequestSummary { tools: tools(wire, body), thinking: thinking(wire, body), length: history.len(), latest }
}

fn tools(wire: Wire, body: &Value) -> Vec<(&str, &Value)> {
    match wire {
        Wire::AnthropicMessages => {
            json::list(body, "tools").iter().filter_map(|tool| named_tool(tool, &["input_schema"])).collect()
        }
        Wire::OpenAiChat => json::list(body, "tools")
            .iter()
            .filter_map(|tool| named_tool(tool.get("function")?, &["parameters"]))
            .collect(),
        Wire::OpenAiResponses | Wire::AzureResponses => {
            json::list(body, "tools").iter().filter_map(|tool| named_tool(tool, &["parameters"])).collect()
        }
        Wire::Gemini | Wire::Vertex => json::list(body, "tools")
            .iter()
            .flat_map(|tool| json::list(tool, "functionDeclarations"))
            .filter_map(|tool| named_tool(tool, &["parametersJsonSchema", "parameters"]))
            .collect(),
        Wire::BedrockConverse => body
            .get("toolConfig")
            .map_or(&[][..], |config| json::list(config, "tools"))
            .iter()
            .filter_map(|tool| {
                let spec = tool.get("toolSpec")?;
                Some((json::text(spec, "name")?, spec.get("inputSchema")?.get("json")?))
            })
            .collect(),
    }
}

fn named_tool<'a>(tool: &'a Value, schemas: &[&str]) -> Option<(&'a str, &'a Value)> {
    let schema = schemas.iter().find_map(|key| tool.get(*key)).unwrap_or(&Value::Null);
    Some((json::text(tool, "name")?, schema))
}

fn thinking(wire: Wire, body: &Value) -> bool {
    match wire {
        Wire::AnthropicMessages => body
            .get("thinking")
            .and_then(|thinking| json::text(thinking, "type"))
            .is_some_and(|kind| matches!(kind, "enabled" | "adaptive")),
        Wire::OpenAiChat => json::text(body, "reasoning_effort").is_some_and(|effort| effort != "none"),
        Wire::OpenAiResponses | Wire::AzureResponses => body
            .get("reasoning")
            .and_then(|reasoning| json::text(reasoning, "effort"))
            .is_some_and(|effort| effort != "none"),
        Wire::Gemini | Wire::Vertex => body
            .pointer("/generationConfig/thinkingConfig/includeThoughts")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        Wire::BedrockConverse => body
            .pointer("/additionalModelRequestFields/thinking/type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind != "disabled"),
    }
}

/// The last turn: its results if it has any, otherwise its text.
fn latest(wire: Wire, history: &[Value]) -> Latest {
    let mut results: Vec<String> = Vec::new();
    match wire {
        // Results are separate messages or items at the end.
        Wire::OpenAiChat => {
            let tail = history.iter().rev().take_while(|message| json::text(message, "role") == Some("tool"));
            results.extend(tail.map(|message| content_text(message.get("content"))));
            results.reverse();
        }
        Wire::OpenAiResponses | Wire::AzureResponses => {
            let tail = history
                .iter()
                .rev()
                .take_while(|item| json::text(item, "type") == Some("function_call_output"));
            results.extend(tail.map(|item| content_text(item.get("output"))));
            results.reverse();
        }
        Wire::AnthropicMessages => {
            let blocks = history.last().map_or(&[][..], |message| json::list(message, "content"));
            let found = blocks.iter().filter(|block| json::text(block, "type") == Some("tool_result"));
            results.extend(found.map(|block| content_text(block.get("content"))));
        }
        Wire::BedrockConverse => {
            let blocks = history.last().map_or(&[][..], |message| json::list(message, "content"));
            results.extend(
                blocks
                    .iter()
                    .filter_map(|block| block.get("toolResult"))
                    .map(|result| content_text(result.get("content"))),
            );
        }
        Wire::Gemini | Wire::Vertex => {
            let parts = history.last().map_or(&[][..], |content| json::list(content, "parts"));
            for response in parts.iter().filter_map(|part| part.get("functionResponse")) {
                let said = json::fields(response.get("response").unwrap_or(&Value::Null))
                    .map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                let shown = json::list(response, "parts").iter().map(piece);
                results.push(said.chain(shown).collect::<Vec<_>>().join(" "));
            }
        }
    }
    if !results.is_empty() {
        return Latest::Results(results);
    }
    let last = history.last();
    let content = last.and_then(|message| message.get("content").or_else(|| message.get("parts")));
    Latest::Prompt(content_text(content))
}

/// A content field of any protocol as text.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => {
            pieces.iter().map(piece).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// A block, part or item of content as text.
fn piece(piece: &Value) -> String {
    if let Some(text) = json::text(piece, "text") {
        return text.to_owned();
    }
    let image = |kind: &str, data: &str| {
        let bytes = base64::decode(data).map_or(0, |bytes| bytes.len());
        format!("[{kind}, {bytes} bytes]")
    };
    let from_url = |url: &str| {
        let (kind, data) =
            url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).unwrap_or(("url", ""));
        image(kind, data)
    };
    if let Some(source) = piece.get("source") {
        return image(
            json::text(source, "media_type").unwrap_or_default(),
            json::text(source, "data").unwrap_or_default(),
        );
    }
    if let Some(url) = piece.get("image_url") {
        return from_url(url.as_str().or_else(|| json::text(url, "url")).unwrap_or_default());
    }
    if let Some(blob) = piece.get("inlineData") {
        return image(
            json::text(blob, "mimeType").unwrap_or_default(),
            json::text(blob, "data").unwrap_or_default(),
        );
    }
    if let Some(picture) = piece.get("image") {
        let data = picture.get("source").and_then(|source| json::text(source, "bytes")).unwrap_or_default();
        return image(&format!("image/{}", json::text(picture, "format").unwrap_or_default()), data);
    }
    if let Some(value) = piece.get("json") {
        return value.to_string();
    }
    String::new()
}
