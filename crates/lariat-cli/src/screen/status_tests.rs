use std::sync::Arc;

use lariat_core::content::ToolCall;
use lariat_core::event::RunOutcome;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use serde_json::json;

use super::*;
use crate::screen::test_data::*;

fn after(events: &[lariat_core::event::Event]) -> Status {
    let mut status = Status::default();
    for event in events {
        status.apply(event);
    }
    status
}

#[test]
fn shows_what_the_run_waits_for() {
    let theme = Theme::plain(100);
    let mut status = after(&[loop_start(0), turn_start(0, 0)]);
    let mut lines = vec![status.line(at(1_200), &theme)];
    let call = ToolCall { id: "c".into(), name: "bash".to_owned(), arguments: json!({}), signature: None };
    let request = Arc::new(PermissionRequest::new(&call, "cargo test"));
    let decided = AgentEvent::PermissionDecided {
        request_id: request.id,
        tool_call_id: "c".into(),
        decision: PermissionDecision::Allow,
    };
    for next in [
        delta(1_300, StreamDelta::Thinking { delta: "hm".to_owned() }),
        text_delta(1_500, "a"),
        text_delta(1_900, "b"),
        delta(2_000, StreamDelta::ToolCallDelta { delta: "{".to_owned() }),
        turn_end(2_000),
        event(2_000, AgentEvent::PermissionRequired { request }),
        event(2_000, decided),
        tool_start(2_100, "c", "bash", json!({"command": "cargo test"})),
        tool_start(2_100, "d", "read_file", json!({"path": "a"})),
        tool_end(2_200, "c", "bash", Ok(("", Value::Null))),
        event(
            2_300,
            AgentEvent::ProgressMessage {
                tool_call_id: "d".into(),
                tool_name: "read_file".to_owned(),
                text: "page 3\u{1b}[2J".to_owned(),
            },
        ),
        tool_end(2_400, "d", "read_file", Err("no")),
        event(2_500, AgentEvent::ModelRetry { attempt: 1, delay_ms: 4_000, error: "busy".to_owned() }),
        event(2_600, AgentEvent::CompactionWarning { tokens: 80_000, window: 100_000 }),
        loop_end(2_700, RunOutcome::Completed),
    ] {
        status.apply(&next);
        lines.push(status.line(at(3_400), &theme));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    ⠹ waiting for the model 1s · turn 1
    ⠼ thinking 2s · turn 1
    ⠼ writing 1s · turn 1
    ⠼ writing 1s · turn 1
    ⠼ preparing a tool call 1s · turn 1
    ⠼ waiting for the model 1s · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ waiting for your answer · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ waiting for the model 1s · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ bash 1s cargo test · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ bash (+1) 1s cargo test · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ read_file 1s a · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ read_file 1s page 3⟨U+001B⟩[2J · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ waiting for the model 1s · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ attempt 2 in 4s: busy · turn 1 · 5.0k tokens · context 35 % · $0.0123
    ⠼ compacting the context 0s · turn 1 · 5.0k tokens · context 80 % · $0.0123
    "#);
}

#[test]
fn line_never_reaches_the_last_column() {
    let events = [
        loop_start(0),
        turn_start(0, 11),
        turn_end(0),
        tool_start(0, "c", "bash", json!({"command": "漢字 ".repeat(90)})),
    ];
    let status = after(&events);
    for width in 1..140 {
        for unicode in [true, false] {
            let line = status.line(at(61_000), &Theme { unicode, ..Theme::plain(width) });
            assert!(text::width(&line) < width.max(2), "{width}: {line}");
        }
    }
    insta::assert_snapshot!(status.line(at(61_000), &Theme { unicode: false, ..Theme::plain(72) }), @r#"
    - bash 1m 01s 漢字 ... - turn 12 - 5.0k tokens - context 35 % - $0.0123
    "#);
}

#[test]
fn spinner_depends_on_time_only() {
    let status = after(&[loop_start(0)]);
    let theme = Theme::plain(60);
    assert_eq!(status.line(at(0), &theme), status.line(at(40), &theme));
    assert_ne!(status.line(at(0), &theme), status.line(at(100), &theme));
    assert_eq!(Status::default().line(at(0), &theme), "");
}
