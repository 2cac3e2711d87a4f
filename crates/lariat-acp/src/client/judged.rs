//! Translates a tool call of another agent into tool calls of Lariat, so that the same permission rules decide about it.
//!
//! The agent describes the call, so this is as true as the agent. The sandbox confines the agent whatever it says. Invariant: what
//! cannot be read becomes a call of an unknown tool with every effect, which no mode allows unless the sandbox confines it.

use lariat_core::tool::ToolEffects;
use serde_json::{Value, json};

use super::tool_calls::{CUT, ExternalCall, TOO_LARGE};

/// The tool that stands for what is not known.
const UNKNOWN: &str = "external_tool";

/// A tool call as the permission check sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JudgedCall {
    /// The name of the tool of Lariat.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Value,
    /// Its effects.
    pub effects: ToolEffects,
}

/// The calls to judge. All of them must be allowed.
pub fn judged_calls(call: &ExternalCall) -> Vec<JudgedCall> {
    let unknown = || {
        let arguments = json!({ "title": call.title, "kind": call.kind, "input": call.arguments });
        vec![JudgedCall { tool: UNKNOWN, arguments, effects: ToolEffects::ALL }]
    };
    let writes = ToolEffects::READS.and(ToolEffects::WRITES);
    let judged = |tool, arguments, effects| JudgedCall { tool, arguments, effects };
    if let Some(command) = command(call) {
        return vec![judged("bash", json!({ "command": command }), ToolEffects::ALL)];
    }
    if !call.changes.is_empty() {
        let write = |(path, content): &(String, String)| {
            judged("write_file", json!({ "path": path, "content": content }), writes)
        };
        return call.changes.iter().map(write).collect();
    }
    if call.arguments.get(TOO_LARGE).is_some() {
        return unknown();
    }
    let paths = paths(call);
    let on_paths = |tool: &'static str, effects| {
        paths.iter().map(|path| judged(tool, json!({ "path": path }), effects)).collect::<Vec<_>>()
    };
    let judged_calls = match call.kind.as_str() {
        "read" => on_paths("read_file", ToolEffects::READS),
        "search" if paths.is_empty() => {
            vec![judged("search", json!({ "pattern": call.title }), ToolEffects::READS)]
        }
        "search" => on_paths("search", ToolEffects::READS),
        "edit" => {
            let content = text(&call.arguments, &["content", "new_string", "newString", "newText"]);
            let content = content.unwrap_or_default();
            let write =
                |path: &String| judged("write_file", json!({ "path": path, "content": content }), writes);
            paths.iter().map(write).collect()
        }
        "fetch" => {
            let url = text(&call.arguments, &["url", "uri"]);
            let fetch = |url: String| {
                let effects = ToolEffects::READS.and(ToolEffects::NETWORK);
                judged("fetch", json!({ "url": url }), effects)
            };
            url.map(fetch).into_iter().collect()
        }
        "think" => vec![judged("todo", json!({ "items": [] }), ToolEffects::NONE)],
        _ => Vec::new(),
    };
    if judged_calls.is_empty() { unknown() } else { judged_calls }
}

/// The command that a call runs. Agents that do not tell it put it into the title.
fn command(call: &ExternalCall) -> Option<String> {
    let named = call.arguments.get("command").or_else(|| call.arguments.get("cmd"));
    match named {
        Some(Value::String(command)) => return Some(command.clone()),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            return Some(match words.as_slice() {
                [shell, flag, script] if shell.ends_with("sh") && matches!(*flag, "-c" | "-lc") => {
                    (*script).to_owned()
                }
                words => words.join(" "),
            });
        }
        _ => {}
    }
    let is_whole = !call.title.is_empty() && !call.title.ends_with(CUT);
    let is_told = call.kind == "execute" && is_whole && call.arguments.get(TOO_LARGE).is_none();
    is_told.then(|| call.title.trim_matches('`').to_owned())
}

fn paths(call: &ExternalCall) -> Vec<String> {
    if !call.paths.is_empty() {
        return call.paths.clone();
    }
    let names = ["path", "file_path", "filePath", "abs_path", "absolute_path", "filename"];
    text(&call.arguments, &names).into_iter().collect()
}

fn text(arguments: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| arguments.get(*name)?.as_str().map(str::to_owned))
}
