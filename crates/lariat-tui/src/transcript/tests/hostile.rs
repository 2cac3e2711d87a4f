//! Untrusted text cannot control the terminal.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord, Finding};
use lariat_terminal::theme::Theme;
use proptest::prelude::*;
use serde_json::Value;

use super::sample::*;
use crate::transcript::{Detail, Transcript};

/// Removes the sequences that we write: styles and links.
fn without_ours(row: &str) -> String {
    let mut left = String::new();
    let mut rest = row;
    while let Some(letter) = rest.chars().next() {
        let style = rest.strip_prefix("\u{1b}[").and_then(|style| {
            style.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m')
        });
        let link = rest.strip_prefix("\u{1b}]8;;").and_then(|link| {
            link.trim_start_matches(|c: char| c.is_ascii_graphic() && c != '\u{1b}').strip_prefix("\u{1b}\\")
        });
        rest = match style.or(link) {
            Some(after) => after,
            None => {
                left.push(letter);
                &rest[letter.len_utf8()..]
            }
        };
    }
    left
}

fn assert_harmless(rows: &[String]) {
    for row in rows {
        let left = without_ours(row);
        let is_bad = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
        };
        assert!(!left.contains(is_bad), "{row:?}");
    }
}

/// The paths of all strings in a value.
fn strings(value: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(format!("/{}", path.join("/"))),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| {
            path.push(at.to_string());
            strings(item, path, found);
            path.pop();
        }),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            path.push(name.replace('~', "~0").replace('/', "~1"));
            strings(field, path, found);
            path.pop();
        }),
        _ => {}
    }
}

/// The event with this text in every field that takes any text.
fn infected(event: &EventRecord, text: &str) -> Event {
    let mut json = serde_json::to_value(event).unwrap();
    let mut paths = Vec::new();
    strings(&json, &mut Vec::new(), &mut paths);
    for path in paths {
        // Ids connect events, and kinds decide what they are.
        if ["/type", "_id", "/id", "/role"].iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let before = json.pointer(&path).cloned().unwrap();
        *json.pointer_mut(&path).unwrap() = Value::String(text.to_owned());
        if EventRecord::from_json(&serde_json::to_vec(&json).unwrap()).is_err() {
            *json.pointer_mut(&path).unwrap() = before;
        }
    }
    Arc::new(EventRecord::from_json(&serde_json::to_vec(&json).unwrap()).unwrap())
}

/// Events with text that the session of the snapshots does not have.
fn more_events() -> Vec<AgentEvent> {
    let words = || "words".to_owned();
    let json = |value: Value| serde_json::from_value::<AgentEvent>(value).unwrap();
    vec![
        AgentEvent::ModelFallback { from: words(), to: words(), error: words() },
        AgentEvent::JournalUnavailable { error: words(), unsaved: 2 },
        AgentEvent::HookStopped { reason: words() },
        AgentEvent::HookMessage { message: words() },
        AgentEvent::InputRejected { reason: words() },
        AgentEvent::InputWarned { warning: words() },
        AgentEvent::EventLost { note: words() },
        AgentEvent::FindingShared(Box::new(Finding::new("f", "s".into(), words()).by([words()]))),
        AgentEvent::PlanChangeQueued { tool_call_id: "c".into(), tool_name: words(), summary: words() },
        json(serde_json::json!({ "type": "Learned", "learning_id": "l", "text": "words" })),
        json(
            serde_json::json!({ "type": "GoalChanged", "goal_id": "g", "text": "words", "status": "active" }),
        ),
        json(serde_json::json!({ "type": "ToolExecutionStart", "tool_call_id": "x", "tool_name": "words",
            "args": { "command": "words", "path": "words" } })),
        AgentEvent::ProgressMessage { tool_call_id: "x".into(), tool_name: words(), text: words() },
        output("x", "words"),
        reply_start(90),
        thinking_delta(90, "words"),
        text_delta(90, "words"),
    ]
}

/// Parts of hostile text: sequences, controls, characters that hide or reorder, and Markdown.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("\u{1b}[2J".to_owned()),
        Just("\u{1b}]0;t\u{7}".to_owned()),
        Just("\u{1b}]8;;x\u{1b}\\".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("\u{9b}31m\u{90}q\u{9c}".to_owned()),
        Just("\r\u{8}\u{7f}\0\u{c}".to_owned()),
        Just("\u{202e}\u{2066}\u{200b}\u{e0041}\u{feff}".to_owned()),
        Just("&#27;[2J&#x202e;".to_owned()),
        Just("[a](https://x.y/\u{1b}[2J)".to_owned()),
        Just("```rust\nfn \u{1b}a() {}\n```\n".to_owned()),
        Just("| a | \u{1b} |\n|---|---|\n| 1 | 2 |\n\n".to_owned()),
        Just("\n\n".to_owned()),
        any::<String>(),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_of_an_event_controls_the_terminal(text in hostile(), width in 1_usize..90) {
        let mut script = super::screens::session();
        more_events().into_iter().for_each(|event| { script.add(event); });
        let theme = Theme::full(width);
        let mut transcript = Transcript::new();
        for event in &script.events {
            transcript.apply(&infected(event, &text));
            assert_harmless(&transcript.take_finished(&theme));
            assert_harmless(&transcript.live_rows(&theme, at(0), 50));
        }
        assert_harmless(transcript.rows(&theme, Detail::Folded));
        assert_harmless(transcript.rows(&theme, Detail::Full));
    }
}

/// The test above would be worth nothing if the text did not reach the screen.
#[test]
fn hostile_text_in_any_field_is_shown_and_harmless() {
    let script = super::screens::session();
    let mut transcript = Transcript::new();
    script.events.iter().for_each(|event| transcript.apply(&infected(event, "evil\u{1b}[2J")));
    let rows = transcript.rows(&Theme::full(100), Detail::Full).to_vec();
    let count = rows.iter().filter(|row| row.contains("evil")).count();
    assert!(count > 20, "{count}: {rows:#?}");
    assert_harmless(&rows);
}
