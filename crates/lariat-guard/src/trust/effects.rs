//! Describes what a workspace's files would do, for a user who is asked to trust them.
//!
//! Reads the beginning of each file. A file that is not understood is listed as a whole.

use std::path::Path;

use serde_json::Value;

use crate::document::{self, Format};
use crate::hooks::scripts;
use crate::instructions;

/// One thing that would take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceEffect {
    /// The file that contains it.
    pub file: String,
    /// Its kind.
    pub kind: WorkspaceEffectKind,
    /// The exact command, rule or name.
    pub what: String,
}

/// Kinds of things that take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkspaceEffectKind {
    /// A command that runs on an event.
    Hook,
    /// A tool server that is started or contacted.
    Server,
    /// An API whose operations become tools.
    Api,
    /// An environment variable.
    Variable,
    /// A rule that allows without asking.
    AllowRule,
    /// Another setting.
    Setting,
    /// What git would start when it reads the repository.
    Git,
    /// A file whose text instructs the model.
    Instructions,
    /// A file that is obeyed or executed as a whole.
    File,
}

impl WorkspaceEffect {
    /// Returns the workspace files that a command seems to name.
    pub(super) fn paths(&self, root: &Path) -> Vec<String> {
        if matches!(
            self.kind,
            WorkspaceEffectKind::AllowRule | WorkspaceEffectKind::Instructions | WorkspaceEffectKind::File
        ) {
            return Vec::new();
        }
        if self.kind == WorkspaceEffectKind::Hook {
            // The files that are checked again before each run.
            let named = scripts::named_scripts(&self.what, root, Path::new("/nonexistent"));
            return named.into_iter().map(|name| name.path).collect();
        }
        let is_separator = |letter: char| letter.is_whitespace() || "\"'`;|&<>()=$".contains(letter);
        let words = self.what.split(is_separator);
        let strip = |word: &str| {
            let word = ["{CLAUDE_PROJECT_DIR}/", "CLAUDE_PROJECT_DIR/", "./"]
                .iter()
                .find_map(|prefix| word.strip_prefix(prefix))
                .unwrap_or(word);
            word.to_owned()
        };
        let is_path = |word: &String| {
            !word.is_empty()
                && !word.starts_with(['/', '-', '~'])
                && !word.split('/').any(|part| part == "..")
        };
        words.map(strip).filter(is_path).collect()
    }
}

/// Returns what one file would do; `name` is its path relative to the directory it belongs to.
pub(super) fn of(path: &str, name: &str, text: &str) -> Vec<WorkspaceEffect> {
    let brought = |kind, what: String| WorkspaceEffect { file: path.to_owned(), kind, what };
    if scripts::is_package(path) {
        return vec![brought(WorkspaceEffectKind::File, format!("{path} (its scripts)"))];
    }
    if instructions::is_instruction(name) {
        return vec![brought(WorkspaceEffectKind::Instructions, path.to_owned())];
    }
    let value = Format::of(path).and_then(|format| document::value(text, format).ok());
    let Some(Value::Object(fields)) = value else {
        return vec![brought(WorkspaceEffectKind::File, path.to_owned())];
    };
    let mut found = Vec::new();
    for (name, value) in &fields {
        match name.as_str() {
            "hooks" => commands(value, "command", &mut |command| {
                found.push(brought(WorkspaceEffectKind::Hook, command))
            }),
            "mcpServers" | "mcp_servers" => {
                for (server, entry) in value.as_object().into_iter().flatten() {
                    found.push(brought(
                        WorkspaceEffectKind::Server,
                        format!("{server}: {}", server_line(entry)),
                    ));
                }
            }
            "openapi" => {
                for (api, entry) in value.as_object().into_iter().flatten() {
                    found.push(brought(WorkspaceEffectKind::Api, format!("{api}: {entry}")));
                }
            }
            "env" => {
                for (variable, value) in value.as_object().into_iter().flatten() {
                    found.push(brought(
                        WorkspaceEffectKind::Variable,
                        format!("{variable}={}", plain_text(value)),
                    ));
                }
            }
            "permissions" => {
                for rule in value.get("allow").and_then(Value::as_array).into_iter().flatten() {
                    found.push(brought(WorkspaceEffectKind::AllowRule, plain_text(rule)));
                }
                for (name, value) in value.as_object().into_iter().flatten() {
                    // Deny and ask rules apply without trust.
                    if !matches!(name.as_str(), "allow" | "deny" | "ask") {
                        found.push(brought(
                            WorkspaceEffectKind::Setting,
                            format!("permissions.{name} = {value}"),
                        ));
                    }
                }
            }
            _ => found.push(brought(WorkspaceEffectKind::Setting, format!("{name} = {value}"))),
        }
    }
    found
}

/// Returns the command of a hook or server on one line, with its arguments, or its address.
fn command_line(entry: &Value) -> String {
    let text = |name: &str| entry.get(name).map(plain_text);
    let arguments = entry.get("args").and_then(Value::as_array).into_iter().flatten().map(plain_text);
    text("command").into_iter().chain(arguments).chain(text("url")).collect::<Vec<_>>().join(" ")
}

/// The same for a server, with what else starts or controls a program.
fn server_line(entry: &Value) -> String {
    let variables = entry.get("env").and_then(Value::as_object).into_iter().flatten();
    let variables = variables.map(|(name, value)| format!("{name}={}", plain_text(value)));
    let headers = entry.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers = headers.map(|(name, value)| format!("{name}: {}", plain_text(value)));
    let directory = entry.get("cwd").map(|path| format!("(in {})", plain_text(path)));
    let helper = entry.get("headersHelper").map(plain_text);
    let line = std::iter::once(command_line(entry)).filter(|line| !line.is_empty());
    line.chain(helper).chain(variables).chain(headers).chain(directory).collect::<Vec<_>>().join(" ")
}

fn commands(value: &Value, name: &str, found: &mut impl FnMut(String)) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key(name) || fields.contains_key("url") {
                found(command_line(value));
            }
            fields.values().for_each(|field| commands(field, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| commands(item, name, found)),
        _ => {}
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
