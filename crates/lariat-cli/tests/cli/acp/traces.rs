//! Compares what an editor receives with what it receives from `@zed-industries/claude-code-acp`, for the same replies of a
//! model.
//!
//! The other trace was recorded with version 0.16.2 on a scripted server: the model writes a task list, a file, reads it, edits
//! it, runs `echo hello` and says so. The differences are listed with their reasons; a new one fails the test.

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking};

/// What `claude-code-acp` 0.16.2 sends. It sends each `tool_call` twice, first without its input, and that is one here.
const OTHER: &[&str] = &[
    "text",
    "plan",
    "edit pending",
    "asks",
    "edit completed",
    "read pending",
    "read completed",
    "edit pending",
    "asks",
    "edit completed",
    "execute pending",
    "execute completed",
    "text",
];

/// What only Lariat sends, and why.
const ONLY_OURS: &[(&str, &str)] = &[
    ("in_progress", "the editor shows which call runs, and that an approved one has begun"),
    ("think", "the task list is a tool call that can fail; the other agent shows only its effect"),
    ("usage", "the editor shows how full the context window is"),
    ("info", "the title of a session is the same as in the terminal"),
];

/// A model that does the same as the recorded one, with Lariat's tools.
fn script() -> Script {
    let calls = [
        ("todo", json!({ "items": [{ "content": "write it", "status": "in_progress" }] })),
        ("write_file", json!({ "path": "note.txt", "content": "one\n" })),
        ("read_file", json!({ "path": "note.txt" })),
        ("edit_file", json!({ "path": "note.txt", "old_string": "one", "new_string": "two" })),
        ("bash", json!({ "command": "echo hello" })),
    ];
    let mut turns = Vec::new();
    for (at, (tool, arguments)) in calls.iter().enumerate() {
        let turn = if at == 0 { Turn::new().text("I write it.") } else { Turn::new() };
        turns.push(turn.call(format!("toolu_{at:02}"), *tool, arguments));
    }
    turns.push(Turn::new().text("All done."));
    Script::queue(turns)
}

/// The steps of a trace: repeated ones are one, and updates without a status are none.
fn steps(messages: &[Value]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut kinds = std::collections::HashMap::new();
    for message in messages {
        let update = &message["params"]["update"];
        let id = update["toolCallId"].to_string();
        let step = match (message["method"].as_str(), update["sessionUpdate"].as_str()) {
            (Some("session/request_permission"), _) => "asks".to_owned(),
            (_, Some("agent_message_chunk")) => "text".to_owned(),
            (_, Some("plan")) => "plan".to_owned(),
            (_, Some("usage_update")) => "usage".to_owned(),
            (_, Some("session_info_update")) => "info".to_owned(),
            (_, Some(kind_of_update @ ("tool_call" | "tool_call_update"))) => {
                if let Some(kind) = update["kind"].as_str() {
                    kinds.insert(id.clone(), kind.to_owned());
                }
                // A call without a status is pending: the client of the official crate leaves the default out.
                let default = (kind_of_update == "tool_call").then_some("pending");
                let Some(status) = update["status"].as_str().or(default) else { continue };
                format!("{} {status}", kinds[&id])
            }
            _ => continue,
        };
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    steps
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_trace_differs_from_that_of_claude_code_acp_only_where_it_should() {
    let fixture = asking(script()).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let from = editor.seen.len();
    let prompt = editor.prompt(&session, "write a note");
    loop {
        if let Some(request) = editor.try_asked("session/request_permission") {
            editor
                .answer(&request, json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }));
        }
        let is_end = |message: &Value| message["id"] == prompt && message.get("method").is_none();
        if editor.seen.iter().any(is_end) {
            break;
        }
        assert!(editor.receive("the end of the prompt"));
    }
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let (end, _) = editor.response(prompt);
    let ours = steps(&editor.seen[from..end]);
    println!("{ours:#?}");
    for (step, why) in ONLY_OURS {
        assert!(ours.iter().any(|ours| ours.contains(step)), "{step} is not a difference any more: {why}");
    }
    let is_shared = |step: &&String| !ONLY_OURS.iter().any(|(only, _)| step.contains(only));
    let mut shared: Vec<&str> = ours.iter().filter(is_shared).map(String::as_str).collect();
    shared.dedup();
    assert_eq!(shared, OTHER);
}
