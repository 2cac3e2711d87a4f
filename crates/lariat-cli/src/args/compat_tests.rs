use lariat_service::SessionSelector;
use serde_json::json;

use super::{CompatCommand, parse};
use crate::args::run::Output;
use crate::args::task::{Schema, Task};

fn words(line: &[&str]) -> Option<CompatCommand> {
    parse(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
}

fn task(line: &[&str]) -> Task {
    let Some(CompatCommand::Run(task)) = words(line) else { panic!("{line:?} is not a run") };
    *task
}

#[test]
fn ignores_our_own_commands() {
    for line in
        [&["run", "--model", "x"][..], &["--help"], &["-h"], &["--version"], &["-V"], &["--nonsense"], &[]]
    {
        assert!(words(line).is_none(), "{line:?}");
    }
    assert!(matches!(words(&["-v"]), Some(CompatCommand::Version)));
}

#[test]
fn parses_flags_of_the_python_sdk() {
    let task = task(&[
        "--output-format",
        "stream-json",
        "--verbose",
        "--system-prompt",
        "",
        "--allowedTools",
        "Bash(git log *, x),Read",
        "--max-turns",
        "3",
        "--max-budget-usd",
        "0.5",
        "--disallowedTools",
        "WebFetch",
        "--model",
        "test/x",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "acceptEdits",
        "--resume=abc",
        "--include-partial-messages",
        "--fork-session",
        "--json-schema",
        "{}",
        "--input-format",
        "stream-json",
    ]);
    assert_eq!(task.output, Output::StreamJson);
    assert_eq!(task.allow, ["Bash(git log *, x)", "Read"]);
    assert_eq!(task.deny, ["WebFetch"]);
    assert_eq!(
        json!(task.settings),
        json!({ "limits": { "turns": 3, "cost": 0.5 }, "model": "test/x", "mode": "acceptEdits" })
    );
    assert_eq!((task.which, task.forks), (SessionSelector::Resume("abc".to_owned()), true));
    assert!(task.controlled && task.answers_approvals);
    assert_eq!(task.schema, Some(Schema::Text("{}".to_owned())));
    assert!(task.stream_options.partial);
    assert_eq!(task.system_prompt, None, "an empty prompt is ignored");
    assert_eq!(task.warnings, Vec::<String>::new());
}

#[test]
fn finds_prompt_at_any_position() {
    for line in [
        &["-p", "do it", "--output-format", "json"][..],
        &["--output-format=json", "--print", "do it"],
        &["--output-format", "json", "-p", "--", "do it"],
    ] {
        let task = task(line);
        assert_eq!((task.prompt.as_deref(), task.output), (Some("do it"), Output::Json), "{line:?}");
        assert!(!task.controlled);
    }
}

#[test]
fn refuses_unknown_flags_and_warns_about_unsupported_ones() {
    let asked = task(&["-p", "--from-the-future", "do it"]);
    assert_eq!(asked.refused[0].0, "--from-the-future");
    let controlled = task(&["--verbose", "--from-the-future", "7", "--input-format", "stream-json"]);
    assert_eq!((controlled.prompt.as_deref(), controlled.refused.len()), (None, 1));
    let lacking = task(&["-p", "--mcp-config", "{}", "do it"]);
    assert_eq!(lacking.warnings, ["--mcp-config is not supported"]);
    assert_eq!((lacking.prompt.as_deref(), lacking.refused.len()), (Some("do it"), 0));
}

#[test]
fn list_flags_take_values_up_to_the_next_flag() {
    let asked =
        task(&["-p", "do it", "--disallowedTools", "Bash(rm *)", "Edit", "--tools", "Read,Glob", "Bash"]);
    assert_eq!(asked.deny, ["Bash(rm *)", "Edit"]);
    assert_eq!(asked.tools.as_deref(), Some(&["Read", "Glob", "Bash"].map(str::to_owned)[..]));
    assert_eq!(asked.prompt.as_deref(), Some("do it"));
    assert_eq!(task(&["-p", "x", "--tools", ""]).tools, Some(Vec::new()));
    assert_eq!(task(&["-p", "x", "--tools", "default"]).tools, None);
}

#[test]
fn flags_with_value_require_one() {
    for (name, flag) in super::FLAGS {
        let needs =
            matches!(flag, super::Flag::Valued(_) | super::Flag::ListValued(_) | super::Flag::RefusedValued);
        let asked = task(&["-p", "x", &format!("--{name}")]);
        assert_eq!(asked.refused.is_empty(), !needs, "--{name}: {:?}", asked.refused);
    }
}

#[test]
fn setting_sources_without_project_revoke_trust() {
    for (value, distrusts) in [("", true), ("user", true), ("user,project,local", false), ("local", false)] {
        assert_eq!(task(&["-p", "x", "--setting-sources", value]).distrusting, distrusts, "{value}");
    }
    assert_eq!(task(&["-p", "x", "--setting-sources", "proj"]).refused.len(), 1);
}

#[test]
fn resume_without_id_continues_last_session() {
    assert_eq!(task(&["-r", "-p", "x"]).which, SessionSelector::Continue);
    assert_eq!(task(&["-r", "abc", "-p", "x"]).which, SessionSelector::Resume("abc".to_owned()));
    assert_eq!(task(&["-c", "-p", "x"]).which, SessionSelector::Continue);
}
