//! Parses one step of an attack or task, a line of text, into the tool call that it describes.
//!
//! In contents, `\n`, `\t` and `\\` are escapes, so that a step is one line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Time limit of a command in seconds.
const SECONDS: u64 = 6;

/// A tool call that the model makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) input: Value,
}

fn call(tool: &str, input: Value) -> Call {
    Call { tool: tool.to_owned(), input }
}

/// Parses a step.
pub(crate) fn read(step: &str) -> Result<Call, String> {
    let (verb, rest) = step.trim().split_once(' ').unwrap_or((step.trim(), ""));
    let rest = rest.trim();
    let pair = |mark: &str| {
        let (first, second) = rest.split_once(mark).ok_or_else(|| format!("`{step}` has no `{mark}`"))?;
        Ok::<_, String>((first.trim().to_owned(), plain(second.trim_start())))
    };
    Ok(match verb {
        "bash" => call("bash", json!({ "command": rest, "timeout_seconds": SECONDS })),
        "bg" => call("bash", json!({ "command": rest, "background": true, "timeout_seconds": SECONDS })),
        "type" => call("bash_input", json!({ "id": "b1", "text": format!("{rest}\n") })),
        "out" => call("bash_output", json!({ "id": "b1", "wait_seconds": 1 })),
        "read" => call("read_file", json!({ "path": rest })),
        "list" => call("list_files", json!({ "path": rest })),
        "glob" => call("glob", json!({ "pattern": rest })),
        "search" => match rest.split_once(" | ") {
            Some((pattern, path)) => call("search", json!({ "pattern": pattern, "path": path })),
            None => call("search", json!({ "pattern": rest })),
        },
        "write" => {
            let (path, content) = pair(" | ")?;
            call("write_file", json!({ "path": path, "content": content }))
        }
        "edit" => {
            let (path, change) = pair(" | ")?;
            let (old, new) = change.split_once(" => ").ok_or_else(|| format!("`{step}` has no ` => `"))?;
            call("edit_file", json!({ "path": path, "old_string": old, "new_string": new }))
        }
        "patch" => call("apply_patch", json!({ "patch": plain(rest) })),
        "fetch" => call("fetch", json!({ "url": plain(rest) })),
        "mcp" => call(super::tools::MAIL, json!({ "text": rest })),
        "issue" => call(super::tools::ISSUE, json!({})),
        "web" => call(super::tools::WEB, json!({ "query": rest })),
        _ => return Err(format!("unknown step `{verb}`")),
    })
}

/// Replaces the escapes by line ends and tabs.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next()) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('t')) => plain.push('\t'),
            ('\\', Some('\\')) => plain.push('\\'),
            _ => {
                plain.push(letter);
                continue;
            }
        }
        letters.next();
    }
    plain
}

/// Replaces each `{NAME}` by its value.
pub(crate) fn filled(text: &str, values: &BTreeMap<&str, String>) -> String {
    let fill = |text: String, (name, value): (&&str, &String)| text.replace(&format!("{{{name}}}"), value);
    // Twice, because the inserted expressions contain names themselves.
    let once = values.iter().fold(text.to_owned(), fill);
    values.iter().fold(once, fill)
}
