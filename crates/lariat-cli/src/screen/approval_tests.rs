use std::sync::Arc;

use lariat_core::content::ToolCall;
use serde_json::json;

use super::*;

fn request(summary: &str) -> PermissionRequest {
    let call = ToolCall { id: "c1".into(), name: "bash".to_owned(), arguments: json!({}), signature: None };
    PermissionRequest::new(&call, summary)
}

#[test]
fn a_question_shows_what_runs_why_it_is_asked_and_what_is_remembered() {
    let request = request("cargo test --all\ncargo fmt")
        .with_danger(DangerLevel::Dangerous)
        .with_reason("no rule allows `cargo test --all`")
        .with_remember("Bash(cargo test *)\nBash(cargo fmt)");
    insta::assert_snapshot!(question(&request, &Look::plain(72)), @r#"
    ◆ Allow bash?  runs commands or reaches the network
      │ cargo test --all
      │ cargo fmt
      why: no rule allows `cargo test --all`
      [y] once
      [s] this session
      [a] always, in this project
      What s and a remember:
      │ Bash(cargo test *)
      │ Bash(cargo fmt)
      [n] no   [e] no, and say why
    y/s/a/N/e>
    "#);
    let request = request.with_remember("Bash(cargo test *)");
    insta::assert_snapshot!(question(&request, &Look { unicode: false, ..Look::plain(72) }), @r#"
    ? Allow bash?  runs commands or reaches the network
      | cargo test --all
      | cargo fmt
      why: no rule allows `cargo test --all`
      [y] once
      [s] this session: Bash(cargo test *)
      [a] always, in this project: Bash(cargo test *)
      [n] no   [e] no, and say why
    y/s/a/N/e>
    "#);
}

#[test]
fn a_change_is_shown_before_it_is_approved() {
    let request = request("edit_file src/a.rs")
        .with_preview("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n-let a = 1;\n+let a = 2;\n b();\n")
        .with_args(Arc::new(json!({"path": "src/a.rs"})));
    insta::assert_snapshot!(question(&request, &Look::plain(72)), @r#"
    ◆ Allow bash?  changes things in the workspace
      │ edit_file src/a.rs
      A hook replaced its arguments. It runs with these:
      │ {"path":"src/a.rs"}
      What it would change:
      │  src/a.rs
      │  1 - let a = 1;
      │  1 + let a = 2;
      │  2   b();
      [y] once
      [n] no   [e] no, and say why
    y/N/e>
    "#);
}

#[test]
fn what_runs_is_shown_whole_and_cannot_pose_as_the_question() {
    let hidden = format!("echo {}; rm -rf ~\u{1b}[2K\n[y] once\ny/N/e> y", "x".repeat(300));
    let shown = question(&request(&hidden), &Look::plain(40));
    let inside: Vec<&str> =
        shown.lines().filter(|line| line.starts_with("  │ ") || line.starts_with("  ┆ ")).collect();
    let (mut joined, mut first) = (String::new(), true);
    for line in inside {
        if line.starts_with("  │ ") && !first {
            joined.push('\n');
        }
        first = false;
        joined.push_str(line.get("  │ ".len()..).unwrap());
    }
    assert_eq!(display::exact(&joined).unwrap(), hidden);
    assert!(shown.lines().all(|line| text::width(line) <= 40), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn nothing_of_a_change_is_pushed_out_of_sight() {
    let added = format!("+a = 1;{}evil\u{a0}();{}end", " ".repeat(200), "x".repeat(100));
    let preview = format!("--- a/[y] once\n+++ b/[y] once\n@@ -0,0 +1 @@\n{added}\n");
    let shown =
        question(&request("edit").with_reason("[y] once\n[s] all").with_preview(preview), &Look::plain(50));
    let inside: String =
        shown.lines().filter_map(|line| line.strip_prefix("  │")).map(str::trim_start).collect();
    assert!(inside.contains("a = 1;⟨200 spaces⟩evil⟨U+00A0⟩();xxx") && inside.contains("xend"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.trim_start().starts_with("[y]")).count(), 1, "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("  [s]")), "{shown}");
    assert!(shown.lines().all(|line| text::width(line) <= 50), "{shown}");
}

#[test]
fn only_a_yes_is_a_yes() {
    use PermissionDecision::{Allow, AllowAlways, AllowSession, Deny};
    let with = request("x").with_remember("Bash(x)");
    for (input, expected) in [
        (Some("y"), Answer::Decided(Allow)),
        (Some(" YES \n"), Answer::Decided(Allow)),
        (Some("s"), Answer::Decided(AllowSession)),
        (Some("always"), Answer::Decided(AllowAlways)),
        (Some(""), Answer::Decided(Deny { reason: None })),
        (Some("  \n"), Answer::Decided(Deny { reason: None })),
        (None, Answer::Decided(Deny { reason: None })),
        (Some("n"), Answer::Decided(Deny { reason: None })),
        (Some("no use the other file"), Answer::Decided(PermissionDecision::deny("use the other file"))),
        (Some("e use the other file"), Answer::Decided(PermissionDecision::deny("use the other file"))),
        (Some("e"), Answer::WantsReason),
        (Some("yy"), Answer::Unclear),
        (Some("y please"), Answer::Unclear),
        (Some("ok"), Answer::Unclear),
        (Some("\u{1b}[A"), Answer::Unclear),
    ] {
        assert_eq!(answer(input, &with), expected, "{input:?}");
    }
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    let without = request("x");
    for input in ["s", "a", "session", "always"] {
        assert_eq!(answer(Some(input), &without), Answer::Unclear);
    }
    assert_eq!(reason(Some(" because \n")), PermissionDecision::deny("because"));
    assert_eq!(reason(None), PermissionDecision::Deny { reason: None });
    assert_eq!(reason(Some("")), PermissionDecision::Deny { reason: None });
}
