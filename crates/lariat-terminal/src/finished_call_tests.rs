use serde_json::json;

use super::*;

fn shown(output: &str, details: Value, is_error: bool, took: Option<Duration>) -> String {
    let arguments = json!({ "command": "make test" });
    let call =
        FinishedCall { tool: "bash", arguments: Some(&arguments), output, details: &details, is_error, took };
    call.lines(Verbosity::Normal, &Theme::plain(72))
}

const SECOND: Option<Duration> = Some(Duration::from_secs(1));

#[test]
fn only_success_gets_a_tick() {
    let ended = |end: &str, code: Option<i32>, signal: Option<i32>| json!({ "end": end, "exit_code": code, "signal": signal, "output_bytes": 5 });
    for (details, expected) in [
        (ended("by_itself", Some(0), None), "✓ bash  make test  1.0s\n"),
        (ended("by_itself", Some(127), None), "✗ bash  make test  1.0s  exit 127\n  oh no\n"),
        (ended("by_itself", None, Some(9)), "✗ bash  make test  1.0s  killed by signal 9\n  oh no\n"),
        (ended("cancelled", None, Some(15)), "✗ bash  make test  1.0s  interrupted\n  oh no\n"),
        (ended("timed_out", None, Some(15)), "✗ bash  make test  1.0s  timed out\n  oh no\n"),
        (ended("stopped", None, Some(15)), "✓ bash  make test  1.0s\n"),
    ] {
        assert_eq!(shown("oh no\n[Exit code 1.]\n", details.clone(), false, SECOND), expected, "{details}");
    }
}

#[test]
fn failed_command_shows_end_of_output() {
    let output: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let details = json!({ "end": "by_itself", "exit_code": 2, "output_bytes": 100 });
    let lines = shown(&format!("{output}[Exit code 2.]\n"), details, false, SECOND);
    assert!(lines.contains("… 12 earlier lines\n  line 13\n"), "{lines}");
    assert!(lines.ends_with("  line 20\n"), "{lines}");
}

#[test]
fn call_that_did_not_run_shows_reason() {
    for (result, expected) in [
        ("Denied: use another name", "✗ bash  make test  denied: use another name\n"),
        (
            "Denied: Denied:\n- `make`: matches the deny rule `Bash(make)`.",
            "✗ bash  make test  denied: `make`: matches the deny rule `Bash(make)`.\n",
        ),
        ("There is no tool named `bsh`.", "✗ bash  make test  There is no tool named `bsh`.\n"),
    ] {
        assert_eq!(shown(result, Value::Null, true, None), expected);
    }
}

#[test]
fn marks_tasks_by_status() {
    let details = json!({ "items": [
        { "content": "read", "status": "completed" },
        { "content": "fix\u{1b}[2J", "status": "in_progress" },
        { "content": "test", "status": "pending" },
    ], "completed": 1, "total": 3 });
    let lines = tasks(&details, &Theme::plain(72)).unwrap();
    assert_eq!(lines, "  ☑ read\n  ▶ fix⟨U+001B⟩[2J\n  ☐ test\n");
}
