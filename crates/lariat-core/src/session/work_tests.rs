//! Tests of the work log with tool calls as the built-in tools make them.

use serde_json::json;
use uuid::Uuid;

use super::*;

fn note(
    log: &mut WorkLog,
    n: u128,
    name: &str,
    arguments: Value,
    details: Value,
    outcome: Result<&str, &str>,
) {
    let call =
        ToolCall { id: "c".into(), name: name.to_owned(), arguments: arguments.clone(), signature: None };
    let message = MessageId::new(Uuid::from_u128(n));
    let (is_error, text) = (outcome.is_err(), outcome.unwrap_or_else(|text| text));
    if WorkLog::records(&call) {
        log.record(&FinishedCall {
            call: &call,
            arguments: &arguments,
            details: &details,
            is_error,
            text,
            message,
        });
    }
}

fn files(log: &WorkLog) -> Vec<(&str, FileState)> {
    log.files().map(|file| (file.path.as_str(), file.state)).collect()
}

#[test]
fn file_has_the_state_of_its_last_change() {
    let mut log = WorkLog::default();
    note(&mut log, 1, "read_file", json!({"path": "a"}), json!({"path": "a"}), Ok("1 x"));
    note(&mut log, 2, "write_file", json!({"path": "b", "content": "x"}), json!({"diff": ""}), Ok("ok"));
    note(&mut log, 3, "edit_file", json!({"path": "a"}), json!({"diff": ""}), Ok("ok"));
    note(&mut log, 4, "read_file", json!({"path": "a"}), json!({}), Ok("1 y"));
    note(&mut log, 5, "edit_file", json!({"path": "c"}), json!({}), Err("no such text"));
    note(&mut log, 6, "list_files", json!({"path": "src"}), json!({}), Ok("x"));
    assert_eq!(files(&log), [("b", FileState::Written), ("a", FileState::Edited)]);
}

#[test]
fn patch_records_each_of_its_files() {
    let mut log = WorkLog::default();
    let details = json!({"files": [{"path": "n"}, {"path": "m"}, {"path": "d"}, {"path": "to", "renamed_from": "from"}]});
    let output = "Applied the patch:\nA n\nM m\nD d\nR from -> to";
    note(&mut log, 1, "apply_patch", json!({"patch": "…"}), details, Ok(output));
    let expected = [
        ("n", FileState::Written),
        ("m", FileState::Edited),
        ("d", FileState::Deleted),
        ("to", FileState::Edited),
        ("from", FileState::Deleted),
    ];
    assert_eq!(files(&log), expected);
}

#[test]
fn command_has_its_outcome_and_first_error_line() {
    let mut log = WorkLog::default();
    note(&mut log, 1, "bash", json!({"command": "make"}), json!({"exit_code": 0}), Ok("fine"));
    note(
        &mut log,
        2,
        "bash",
        json!({"command": "make test"}),
        json!({"exit_code": 2}),
        Ok("\nno rule\nmore"),
    );
    note(&mut log, 3, "bash", json!({"command": "make"}), json!({"exit_code": 1}), Ok("broken"));
    let outcomes: Vec<_> = log.commands().map(|run| (run.command.as_str(), run.outcome.as_str())).collect();
    assert_eq!(outcomes, [("make test", "exit code 2: no rule"), ("make", "exit code 1: broken")]);
}

#[test]
fn renders_open_tasks_only() {
    let mut log = WorkLog::default();
    let items = json!([
        {"content": "fix the parser", "status": "completed"},
        {"content": "test it, *all* of it", "status": "in_progress"},
        {"content": "write it down", "status": "pending"},
    ]);
    note(&mut log, 1, "todo", json!({"items": items}), Value::Null, Ok("…"));
    let text = log.render(1_000);
    assert_eq!(text, "Open tasks:\n- [in_progress] test it, *all* of it\n- [pending] write it down\n");
}

#[test]
fn keeps_the_newest_entries_and_counts_removed_ones() {
    let mut log = WorkLog::default();
    for n in 0..MOST_COMMANDS + 7 {
        let command = json!({"command": format!("run {n}")});
        note(&mut log, n as u128, "bash", command, json!({"exit_code": 0}), Ok(""));
    }
    for n in 0..MOST_FILES + 3 {
        note(&mut log, n as u128, "write_file", json!({"path": format!("f{n}")}), json!({}), Ok(""));
    }
    assert_eq!((log.commands().count(), log.files().count()), (MOST_COMMANDS, MOST_FILES));
    let text = log.render(300);
    assert!(text.contains(&format!("`run {}`", MOST_COMMANDS + 6)), "{text}");
    assert!(!text.contains("`run 7`") && text.contains("earlier ones"), "{text}");
    assert!(text.len() < 900, "{}", text.len());
}
