use std::path::Path;

use lariat_core::content::{Content, ToolCall as Call};
use serde_json::{Value, json};

use super::{described, finished, requested};
use crate::wire::{ToolContent, ToolKind, ToolStatus};

fn title(tool: &str, arguments: Value) -> (Option<ToolKind>, String) {
    let call = described("c", tool, &arguments, Path::new("/project"));
    (call.kind, call.title.unwrap())
}

#[test]
fn every_tool_has_a_kind_and_a_title() {
    let patch = "*** Begin Patch\n*** Add File: a/b.txt\n+x\n*** End Patch";
    let cases = [
        ("read_file", json!({"path": "a.rs"}), ToolKind::Read, "Read a.rs"),
        ("list_files", json!({}), ToolKind::Read, "List"),
        ("write_file", json!({"path": "a.rs"}), ToolKind::Edit, "Write a.rs"),
        ("multi_edit", json!({"path": "a.rs"}), ToolKind::Edit, "Edit a.rs"),
        ("apply_patch", json!({"patch": patch}), ToolKind::Edit, "Edit a/b.txt"),
        ("search", json!({"pattern": "x+"}), ToolKind::Search, "Search x+"),
        ("bash", json!({"command": "ls -l"}), ToolKind::Execute, "Run ls -l"),
        ("fetch", json!({"url": "https://a.b"}), ToolKind::Fetch, "Fetch https://a.b"),
        ("todo", json!({}), ToolKind::Think, "Update the task list"),
        ("mcp__db__query", json!({}), ToolKind::Other, "db: query"),
        ("unheard_of", json!(null), ToolKind::Other, "unheard_of"),
    ];
    for (tool, arguments, kind, words) in cases {
        assert_eq!(title(tool, arguments), (Some(kind), words.to_owned()), "{tool}");
    }
}

#[test]
fn a_title_hides_nothing_of_a_command() {
    let (_, shown) = title("bash", json!({"command": "ls\nrm -rf \u{202e}x"}));
    assert_eq!(shown, "Run ls⟨U+000A⟩rm -rf ⟨U+202E⟩x");
    let (_, long) = title("bash", json!({"command": "é".repeat(1_000)}));
    assert_eq!(long.chars().count(), 301);
}

#[test]
fn a_request_has_its_place_and_its_arguments() {
    let arguments = json!({"path": "src/a.rs", "offset": 7});
    let call =
        Call { id: "c1".into(), name: "read_file".to_owned(), arguments: arguments.clone(), signature: None };
    let shown = serde_json::to_value(requested(&call, Path::new("/project"))).unwrap();
    let expected = json!({
        "toolCallId": "c1", "title": "Read src/a.rs", "name": "read_file", "kind": "read", "status": "pending",
        "locations": [{"path": "/project/src/a.rs", "line": 7}], "rawInput": arguments,
    });
    assert_eq!(shown, expected);
}

#[test]
fn changes_of_files_are_diffs_and_other_results_are_text() {
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
    let text = [Content::text("Edited `a`.")];
    let directory = Path::new("/project");
    let edited = finished("c", &text, &json!({"path": "a", "diff": diff}), false, directory);
    assert!(matches!(edited.content.unwrap()[..], [ToolContent::Diff { .. }]));
    assert_eq!((edited.status, edited.raw_output), (Some(ToolStatus::Completed), None));
    let patched = finished("c", &text, &json!({"files": [{"diff": diff}, {"diff": diff}]}), false, directory);
    assert_eq!(patched.locations.unwrap().len(), 2);
    let failed = finished("c", &text, &json!({"diff": diff}), true, directory);
    assert_eq!(failed.status, Some(ToolStatus::Failed));
    let shown = serde_json::to_value(failed.content).unwrap();
    assert_eq!(shown[0]["content"]["text"], "```\nEdited `a`.\n```");
}

#[test]
fn output_cannot_leave_its_code_block() {
    let text = [Content::text("a\n  ````\n# heading\n")];
    let shown = finished("c", &text, &Value::Null, false, Path::new("/project"));
    let shown = serde_json::to_value(shown.content).unwrap();
    assert_eq!(shown[0]["content"]["text"], "`````\na\n  ````\n# heading\n`````");
}
