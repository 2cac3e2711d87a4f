//! A whole session as a reader sees it.

use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::event::{AgentEvent, CompactionCause, QueueKind, RunOutcome};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::usage::Usage;
use lariat_terminal::painted;
use lariat_terminal::theme::Theme;
use serde_json::json;

use super::sample::*;
use crate::transcript::{Detail, Transcript};

const DIFF: &str = "--- a/src/list.rs\n+++ b/src/list.rs\n@@ -10,3 +10,4 @@\n fn list() {\n-    items(b',');\n+    items(b',', \
    Trailing::Allowed);\n+    end();\n }\n";

/// A session with every kind of block, with its live items.
pub(super) fn session() -> Script {
    let mut script = Script::default();
    script.run_start().turn(0).user(1, "The list parser rejects trailing commas. Fix it, and add a test.");
    script.after(900, reply_start(2));
    let thought = "The parser is in `src/list.rs`.\nI will read it first.";
    script.after(100, thinking_delta(2, thought));
    let text = "I will look at the **parser** first:\n\n1. read `src/list.rs`\n2. run the tests";
    script.after(3_000, text_delta(2, "I will look at the **par"));
    script.after(50, text_delta(2, "ser** first:\n\n1. read `src/list.rs`\n2. run"));
    script.after(50, text_delta(2, " the tests"));
    let calls = [
        Content::tool_call("c1", "read_file", json!({ "path": "src/list.rs" })),
        Content::tool_call(
            "c2",
            "bash",
            json!({ "command": "cargo test -p parser --locked -- list\necho done" }),
        ),
    ];
    let mut content = vec![thinking(thought), Content::text(text)];
    content.extend(calls);
    script.reply(2, content);
    script.call(
        "c1",
        "read_file",
        12,
        Ok(("10 fn list() {\n11     items(b',');\n12 }", json!({ "lines": 3 }))),
    );
    script.call_starts("c2", "bash").after(500, output("c2", "running 3 tests\n"));
    let failed = "running 3 tests\ntest list::plain ... ok\ntest list::trailing ... FAILED\n[Exit code 101.]";
    let details = json!({ "end": "by_itself", "exit_code": 101, "output_bytes": 80 });
    script.call_ends("c2", "bash", 8_200, Ok((failed, details)));
    script.queued(QueueKind::Steering, user(20, "Keep the old function.")).delivered(20);
    script.turn(1);
    let retry = AgentEvent::ModelRetry { attempt: 1, delay_ms: 2_000, error: "overloaded".to_owned() };
    script.after(10, retry);
    script.after(2_500, reply_start(3));
    let edit = json!({ "path": "src/list.rs", "old_string": "items(b',');" });
    let call =
        ToolCall { id: "c3".into(), name: "edit_file".to_owned(), arguments: edit.clone(), signature: None };
    script.reply(3, vec![Content::tool_call("c3", "edit_file", edit)]);
    let request = PermissionRequest::new(&call, "edit src/list.rs");
    script.add(AgentEvent::PermissionRequired { request: Arc::new(request.clone()) });
    script.command("ada", "answer").add(AgentEvent::PermissionDecided {
        request_id: request.id,
        tool_call_id: "c3".into(),
        decision: PermissionDecision::Allow,
    });
    script.call("c3", "edit_file", 20, Ok(("Edited", json!({ "path": "src/list.rs", "diff": DIFF }))));
    script.reply(4, vec![Content::tool_call("c4", "bash", json!({ "command": "git push" }))]);
    script.command("ada", "answer").add(AgentEvent::PermissionDecided {
        request_id: request.id,
        tool_call_id: "c4".into(),
        decision: PermissionDecision::deny("not yet"),
    });
    script.result(5, "c4", "bash", "Denied: not yet", true);
    script.add(AgentEvent::Compaction {
        cause: CompactionCause::Threshold,
        edits: Arc::new(Vec::new()),
        tokens_before: 151_000,
        tokens_after: 32_000,
        usage: Usage::default(),
    });
    script.add(AgentEvent::SubAgentSpawned {
        tool_call_id: "c5".into(),
        child_loop_id: "l".into(),
        child_session_id: "s2".into(),
        task: "Check the documentation of lists".to_owned(),
        report: None,
    });
    script.add(AgentEvent::SubAgentCompleted {
        tool_call_id: "c5".into(),
        child_loop_id: "l".into(),
        outcome: RunOutcome::Completed,
        usage: usage(),
    });
    script.after(
        4_000,
        ended(assistant(
            6,
            vec![Content::text(
                "Done. The change:\n\n```rust\nitems(b',', Trailing::Allowed);\n```\n\n| file | lines |\n|---|--:|\n| src/list.rs | 3 |\n\n> A quote.",
            )],
            lariat_core::message::StopReason::Stop,
        )),
    );
    script.run_end(RunOutcome::Completed);
    script.add(AgentEvent::Checkpoint { label: "lists work".to_owned(), message_id: Some(id(6)) });
    script.add(AgentEvent::ModeChanged { mode: "auto".to_owned() });
    script.run_start().turn(0).user(7, "Now maps.");
    script.after(2_000, AgentEvent::AbortRequested).run_end(RunOutcome::Aborted);
    script.add(AgentEvent::Rewound { tip: Some(id(6)) });
    script.add(AgentEvent::ModelChanged { model: "p/m2".to_owned(), effort: None });
    script.run_start().turn(0).user(8, "Only sets, please.");
    script.run_end(RunOutcome::Failed { error: "the provider rejected the API key (HTTP 401)".to_owned() });
    script
}

fn screen(width: usize, detail: Detail) -> String {
    let mut transcript = Transcript::new();
    session().events.iter().for_each(|event| transcript.apply(event));
    let theme = Theme::plain(width);
    let rows = transcript.rows(&theme, detail);
    assert!(rows.iter().all(|row| painted::width(row) <= width));
    rows.iter().map(|row| format!("{row}\n")).collect()
}

#[test]
fn session_folded() {
    for width in [40, 80, 120] {
        insta::assert_snapshot!(format!("folded_{width}"), screen(width, Detail::Folded));
    }
}

#[test]
fn session_in_full() {
    for width in [40, 80, 120] {
        insta::assert_snapshot!(format!("full_{width}"), screen(width, Detail::Full));
    }
}

/// What the terminal prints while the session runs is what a reader sees later.
#[test]
fn printed_rows_are_the_rows_of_the_transcript() {
    for width in [40, 80, 120] {
        let theme = Theme::full(width);
        let mut transcript = Transcript::new();
        let mut printed = Vec::new();
        for event in &session().events {
            transcript.apply(event);
            printed.extend(transcript.take_finished(&theme));
        }
        assert_eq!(printed, transcript.rows(&theme, Detail::Folded));
    }
}
