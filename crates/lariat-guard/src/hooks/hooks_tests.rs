use std::sync::Mutex;
use std::time::Duration;

use lariat_core::BoxFuture;
use serde_json::{Value, json};

use super::*;

fn exited(code: i32, output: &str, errors: &str) -> Ended {
    Ended::Exited { code, output: output.to_owned(), errors: errors.to_owned() }
}

fn read(event: HookEvent, ended: &Ended) -> Answer {
    Answer::read(event, ended, OnFailure::Block)
}

fn book(hooks: &Value) -> HookBook {
    let mut book = HookBook::default();
    assert_eq!(book.add("settings.json", hooks), []);
    book
}

#[test]
fn exit_codes_mean_what_the_contract_says() {
    let pre = HookEvent::PreToolUse;
    assert_eq!(read(pre, &exited(0, "fine", "")), Answer::default());
    let blocked =
        read(pre, &exited(2, r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#, "no pushes"));
    assert_eq!((blocked.decision, blocked.reason.as_deref()), (Some(Decision::Deny), Some("no pushes")));
    // Where nothing can be blocked, 2 is a failure like any other.
    assert_eq!(read(HookEvent::PostToolUse, &exited(2, "", "late")).decision, None);
    assert_eq!(
        read(HookEvent::UserPromptSubmit, &exited(0, "the date", "")).context.as_deref(),
        Some("the date")
    );
    assert_eq!(read(HookEvent::Stop, &exited(0, "the date", "")).context, None);
    // Valid JSON decides, whatever the code is.
    let asked = read(pre, &exited(1, r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#, ""));
    assert_eq!(asked.decision, Some(Decision::Ask));
}

#[test]
fn a_handler_that_fails_blocks_what_it_may_block() {
    for ended in [
        Ended::TimedOut,
        Ended::Failed("no such file".into()),
        exited(1, "", "oops"),
        exited(0, "{ not json", ""),
    ] {
        for event in HookEvent::ALL {
            let strict = Answer::read(event, &ended, OnFailure::Block);
            assert_eq!(strict.decision == Some(Decision::Deny), event.can_block(), "{event:?} {ended:?}");
            assert_eq!(Answer::read(event, &ended, OnFailure::Proceed).decision, None, "{event:?} {ended:?}");
            assert!(strict.reason.or(strict.message).is_some(), "{event:?} {ended:?}");
        }
    }
}

#[test]
fn a_word_that_is_not_known_is_no_yes() {
    let answer = read(
        HookEvent::PreToolUse,
        &exited(0, r#"{"hookSpecificOutput":{"permissionDecision":"approve"}}"#, ""),
    );
    assert_eq!(answer.decision, Some(Decision::Deny));
}

#[test]
fn the_strongest_of_several_answers_counts() {
    use Decision::{Allow, Ask, Defer, Deny};
    for first in [None, Some(Allow), Some(Ask), Some(Defer), Some(Deny)] {
        for second in [None, Some(Allow), Some(Ask), Some(Defer), Some(Deny)] {
            let answer = |decision, reason: &str| Answer {
                decision,
                reason: Some(reason.into()),
                ..Answer::default()
            };
            let outcome = Outcome::of([answer(first, "a"), answer(second, "b")]);
            assert_eq!(outcome.decision, first.max(second));
            let told = outcome.reason().unwrap();
            assert_eq!(told.contains('a'), first == outcome.decision);
            assert_eq!(told.contains('b'), second == outcome.decision);
        }
    }
    assert!(Deny > Defer && Defer > Ask && Ask > Allow);
}

#[test]
fn matchers_are_lists_or_expressions() {
    for (matcher, name, expected) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("Edit|Write", "Write", true),
        ("Edit, Write", "Write", true),
        ("mcp__.*", "mcp__db__query", true),
        ("mcp__.*__write", "mcp__db__query", false),
        ("^Note", "Notebook", true),
        ("B.sh", "xBashx", true),
    ] {
        assert_eq!(Matcher::parse(matcher).unwrap().matches(&[name]), expected, "{matcher} {name}");
    }
    assert!(Matcher::parse("(").is_err());
    assert!(Matcher::parse("Bash").unwrap().matches(&["bash", "Bash"]));
}

#[test]
fn what_cannot_be_used_is_told() {
    let mut book = HookBook::default();
    let problems = book.add(
        "settings.json",
        &json!({
            "PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]},
                           {"hooks": [{"type": "prompt", "prompt": "?"}, {"type": "command"}, {"command": "y", "on_failure": "maybe"}]}],
            "TeammateIdle": []
        }),
    );
    let told: Vec<_> = problems.iter().map(|problem| problem.problem.as_str()).collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(book.is_empty(HookEvent::PreToolUse));
}

#[test]
fn handlers_are_read_with_their_defaults() {
    let book = book(&json!({
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "check", "timeout": 5},
            {"type": "command", "command": "check", "args": ["-x"], "if": "Bash(git *)"},
            {"type": "http", "url": "http://localhost/x", "headers": {"A": "$T"}, "allowedEnvVars": ["T"], "on_failure": "proceed"}
        ]}],
        "UserPromptSubmit": [{"hooks": [{"command": "p"}]}]
    }));
    let handlers = book.matching(HookEvent::PreToolUse, &["Bash"]);
    assert_eq!(handlers.len(), 3);
    assert_eq!(
        (&handlers[0].way, handlers[0].timeout),
        (&Way::Shell("check".into()), Duration::from_secs(5))
    );
    assert_eq!(handlers[1].way, Way::Program("check".into(), vec!["-x".into()]));
    assert_eq!((handlers[1].timeout, handlers[2].on_failure), (Duration::from_secs(600), OnFailure::Proceed));
    assert_eq!(book.matching(HookEvent::PreToolUse, &["Read"]).len(), 0);
    assert_eq!(book.matching(HookEvent::UserPromptSubmit, &[])[0].timeout, Duration::from_secs(30));
}

/// Answers by the command's text; remembers what it was told.
#[derive(Default)]
struct Scripted(Mutex<Vec<String>>);

impl HookRunner for Scripted {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended> {
        self.0.lock().unwrap().push(input.to_owned());
        let Way::Shell(command) = &handler.way else { return Box::pin(async { Ended::TimedOut }) };
        let ended = match command.as_str() {
            "deny" => exited(2, "", "no"),
            "rewrite" => exited(
                0,
                r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}"#,
                "",
            ),
            _ => exited(0, "", ""),
        };
        Box::pin(async move { ended })
    }
}

#[test]
fn all_handlers_of_an_event_are_told_once_and_together() {
    let book = book(&json!({"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"command": "rewrite"}, {"command": "rewrite"}]},
        {"hooks": [{"command": "deny", "if": "Bash(git *)"}]}
    ]}));
    let told = Told::new(HookEvent::PreToolUse, "s", "/w")
        .with("tool_name", "Bash")
        .with("tool_input", json!({"command": "rm x"}))
        .with("session_id", "forged");
    let runner = Scripted::default();
    let fired = |condition: bool| {
        futures_util::FutureExt::now_or_never(fire(&book, &runner, &told, &["bash", "Bash"], move |_| {
            condition
        }))
        .unwrap()
    };
    let outcome = fired(false);
    assert_eq!(
        (outcome.decision, outcome.updated_input),
        (Some(Decision::Allow), Some(json!({"command": "ls"})))
    );
    assert_eq!(fired(true).decision, Some(Decision::Deny));
    let inputs = runner.0.lock().unwrap();
    assert_eq!(inputs.len(), 3);
    let input: Value = serde_json::from_str(&inputs[0]).unwrap();
    assert_eq!(
        (&input["session_id"], &input["hook_event_name"], &input["tool_name"]),
        (&json!("s"), &json!("PreToolUse"), &json!("Bash"))
    );
}
