//! The scripted model: it calls tools that come across secrets, and refuses some requests with errors that echo what it
//! received.

use std::path::{Path, PathBuf};

use lariat_proofs::server::{Answer, Request, Script, Turn, Wire};
use serde_json::{Value, json};

use super::canary::{Canary, values};

/// Prompts that the model refuses, and with which status.
pub(super) const REFUSED: [(&str, u16); 2] = [("refuse-401", 401), ("refuse-500", 500)];

/// Commands that come across secrets. The last ones leave files for the proof to read.
const COMMANDS: &[&str] = &[
    "env",
    "sh loud.sh",
    "cat .env",
    "env > child-environment; cat /proc/self/environ >> child-environment; cat /proc/$PPID/cmdline >> child-environment",
    "cat ../state/lariat/keys.json ../config/lariat/config.toml",
];

pub(super) fn script(canaries: &[Canary]) -> Script {
    let secrets: Vec<String> = values(canaries, "error of the model").map(str::to_owned).collect();
    Script::answer(move |request| answer(request, &secrets)).unchecked()
}

fn answer(request: &Request, secrets: &[String]) -> Answer {
    if request.wire != Wire::AnthropicMessages {
        return Turn::new().text("Hello.").into();
    }
    let messages = request.body.get("messages").and_then(Value::as_array);
    let text = |message: &Value| message.get("content").map(Value::to_string).unwrap_or_default();
    let last_prompt =
        messages.into_iter().flatten().rev().map(text).find(|text| !text.contains("tool_result"));
    let last_prompt = last_prompt.unwrap_or_default();
    for (word, status) in REFUSED {
        if last_prompt.contains(word) {
            let echo = format!("{} {:?} {}", request.path, request.headers, secrets.join(" "));
            return Answer::error(Wire::AnthropicMessages, status, &format!("Incorrect key: {echo}"));
        }
    }
    // The number of results so far says what is next.
    let all = messages.map_or(0, Vec::len);
    let is_result = |message: &&Value| text(message).contains("\"tool_result\"");
    let results = messages.into_iter().flatten().filter(is_result).count();
    let call =
        |name: &str, arguments: Value| Turn::new().call(format!("toolu_{all:03}"), name, &arguments).into();
    match results {
        0 => call("read_file", json!({ "path": ".env" })),
        1 => call("search", json!({ "pattern": "=", "path": ".env" })),
        2.. => match COMMANDS.get(results - 2) {
            Some(command) => call("bash", json!({ "command": command })),
            None => Turn::new().text("All of it is done.").into(),
        },
    }
}

/// The parts of the requests to the model.
pub(super) fn parts(requests: &[Request]) -> Vec<super::recorder::Part> {
    let mut parts = Vec::new();
    for request in requests {
        parts.push(("model: path".to_owned(), request.path.clone().into_bytes()));
        parts.push(("model: body".to_owned(), request.body.to_string().into_bytes()));
        for (name, value) in &request.headers {
            parts.push((format!("model: header {name}"), value.as_bytes().to_vec()));
        }
    }
    parts
}

/// The file of the home in which an MCP server saves its environment.
pub(super) fn server_script(home: &Path) -> (PathBuf, String) {
    let saved = home.join("mcp-environment");
    let script =
        format!("#!/bin/sh\nenv > {}\necho \"cannot log in with $TOKEN\" >&2\nexit 1\n", saved.display());
    (home.join("server.sh"), script)
}
