//! The scripted model of the program: it calls read-only tools, then tools that need approval, then tools that would
//! leave the repository, and ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use lariat::serde_json::{Value, json};
use lariat_proofs::server::{Answer, Request, Script, Turn};

use super::super::fixture::SECRET;

/// The words of every reply that ends a run.
pub(super) const LAST_WORDS: &str = "That is all.";
/// A file that no call may create.
pub(super) const WRITTEN: &str = "written-without-approval.txt";

/// The repositories whose requests contained the secret beside them.
pub(super) type Leaks = Arc<Mutex<BTreeSet<usize>>>;

pub(super) fn script(leaks: Leaks) -> Script {
    let script = Script::answer(move |request| {
        let body = request.body.to_string();
        if body.contains(SECRET) {
            leaks.lock().unwrap_or_else(PoisonError::into_inner).extend(repository(&body));
        }
        answer(request)
    });
    script.forgetting()
}

/// The number of the repository that a request is about: its prompt names the directory.
fn repository(body: &str) -> Option<usize> {
    let (_, rest) = body.split_once("/repositories/")?;
    rest.split('/').next()?.parse().ok()
}

/// Calls tools for a prompt, and ends after their results.
fn answer(request: &Request) -> Answer {
    let messages = request.body.get("messages").and_then(Value::as_array);
    let count = messages.map_or(0, Vec::len);
    let last = messages.and_then(|messages| messages.last()).map(Value::to_string).unwrap_or_default();
    if last.contains("tool_result") {
        return Turn::new().text(LAST_WORDS).into();
    }
    let calls = calls().into_iter().enumerate();
    let turn = calls.fold(Turn::new(), |turn, (number, (tool, arguments))| {
        turn.call(format!("toolu_{count}n{number}"), tool, &arguments)
    });
    turn.into()
}

fn calls() -> Vec<(&'static str, Value)> {
    let tools = [
        ("list_files", json!({ "depth": 3 })),
        ("search", json!({ "pattern": "payload" })),
        ("read_file", json!({ "path": "README.md" })),
        ("read_file", json!({ "path": "../../../outside/secret" })),
        ("write_file", json!({ "path": WRITTEN, "content": "x" })),
    ];
    let commands = [
        "cat README.md",
        "git status",
        "git diff",
        "yarn --version",
        "./payload.sh",
        "make",
        "cat ../../../outside/secret",
    ];
    let commands = commands.map(|command| ("bash", json!({ "command": command })));
    tools.into_iter().chain(commands).collect()
}
