use serde_json::{Value, json};

use super::{claude_input, own_input};

#[test]
fn arguments_have_claude_codes_names_and_come_back() {
    for (tool, ours, theirs) in [
        ("read_file", json!({ "path": "a", "offset": 3 }), json!({ "file_path": "a", "offset": 3 })),
        (
            "edit_file",
            json!({ "path": "a", "old_string": "x", "new_string": "y", "replace_all": true }),
            json!({ "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true }),
        ),
        (
            "bash",
            json!({ "command": "ls", "timeout_seconds": 5, "background": true }),
            json!({ "command": "ls", "timeout": 5_000, "run_in_background": true }),
        ),
        (
            "search",
            json!({ "pattern": "x", "mode": "files", "case": "insensitive", "context": 2, "limit": 9 }),
            json!({ "pattern": "x", "output_mode": "files_with_matches", "-i": true, "-C": 2, "head_limit": 9 }),
        ),
        ("todo", json!({ "items": [] }), json!({ "todos": [] })),
        // A word without a counterpart stays visible under its own name.
        ("search", json!({ "pattern": "x", "case": "smart" }), json!({ "pattern": "x", "case": "smart" })),
    ] {
        assert_eq!(claude_input(tool, &ours), theirs);
        assert_eq!(own_input(tool, &ours, &theirs), Ok(None), "{tool}: nothing changed");
        assert_eq!(own_input(tool, &json!({}), &theirs), Ok(Some(ours)), "{tool}");
    }
}

#[test]
fn shows_the_argument_that_the_tool_uses_if_the_model_sent_both_names() {
    let both = json!({ "command": "ls", "background": false, "run_in_background": true });
    assert_eq!(claude_input("bash", &both)["run_in_background"], false);
    let both = json!({ "file_path": "shown", "path": "used" });
    assert_eq!(claude_input("read_file", &both), json!({ "file_path": "used" }));
}

#[test]
fn refuses_arguments_without_a_counterpart() {
    let ours = json!({ "pattern": "x" });
    for returned in [
        json!({ "pattern": "x", "output_mode": "everything" }),
        json!({ "pattern": "x", "-i": "yes" }),
        json!({ "pattern": "x", "case": "smart", "-i": true }),
        Value::Null,
    ] {
        assert!(own_input("search", &ours, &returned).is_err(), "{returned}");
    }
    let timeout = json!({ "command": "ls", "timeout": 1_500 });
    let own = own_input("bash", &json!({ "command": "ls" }), &timeout).unwrap().unwrap();
    assert_eq!(own["timeout_seconds"], 2, "a part of a second becomes a whole one");
}
