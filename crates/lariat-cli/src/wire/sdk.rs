//! The lines exchanged with a controlling program: its prompts and requests, our requests and responses.
//!
//! Defines their shape in both directions; `commands::run::host` acts on them. Unknown fields are ignored.

use lariat_api::ContextUse;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_service::Prompt;
use lariat_service::callbacks::HandlerResult;
use lariat_service::claude_tools::{claude_input, claude_name, own_input};
use serde_json::{Value, json};

/// Maximum bytes of a line; images are sent inside lines.
pub(crate) const MAX_LINE_BYTES: usize = 10 * 1024 * 1024;

/// A line from the program.
#[derive(Debug)]
pub(crate) enum ControlLine {
    /// A prompt.
    Prompt(Prompt),
    /// A request to Lariat.
    Request { id: String, request: ControlRequest },
    /// The response to our request. An error is a denial.
    Response { id: String, answer: Result<Value, String> },
    /// The program withdraws a request.
    Cancel,
    /// A line that Lariat ignores.
    Other,
    /// Invalid JSON, or an unexpected shape.
    Broken(String),
}

/// A request from the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    /// Starts the session. `hooks` registers functions of the program, `system_prompt` is text that precedes ours, and
    /// `unsupported` names the requested features that are not supported.
    Initialize { hooks: Value, system_prompt: String, unsupported: Vec<&'static str> },
    /// Stops the run.
    Interrupt,
    /// Changes the permission mode.
    SetMode(String),
    /// Changes the model; `None` selects the one in the settings.
    SetModel(Option<String>),
    /// Asks for the context window usage.
    ContextUsage,
    /// Asks for the MCP servers.
    McpStatus,
    /// A request that Lariat does not support.
    Unknown(String),
}

/// Features of `initialize` that are not supported.
const UNSUPPORTED: [&str; 3] = ["agents", "skills", "sdkMcpServers"];

pub(crate) fn read(line: &str) -> ControlLine {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return ControlLine::Broken(error.to_string()),
    };
    match text(&value, "type") {
        "user" => prompt(&value),
        "control_request" => ControlLine::Request {
            id: text(&value, "request_id").to_owned(),
            request: request(value.get("request").unwrap_or(&Value::Null)),
        },
        "control_response" => response(value.get("response").unwrap_or(&Value::Null)),
        "control_cancel_request" => ControlLine::Cancel,
        _ => ControlLine::Other,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn prompt(value: &Value) -> ControlLine {
    let content = value.get("message").and_then(|message| message.get("content"));
    let mut prompt = Prompt::default();
    match content {
        Some(Value::String(text)) => prompt.text.clone_from(text),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                match text(block, "type") {
                    "text" => {
                        let gap = if prompt.text.is_empty() { "" } else { "\n" };
                        prompt.text.extend([gap, text(block, "text")]);
                    }
                    "image" => {
                        let source = block.get("source").unwrap_or(&Value::Null);
                        let image = (text(source, "data").to_owned(), text(source, "media_type").to_owned());
                        prompt.images.push(image);
                    }
                    other => return ControlLine::Broken(format!("unsupported content block `{other}`")),
                }
            }
        }
        _ => return ControlLine::Broken("a user message without content".to_owned()),
    }
    ControlLine::Prompt(prompt)
}

fn request(request: &Value) -> ControlRequest {
    match text(request, "subtype") {
        "initialize" => {
            let is_requested = |name: &&str| match request.get(*name) {
                None | Some(Value::Null) => false,
                Some(Value::Array(list)) => !list.is_empty(),
                Some(Value::Object(map)) => !map.is_empty(),
                Some(_) => true,
            };
            let hooks = request.get("hooks").filter(|_| is_requested(&"hooks")).cloned().unwrap_or_default();
            let prompts =
                ["systemPrompt", "appendSystemPrompt"].into_iter().filter_map(|name| request.get(name));
            let texts = prompts.flat_map(|prompt| match prompt {
                Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
                other => Vec::from_iter(other.as_str()),
            });
            let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            ControlRequest::Initialize {
                hooks,
                system_prompt: texts.join("\n\n"),
                unsupported: UNSUPPORTED.into_iter().filter(is_requested).collect(),
            }
        }
        "interrupt" => ControlRequest::Interrupt,
        "set_permission_mode" => ControlRequest::SetMode(text(request, "mode").to_owned()),
        "set_model" => {
            ControlRequest::SetModel(request.get("model").and_then(Value::as_str).map(str::to_owned))
        }
        "get_context_usage" => ControlRequest::ContextUsage,
        "mcp_status" => ControlRequest::McpStatus,
        other => ControlRequest::Unknown(other.to_owned()),
    }
}

fn response(response: &Value) -> ControlLine {
    let id = text(response, "request_id").to_owned();
    let answer = match text(response, "subtype") {
        "success" => Ok(response.get("response").cloned().unwrap_or_default()),
        _ => Err(text(response, "error").to_owned()),
    };
    ControlLine::Response { id, answer }
}

/// A success response.
pub(crate) fn success(id: &str, response: Value) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    })
}

/// An error response.
pub(crate) fn failure(id: &str, error: &str) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": id, "error": error },
    })
}

/// The response to `initialize`.
pub(crate) fn welcome(model: &str) -> Value {
    json!({
        "commands": [],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{ "value": model, "displayName": model, "description": "" }],
        "account": {},
        "hooks_applied": true,
    })
}

/// The approval request for a tool call.
pub(crate) fn can_use_tool(id: &str, request: &PermissionRequest, input: &Value) -> Value {
    json!({
        "type": "control_request",
        "request_id": id,
        "request": {
            "subtype": "can_use_tool",
            "tool_name": claude_name(&request.tool_name),
            "input": claude_input(&request.tool_name, input),
            "tool_use_id": request.tool_call_id,
            "permission_suggestions": suggestions(request),
            "decision_reason": request.reason,
            "title": format!("Allow {}?", claude_name(&request.tool_name)),
            "display_name": claude_name(&request.tool_name),
            "description": match request.agent_path() {
                Some(path) => format!("{path}: {}", request.summary),
                None => request.summary.clone(),
            },
        },
    })
}

/// The call of a function that the program registered as a hook.
pub(crate) fn hook_callback(id: &str, callback_id: &str, input: &str) -> Value {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    json!({
        "type": "control_request",
        "request_id": id,
        "request": {
            "subtype": "hook_callback",
            "callback_id": callback_id,
            "tool_use_id": input.get("tool_use_id"),
            "input": input,
        },
    })
}

/// What the answer to a hook callback means: the output of a hook that succeeded, or a failure, which blocks.
pub(crate) fn hook_result(answer: Result<Value, String>) -> HandlerResult {
    match answer {
        Ok(output @ Value::Object(_)) => {
            HandlerResult::Exited { code: 0, output: output.to_string(), errors: String::new() }
        }
        Ok(Value::Null) => HandlerResult::Exited { code: 0, output: String::new(), errors: String::new() },
        Ok(other) => {
            HandlerResult::Failed(format!("the program answered with {other}, which is not an object"))
        }
        Err(error) => HandlerResult::Failed(error),
    }
}

/// Withdraws a request of ours.
pub(crate) fn cancel(id: &str) -> Value {
    json!({ "type": "control_cancel_request", "request_id": id })
}

/// The rules that an approval could remember, as permission updates.
fn suggestions(request: &PermissionRequest) -> Vec<Value> {
    let Some(remember) = &request.remember else { return Vec::new() };
    let rules: Vec<Value> = remember
        .lines()
        .map(|rule| match rule.split_once('(') {
            Some((tool, content)) => {
                json!({ "toolName": tool, "ruleContent": content.strip_suffix(')').unwrap_or(content) })
            }
            None => json!({ "toolName": rule }),
        })
        .collect();
    vec![json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session" })]
}

/// The decision in a response, and whether the run should stop. Anything that is not clearly an approval is a denial. If the
/// program returns changed arguments, the permission check judges them before the tool call runs with them.
pub(crate) fn decision(
    answer: &Result<Value, String>,
    request: &PermissionRequest,
    input: &Value,
) -> (PermissionDecision, bool) {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return (PermissionDecision::deny(error.clone()), false),
    };
    if text(answer, "behavior") != "allow" {
        let interrupts = answer.get("interrupt").and_then(Value::as_bool).unwrap_or_default();
        let message = Some(text(answer, "message")).filter(|message| !message.is_empty());
        return (PermissionDecision::Deny { reason: message.map(str::to_owned) }, interrupts);
    }
    if let Some(returned) = answer.get("updatedInput").filter(|returned| !returned.is_null()) {
        match own_input(&request.tool_name, input, returned) {
            Ok(None) => {}
            Ok(Some(changed)) => return (PermissionDecision::allow_changed(changed), false),
            Err(why) => {
                let reason = format!("the program approved arguments that cannot be applied: {why}");
                return (PermissionDecision::deny(reason), false);
            }
        }
    }
    let updates = answer.get("updatedPermissions").and_then(Value::as_array);
    let suggested = suggestions(request);
    let same = |update: &Value| {
        suggested.iter().any(|suggestion| {
            ["type", "rules", "behavior"]
                .iter()
                .all(|name| rules_of(suggestion, name) == rules_of(update, name))
        })
    };
    let remembered = updates.into_iter().flatten().find(|update| same(update));
    let decision = match remembered.map(|update| text(update, "destination")) {
        None => PermissionDecision::Allow,
        Some("session" | "") => PermissionDecision::AllowSession,
        Some(_) => PermissionDecision::AllowAlways,
    };
    (decision, false)
}

/// A field of a permission update, without null values.
fn rules_of(update: &Value, name: &str) -> Value {
    let mut value = update.get(name).cloned().unwrap_or_default();
    for rule in value.as_array_mut().into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.retain(|_, value| !value.is_null());
        }
    }
    value
}

/// The usage of the context window. `window` is the size that the model has.
pub(crate) fn context_usage(context: &ContextUse, model: &str, window: u64) -> Value {
    let most = if context.window == 0 { window } else { context.window };
    let categories: Vec<Value> = context
        .parts
        .iter()
        .map(|(name, tokens)| json!({ "name": name, "tokens": tokens, "color": "gray" }))
        .collect();
    json!({
        "categories": categories,
        "totalTokens": context.used,
        "maxTokens": most,
        "rawMaxTokens": window,
        "percentage": context.used_percent().unwrap_or_default(),
        "model": model,
        "isAutoCompactEnabled": true,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "gridRows": [],
    })
}

#[cfg(test)]
#[path = "sdk_tests.rs"]
mod tests;
