//! The lines between us and a program that holds a session: what it says and asks, what we ask and answer.
//!
//! Owns their shape, in both directions; who acts on them is `commands::run::host`. Lenient in what is read.

use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::hooks::{claude_input, claude_name};
use lariat_runtime::prompt::ContextReport;
use lariat_service::Prompt;
use serde_json::{Value, json};

/// Bytes of a line at most: pictures come in lines.
pub(crate) const LINE: usize = 10 * 1024 * 1024;

/// What a line says.
#[derive(Debug)]
pub(crate) enum Line {
    /// Something to do.
    Prompt(Prompt),
    /// A question to us.
    Request { id: String, request: Request },
    /// The answer to a question of ours; an error is one that says no.
    Response { id: String, answer: Result<Value, String> },
    /// A question to us need not be answered any more.
    Cancel,
    /// Nothing that concerns us.
    Other,
    /// No JSON, or not in the shape it should have.
    Broken(String),
}

/// What we are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To begin; with the names of what it wishes and cannot have.
    Initialize { lacking: Vec<&'static str> },
    /// To end the run.
    Interrupt,
    /// To run other things without a question.
    SetMode(String),
    /// To use another model; none for the one of the settings.
    SetModel(Option<String>),
    /// What is in the window.
    ContextUsage,
    /// Which servers of tools there are.
    McpStatus,
    /// Something that we cannot do.
    Unknown(String),
}

/// What cannot be had of what a program may wish for when it begins.
const LACKING: [&str; 4] = ["hooks", "agents", "skills", "sdkMcpServers"];

/// Reads a line.
pub(crate) fn read(line: &str) -> Line {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return Line::Broken(error.to_string()),
    };
    match text(&value, "type") {
        "user" => prompt(&value),
        "control_request" => Line::Request {
            id: text(&value, "request_id").to_owned(),
            request: request(value.get("request").unwrap_or(&Value::Null)),
        },
        "control_response" => response(value.get("response").unwrap_or(&Value::Null)),
        "control_cancel_request" => Line::Cancel,
        _ => Line::Other,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn prompt(value: &Value) -> Line {
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
                    other => return Line::Broken(format!("a block of kind `{other}` cannot be said")),
                }
            }
        }
        _ => return Line::Broken("a user message without content".to_owned()),
    }
    Line::Prompt(prompt)
}

fn request(request: &Value) -> Request {
    match text(request, "subtype") {
        "initialize" => {
            let is_wished = |name: &&str| match request.get(*name) {
                None | Some(Value::Null) => false,
                Some(Value::Array(list)) => !list.is_empty(),
                Some(Value::Object(map)) => !map.is_empty(),
                Some(_) => true,
            };
            Request::Initialize { lacking: LACKING.into_iter().filter(is_wished).collect() }
        }
        "interrupt" => Request::Interrupt,
        "set_permission_mode" => Request::SetMode(text(request, "mode").to_owned()),
        "set_model" => Request::SetModel(request.get("model").and_then(Value::as_str).map(str::to_owned)),
        "get_context_usage" => Request::ContextUsage,
        "mcp_status" => Request::McpStatus,
        other => Request::Unknown(other.to_owned()),
    }
}

fn response(response: &Value) -> Line {
    let id = text(response, "request_id").to_owned();
    let answer = match text(response, "subtype") {
        "success" => Ok(response.get("response").cloned().unwrap_or_default()),
        _ => Err(text(response, "error").to_owned()),
    };
    Line::Response { id, answer }
}

/// Yes, with something.
pub(crate) fn success(id: &str, response: Value) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    })
}

/// No, for a reason.
pub(crate) fn failure(id: &str, error: &str) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": id, "error": error },
    })
}

/// What is told to a program that begins.
pub(crate) fn welcome(model: &str, lacking: &[&str]) -> Value {
    json!({
        "commands": [],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{ "value": model, "displayName": model, "description": "" }],
        "account": {},
        "hooks_applied": !lacking.contains(&"hooks"),
    })
}

/// The question whether a call may run.
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
            "description": request.summary,
        },
    })
}

/// The question need not be answered any more.
pub(crate) fn cancel(id: &str) -> Value {
    json!({ "type": "control_cancel_request", "request_id": id })
}

/// What an approval could remember, as changes of permissions.
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

/// What an answer decides, and whether the run ends with it. What is not certainly a yes is a no. A program may change
/// the arguments of a call; what was asked about is what runs, so a yes to other arguments is a no.
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
    let shown = claude_input(&request.tool_name, input);
    if answer.get("updatedInput").is_some_and(|updated| !updated.is_null() && *updated != shown) {
        let reason = "It was approved only with other arguments, which cannot be put in its place. \
                      Make the call again with the arguments that are wanted.";
        return (PermissionDecision::deny(reason), false);
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

/// A field of a change of permissions, without what is null in it.
fn rules_of(update: &Value, name: &str) -> Value {
    let mut value = update.get(name).cloned().unwrap_or_default();
    for rule in value.as_array_mut().into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.retain(|_, value| !value.is_null());
        }
    }
    value
}

/// What is in the window.
pub(crate) fn context_usage(report: &ContextReport, model: &str, window: u64) -> Value {
    let most = report.window.unwrap_or(window);
    let categories: Vec<Value> = report
        .parts
        .iter()
        .map(|part| json!({ "name": part.name, "tokens": part.tokens, "color": "gray" }))
        .collect();
    json!({
        "categories": categories,
        "totalTokens": report.used,
        "maxTokens": most,
        "rawMaxTokens": window,
        "percentage": report.used_percent.unwrap_or_default(),
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
