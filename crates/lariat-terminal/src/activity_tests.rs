use lariat_proofs::terminal::assert_harmless;
use serde_json::json;

use super::*;

const TOOK: Option<Duration> = Some(Duration::from_millis(1_250));

#[test]
fn shows_running_and_finished_call_in_one_line() {
    let theme = Theme::plain(60);
    let test = json!({"command": "cargo test"});
    assert_eq!(running_line("bash", Some(&test), &theme), "● bash  cargo test");
    assert_eq!(
        finished_line("bash", Some(&test), &CallOutcome::Done, TOOK, "", &theme),
        "✓ bash  cargo test  1.2s"
    );
    let failed = CallOutcome::Failed("\nerror: no such command: `tset`\nmore".to_owned());
    assert_eq!(
        finished_line("bash", Some(&test), &failed, TOOK, "exit 101", &theme),
        "✗ bash  cargo test  1.2s  exit 101  error: no such command:…"
    );
    let ascii = Theme { unicode: false, ..theme };
    assert_eq!(
        finished_line("bash", Some(&test), &CallOutcome::Done, TOOK, "", &ascii),
        "+ bash  cargo test  1.2s"
    );
    assert_eq!(running_line("bash", Some(&test), &ascii), "* bash  cargo test");
}

#[test]
fn shows_most_informative_argument_of_each_tool() {
    for (tool, arguments, expected) in [
        ("bash", json!({"command": "a\n\nb\nc", "timeout": 3}), "a (+2 lines)"),
        ("read_file", json!({"path": "src/a.rs", "limit": 3}), "src/a.rs"),
        ("edit_file", json!({"path": "src/a.rs", "old_string": "x"}), "src/a.rs"),
        ("search", json!({"pattern": "fn \\w+", "path": "src"}), "fn \\w+"),
        ("fetch", json!({"url": "https://a.b"}), "https://a.b"),
        ("list_files", json!({}), ""),
        ("todo", json!({"items": [1]}), ""),
        ("apply_patch", json!({"patch": "*** Begin\n*** Update File: a\n+x\n*** Add File: b\n"}), "a, b"),
        ("mcp__x__y", json!({"a": 1, "b": [true]}), r#"{"a":1,"b":[true]}"#),
        ("mcp__x__y", json!({}), ""),
        ("mcp__x__y", json!(null), ""),
    ] {
        assert_eq!(about(tool, Some(&arguments)), expected, "{tool} {arguments}");
    }
    assert_eq!(about("bash", None), "");
}

#[test]
fn line_fits_terminal_and_keeps_the_error() {
    let long = json!({"command": "x".repeat(500)});
    let failed = CallOutcome::Failed("error: it broke".to_owned());
    for width in 30..120 {
        let line = finished_line("bash", Some(&long), &failed, TOOK, "", &Theme::plain(width));
        assert!(text::width(&line) <= width, "{line}");
        assert!(line.contains("error: it"), "{line}");
        assert!(text::width(&running_line("bash", Some(&long), &Theme::plain(width))) <= width);
    }
}

#[test]
fn neutralises_names_arguments_and_errors() {
    let hostile = "a\u{1b}[2J\u{202e}b\r";
    let arguments = json!({"command": hostile, "x": hostile});
    let failed = CallOutcome::Failed(hostile.to_owned());
    for tool in ["bash", hostile] {
        assert_harmless(&running_line(tool, Some(&arguments), &Theme::full(80)), tool);
        assert_harmless(
            &finished_line(tool, Some(&arguments), &failed, TOOK, hostile, &Theme::full(80)),
            tool,
        );
    }
}
