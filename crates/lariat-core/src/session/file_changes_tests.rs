use serde_json::{Value, json};

use super::{ChangeKind::*, FileChanges};
use crate::event::{AgentEvent, MessageRef};
use crate::id::MessageId;

fn tool_end(details: Value, is_error: bool) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: "call".into(),
        tool_name: "any".to_owned(),
        message: MessageRef::unresolved(MessageId::default()),
        details,
        is_error,
        child_loop_id: None,
    }
}

fn changed(details: impl IntoIterator<Item = Value>) -> Vec<(String, super::ChangeKind)> {
    let mut changes = FileChanges::default();
    details.into_iter().for_each(|details| changes.observe(&tool_end(details, false)));
    changes.into_files().into_iter().map(|file| (file.path, file.change)).collect()
}

fn file(path: &str, change: &str) -> Value {
    json!({"path": path, "change": change})
}

#[test]
fn file_is_listed_once_with_its_net_change() {
    let cases = [
        (vec!["added", "modified"], Some(Added)),
        (vec!["added", "deleted"], None),
        (vec!["modified", "modified"], Some(Modified)),
        (vec!["modified", "deleted"], Some(Deleted)),
        (vec!["deleted", "added"], Some(Modified)),
        (vec!["added", "deleted", "added"], Some(Added)),
    ];
    for (steps, expected) in cases {
        let actual = changed(steps.iter().map(|step| file("a", step)));
        let expected: Vec<_> = expected.into_iter().map(|change| ("a".to_owned(), change)).collect();
        assert_eq!(actual, expected, "{steps:?}");
    }
}

#[test]
fn patch_reports_several_files_and_renames() {
    let patch = json!({"files": [
        file("new", "added"),
        {"path": "to", "renamed_from": "from"},
        file("to", "modified"),
        file("gone", "deleted"),
    ]});
    let expected = [("new", Added), ("from", Deleted), ("to", Added), ("gone", Deleted)];
    assert_eq!(changed([patch]), expected.map(|(path, change)| (path.to_owned(), change)));
}

#[test]
fn reads_and_failed_tools_report_no_change() {
    assert_eq!(changed([json!({"path": "read", "bytes": 3}), Value::Null, json!({"exit_code": 0})]), []);
    let mut changes = FileChanges::default();
    changes.observe(&tool_end(file("a", "modified"), true));
    assert_eq!(changes.into_files(), []);
}
