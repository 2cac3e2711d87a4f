use std::sync::Arc;

use lariat_core::content::ToolCall;
use serde_json::json;

use super::*;

fn request(summary: &str) -> PermissionRequest {
    let call = ToolCall { id: "c1".into(), name: "bash".to_owned(), arguments: json!({}), signature: None };
    PermissionRequest::new(&call, summary)
}

fn question(request: &PermissionRequest, theme: &Theme) -> String {
    let question = ApprovalDialog { request, arguments: None, is_confined: false };
    format!("{}{}", question.lines(theme), question.prompt())
}

fn answer(key: char, request: &PermissionRequest) -> ApprovalAnswer {
    ApprovalDialog { request, arguments: None, is_confined: false }.answer(key)
}

#[test]
fn dialog_shows_command_reason_and_remembered_rules() {
    let request = request("cargo test --all\ncargo fmt")
        .with_danger(DangerLevel::Dangerous)
        .with_reason("no rule allows `cargo test --all`")
        .with_remember("Bash(cargo test *)\nBash(cargo fmt)");
    insta::assert_snapshot!(question(&request, &Theme::plain(72)), @r#"
    ◆ Allow bash?  runs commands or uses the network
      │ cargo test --all
      │ cargo fmt
      reason: no rule allows `cargo test --all`
      [y] allow once
      [s] allow for this session
      [a] always allow in this project
      s and a remember these rules:
      │ Bash(cargo test *)
      │ Bash(cargo fmt)
      [n] deny   [e] deny and say why
    y/s/a/n/e>
    "#);
    let request = request.with_remember("Bash(cargo test *)");
    insta::assert_snapshot!(question(&request, &Theme { unicode: false, ..Theme::plain(72) }), @r#"
    ? Allow bash?  runs commands or uses the network
      | cargo test --all
      | cargo fmt
      reason: no rule allows `cargo test --all`
      [y] allow once
      [s] allow for this session: Bash(cargo test *)
      [a] always allow in this project: Bash(cargo test *)
      [n] deny   [e] deny and say why
    y/s/a/n/e>
    "#);
}

#[test]
fn dialog_shows_diff_of_a_change() {
    let request = request("edit_file src/a.rs")
        .with_preview("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n-let a = 1;\n+let a = 2;\n b();\n")
        .with_args(Arc::new(json!({"path": "src/a.rs"})));
    insta::assert_snapshot!(question(&request, &Theme::plain(72)), @r#"
    ◆ Allow bash?  changes files in the workspace
      A hook replaced the arguments. The tool runs with these:
      │  src/a.rs
      │  1 - let a = 1;
      │  1 + let a = 2;
      │  2   b();
      [y] allow once
      [n] deny   [e] deny and say why
    y/n/e>
    "#);
}

#[test]
fn command_is_shown_in_full_and_cannot_imitate_the_dialog() {
    let hidden = format!("echo {}; rm -rf ~\u{1b}[2K\n[y] once\ny/N/e> y", "x".repeat(300));
    let shown = question(&request(&hidden), &Theme::plain(40));
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
fn no_part_of_a_change_is_hidden() {
    let added = format!("+a = 1;{}evil\u{a0}();{}end", " ".repeat(200), "x".repeat(100));
    let preview = format!("--- a/[y] once\n+++ b/[y] once\n@@ -0,0 +1 @@\n{added}\n");
    let shown =
        question(&request("edit").with_reason("[y] once\n[s] all").with_preview(preview), &Theme::plain(50));
    let inside: String =
        shown.lines().filter_map(|line| line.strip_prefix("  │")).map(str::trim_start).collect();
    assert!(inside.contains("a = 1;⟨200 spaces⟩evil⟨U+00A0⟩();xxx") && inside.contains("xend"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.trim_start().starts_with("[y]")).count(), 1, "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("  [s]")), "{shown}");
    assert!(shown.lines().all(|line| text::width(line) <= 50), "{shown}");
}

#[test]
fn dialog_shows_command_and_models_description() {
    let arguments =
        json!({ "command": "make test\nls", "description": "Run the\ntests", "timeout_seconds": 300 });
    let request = request("bash: make test");
    let question = ApprovalDialog { request: &request, arguments: Some(&arguments), is_confined: true };
    insta::assert_snapshot!(format!("{}{}", question.lines(&Theme::plain(72)), question.prompt()), @r#"
    ◆ Allow bash?  changes files in the workspace
      │ make test
      │ ls
      │ timeout_seconds: 300
      the model says: Run the
                      tests
      [y] allow once
      [w] once, with network access   [o] once, outside the sandbox
      [n] deny   [e] deny and say why
    y/w/o/n/e>
    "#);
}

#[test]
fn dialog_shows_extra_access_and_can_withhold_it() {
    let request = request("bash: npm install").with_openings(vec![SandboxOpening::Network]);
    let grants = "use the network, including services on this machine";
    let request =
        request.with_reason(format!("Asked:\n- `npm`: no rule allows it.\nApproving lets it: {grants}."));
    let question = ApprovalDialog { request: &request, arguments: None, is_confined: true };
    let shown = question.lines(&Theme::plain(80));
    assert!(shown.contains(&format!("  if approved, it may: {grants}\n")), "{shown}");
    assert!(!shown.contains("Approving") && shown.contains("reason: `npm`: no rule"), "{shown}");
    assert_eq!(question.prompt(), "y/o/c/n/e> ");
    let with = |openings| {
        ApprovalAnswer::Decided(PermissionDecision::AllowWith { scope: ApprovalScope::Once, openings })
    };
    assert_eq!(question.answer('c'), with(Vec::new()));
    assert_eq!(question.answer('o'), with(vec![SandboxOpening::Outside]));
    assert_eq!(question.answer('w'), ApprovalAnswer::Unclear, "the network is open already");
}

#[test]
fn key_shows_full_diff() {
    let added: String = (1..=100).map(|number| format!("+line {number}\n")).collect();
    let request =
        request("write").with_preview(format!("--- /dev/null\n+++ b/a\n@@ -0,0 +1,100 @@\n{added}"));
    let question = ApprovalDialog { request: &request, arguments: None, is_confined: false };
    let shown = question.lines(&Theme::plain(72));
    assert!(shown.contains("more lines") && !shown.contains("line 100"), "{shown}");
    assert!(shown.contains("[d] show the full diff"), "{shown}");
    assert_eq!(question.answer('d'), ApprovalAnswer::WantsDiff);
    assert!(question.full_diff(&Theme::plain(72)).contains("line 100"));
}

#[test]
fn only_approving_keys_approve() {
    use PermissionDecision::{Allow, AllowAlways, AllowSession, Deny};
    let with = request("x").with_remember("Bash(x)");
    for (key, expected) in [
        ('y', ApprovalAnswer::Decided(Allow)),
        ('Y', ApprovalAnswer::Decided(Allow)),
        ('s', ApprovalAnswer::Decided(AllowSession)),
        ('a', ApprovalAnswer::Decided(AllowAlways)),
        ('n', ApprovalAnswer::Decided(Deny { reason: None })),
        ('e', ApprovalAnswer::WantsReason),
        ('d', ApprovalAnswer::Unclear),
        ('o', ApprovalAnswer::Unclear),
        (' ', ApprovalAnswer::Unclear),
        ('\u{1b}', ApprovalAnswer::Unclear),
    ] {
        assert_eq!(answer(key, &with), expected, "{key:?}");
    }
}

#[test]
fn keys_that_are_not_offered_do_nothing() {
    let without = request("x");
    for key in "sawocd".chars() {
        assert_eq!(answer(key, &without), ApprovalAnswer::Unclear);
    }
    assert_eq!(reason(Some(" because \n")), PermissionDecision::deny("because"));
    assert_eq!(reason(None), PermissionDecision::Deny { reason: None });
    assert_eq!(reason(Some("")), PermissionDecision::Deny { reason: None });
}
