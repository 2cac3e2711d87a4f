//! What each kind of event becomes.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, CompactionCause, Event, LimitKind, QueueKind, RunOutcome};
use lariat_core::message::StopReason;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::usage::Usage;
use lariat_terminal::theme::Theme;
use serde_json::{Value, json};

use super::sample::*;
use crate::transcript::{Detail, Transcript};

fn applied(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::new();
    events.iter().for_each(|event| transcript.apply(event));
    transcript
}

/// The rows of a script, and what is printed of it, which must be the same.
fn shown(script: &Script) -> String {
    let mut transcript = applied(&script.events);
    let theme = Theme::plain(60);
    let printed = transcript.take_finished(&theme).join("\n");
    assert_eq!(transcript.take_finished(&theme), Vec::<String>::new());
    assert_eq!(transcript.rows(&theme, Detail::Folded).join("\n"), printed);
    printed
}

fn shown_full(script: &Script) -> String {
    applied(&script.events).rows(&Theme::plain(60), Detail::Full).join("\n")
}

fn call(command: &str) -> Vec<Content> {
    vec![Content::tool_call("c1", "bash", json!({ "command": command }))]
}

#[test]
fn user_message_is_marked_and_wrapped() {
    let mut script = Script::default();
    script.user(1, "fix the tests\nand then the documentation of everything that has changed\u{1b}[2J");
    insta::assert_snapshot!(shown(&script), @r"
    › fix the tests
      and then the documentation of everything that has
      changed⟨U+001B⟩[2J
    ");
}

#[test]
fn long_user_message_is_folded() {
    let text: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    let mut script = Script::default();
    script.user(1, &text);
    assert!(shown(&script).ends_with("  line 24\n  … 16 more lines"), "{}", shown(&script));
    assert!(shown_full(&script).ends_with("  line 40"));
}

#[test]
fn queued_message_appears_when_it_is_delivered() {
    let mut script = Script::default();
    script.queued(QueueKind::Steering, user(1, "use tabs"));
    assert_eq!(shown(&script), "");
    script.delivered(1);
    assert_eq!(shown(&script), "› use tabs");
}

#[test]
fn notes_of_the_runtime_to_the_model_are_hidden() {
    let mut script = Script::default();
    script.add(ended(note(1, "files changed"))).queued(QueueKind::FollowUp, note(2, "go on")).delivered(2);
    assert_eq!(shown(&script), "");
}

#[test]
fn reply_has_thinking_in_a_line_and_markdown() {
    let mut script = Script::default();
    script.reply(
        1,
        vec![thinking("**Plan**\nThe parser fails.\nSo I look."), Content::text("It **fails**.\n\n- a\n- b")],
    );
    insta::assert_snapshot!(shown(&script), @r"
    ∴ thought  Plan

    It fails.

    • a
    • b
    ");
    insta::assert_snapshot!(shown_full(&script), @r"
    ∴ thought
      **Plan**
      The parser fails.
      So I look.

    It fails.

    • a
    • b
    ");
}

#[test]
fn texts_around_other_blocks_are_apart() {
    let other = serde_json::from_value::<Content>(json!({ "type": "server_tool_use", "id": "x" })).unwrap();
    let mut script = Script::default();
    script.reply(1, vec![Content::text("I will "), Content::text("search."), other, Content::text("Found.")]);
    assert_eq!(shown(&script), "I will search.\n\nFound.");
}

#[test]
fn finished_calls_have_subject_duration_and_changes() {
    let diff: String = (1..=20).map(|line| format!("+line {line}\n")).collect();
    let diff = format!("--- a/a.rs\n+++ b/a.rs\n@@ -0,0 +1,20 @@\n{diff}");
    let calls = vec![
        Content::tool_call("c1", "bash", json!({ "command": "cargo test\necho done" })),
        Content::tool_call("c2", "edit_file", json!({ "path": "a.rs" })),
        Content::tool_call("c3", "read_file", json!({ "path": "b.rs" })),
    ];
    let mut script = Script::default();
    script.reply(1, calls);
    script.call("c1", "bash", 2_500, Ok(("ok", json!({ "exit_code": 0, "output_bytes": 2 }))));
    script.call("c2", "edit_file", 20, Ok(("Edited", json!({ "diff": diff }))));
    script.call("c3", "read_file", 5, Err("no such file: b.rs\nmore"));
    insta::assert_snapshot!(shown(&script), @r"
    ✓ bash  cargo test (+1 line)  2.5s
    ✓ edit_file  a.rs  20ms  +20 -0
      a.rs
       1 + line 1
       2 + line 2
       3 + line 3
       4 + line 4
       5 + line 5
       6 + line 6
       7 + line 7
       8 + line 8
       9 + line 9
      10 + line 10
      11 + line 11
      … 9 more lines
    ✗ read_file  b.rs  5ms  no such file: b.rs
    ");
    let full = shown_full(&script);
    assert!(
        full.contains("  │ echo done") && full.contains("20 + line 20") && full.contains("  more"),
        "{full}"
    );
}

#[test]
fn parallel_calls_are_in_the_order_of_their_results() {
    let mut script = Script::default();
    script.call_starts("c1", "bash").call_starts("c2", "glob");
    script.call_ends("c2", "glob", 10, Ok(("", Value::Null)));
    script.call_ends("c1", "bash", 10, Ok(("", Value::Null)));
    assert_eq!(shown(&script), "✓ glob  10ms\n✓ bash  20ms");
}

#[test]
fn denied_call_names_reason_and_user() {
    let request = PermissionRequest::new(
        &lariat_core::content::ToolCall {
            id: "c1".into(),
            name: "bash".to_owned(),
            arguments: Value::Null,
            signature: None,
        },
        "make",
    );
    let mut script = Script::default();
    script.reply(1, call("make")).add(AgentEvent::PermissionRequired { request: Arc::new(request.clone()) });
    let mut waiting = applied(&script.events);
    waiting.take_finished(&Theme::plain(60));
    assert_eq!(waiting.live_rows(&Theme::plain(60), at(0), 9), ["● bash  make  waits for approval"]);
    script.command("ada", "answer").add(AgentEvent::PermissionDecided {
        request_id: request.id,
        tool_call_id: "c1".into(),
        decision: PermissionDecision::deny("use just"),
    });
    script.result(2, "c1", "bash", "Denied: use just", true);
    assert_eq!(shown(&script), "✗ bash  make  denied: use just\n  denied by ada");
}

#[test]
fn tasks_are_shown_when_they_change() {
    let list = |status: &str| json!({ "items": [{ "content": "fix", "status": status }] });
    let mut script = Script::default();
    for status in ["pending", "pending", "completed"] {
        script.call("c1", "todo", 1, Ok(("", list(status))));
    }
    assert_eq!(shown(&script), "✓ todo  1ms\n  ☐ fix\n✓ todo  1ms\n✓ todo  1ms\n  ☑ fix");
}

#[test]
fn run_that_ends_interrupts_its_calls() {
    let mut script = Script::default();
    script.run_start().turn(0).reply(1, call("make")).call_starts("c1", "bash");
    script.after(3_000, AgentEvent::AbortRequested).run_end(RunOutcome::Aborted);
    insta::assert_snapshot!(shown(&script), @r"
    ✗ bash  make  3.0s  interrupted

    ■ interrupted
    1 turn · 34.0k in, 1.0k out · 88 % cached · $0.0123 · 3.0s
    ");
}

#[test]
fn ends_name_their_reason() {
    let outcomes = [
        (RunOutcome::Completed, None),
        (RunOutcome::Failed { error: "HTTP 401\nkey".to_owned() }, Some("■ failed: HTTP 401\n  key\n")),
        (RunOutcome::Repetition, Some("■ stopped: the model kept repeating itself\n")),
        (
            RunOutcome::LimitReached { limit: LimitKind::Cost, scope: Default::default() },
            Some("■ stopped: the run reached its cost limit\n"),
        ),
    ];
    for (outcome, expected) in outcomes {
        let mut script = Script::default();
        script.run_start().run_end(outcome);
        let shown = shown(&script);
        assert!(shown.starts_with(expected.unwrap_or("0 turns")), "{shown}");
    }
}

#[test]
fn other_events_are_notes() {
    let mut script = Script::default();
    script
        .add(AgentEvent::ModeChanged { mode: "auto".to_owned() })
        .add(AgentEvent::ModelChanged { model: "p/m2".to_owned(), effort: Some("high".to_owned()) })
        .add(AgentEvent::Checkpoint { label: "before".to_owned(), message_id: None })
        .add(AgentEvent::Compaction {
            cause: CompactionCause::Manual,
            edits: Arc::new(Vec::new()),
            tokens_before: 90_000,
            tokens_after: 12_000,
            usage: Usage::default(),
        })
        .add(AgentEvent::SubAgentSpawned {
            tool_call_id: "c".into(),
            child_loop_id: "l".into(),
            child_session_id: "s2".into(),
            task: "look at the tests".to_owned(),
            report: None,
        })
        .add(AgentEvent::SubAgentCompleted {
            tool_call_id: "c".into(),
            child_loop_id: "l".into(),
            outcome: RunOutcome::Completed,
            usage: usage(),
        })
        .add(AgentEvent::LimitReached {
            limit: LimitKind::Turns,
            scope: Default::default(),
            note: "the run reached 50 turns".to_owned(),
        })
        .add(AgentEvent::LoopRecovered { interrupted: Vec::new(), repairs: Vec::new() });
    insta::assert_snapshot!(shown(&script), @r"
    ▸ mode: auto
    ▸ model: p/m2, effort high
    ▸ checkpoint: before
    ▸ compacted the context (requested): 90.0k to 12.0k tokens
    ▸ subagent started: look at the tests
    ▸ subagent finished (5.0k tokens)
    ▸ the run reached 50 turns
    ▸ resumed after a crash
    ");
}

#[test]
fn unknown_events_are_ignored() {
    let line = json!({ "v": 1, "seq": 0, "id": "00000000-0000-0000-0000-000000000001",
        "timestamp": "2026-01-01T00:00:00Z", "type": "Teleported", "text": "x" });
    let event = lariat_core::event::EventRecord::from_json(&serde_json::to_vec(&line).unwrap()).unwrap();
    let mut transcript = applied(&[Arc::new(event)]);
    assert!(transcript.take_finished(&Theme::plain(60)).is_empty());
}

#[test]
fn rewind_says_where_the_conversation_continues() {
    let mut script = Script::default();
    script
        .user(1, "one")
        .reply(2, vec![Content::text("1")])
        .user(3, "two")
        .reply(4, vec![Content::text("2")]);
    script.add(AgentEvent::Rewound { tip: Some(id(2)) }).user(5, "three");
    insta::assert_snapshot!(shown(&script), @r"
    › one

    1

    › two

    2

    ── rewound; the conversation continues after: one ──────────

    › three
    ");
    let transcript = applied(&script.events);
    let messages: Vec<_> = transcript.user_messages();
    assert_eq!(messages, [(id(1), "one".to_owned()), (id(5), "three".to_owned())]);
    assert_eq!(transcript.message_before(id(5)), Some(id(2)));
    assert_eq!(transcript.message_before(id(1)), None);
    assert_eq!(transcript.last_reply().as_deref(), Some("2"));
}

#[test]
fn reply_of_another_model_is_noted() {
    let mut script = Script::default();
    script.run_start().turn(0).reply(1, vec![Content::text("a")]);
    let mut events = script.events;
    let other = r#""model":"m2""#;
    let line = serde_json::to_string(&*events[2]).unwrap().replace(r#""model":"m""#, other);
    events[2] = Arc::new(lariat_core::event::EventRecord::from_json(line.as_bytes()).unwrap());
    let mut transcript = applied(&events);
    assert_eq!(transcript.take_finished(&Theme::plain(60)), ["▸ m2 continues", "", "a"]);
}

#[test]
fn cut_off_reply_is_noted() {
    let mut script = Script::default();
    script.add(ended(assistant(1, vec![Content::text("a")], StopReason::Length)));
    assert_eq!(shown(&script), "a\n\n▸ the reply reached the output limit");
}

#[test]
fn only_the_selected_branch_is_shown() {
    let mut script = Script::default();
    script.add(AgentEvent::ParallelLoopStart {
        session_id: "s".into(),
        loop_ids: vec!["s.c.1".into(), "s.d.1".into()],
        prompts: Vec::new(),
    });
    script.reply(1, vec![Content::text("chosen")]).reply(2, vec![Content::text("left")]);
    let mut other = lariat_core::event::EventRecord::clone(&script.events[2]);
    other.loop_id = Some("s.d.1".into());
    script.events[2] = Arc::new(other);
    script.add(AgentEvent::ParallelLoopEnd {
        session_id: "s".into(),
        selected_loop_id: "s.c.1".into(),
        selected_config_index: 0,
        evaluation_usage: Usage::default(),
    });
    let shown = shown(&script);
    assert_eq!(shown, "▸ 2 branches started from here\n▸ selected one of 2 branches\n\nchosen");
}

#[test]
fn search_finds_rows_by_plain_text() {
    let mut script = Script::default();
    script.user(1, "One").reply(2, vec![Content::text("It is **one** of many.\n\nTwo.")]);
    let mut transcript = applied(&script.events);
    let theme = Theme::full(60);
    assert_eq!(transcript.search(&theme, Detail::Folded, "is ONE of"), [2]);
    assert_eq!(transcript.search(&theme, Detail::Folded, "one"), [0, 2]);
    assert!(transcript.search(&theme, Detail::Folded, " ").is_empty());
}
