use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::BoxFuture;
use serde_json::{Value, json};

use super::*;

fn exited(code: i32, output: &str, errors: &str) -> HandlerResult {
    HandlerResult::Exited { code, output: output.to_owned(), errors: errors.to_owned() }
}

fn read(event: HookEvent, ended: &HandlerResult) -> HandlerAnswer {
    HandlerAnswer::read(event, ended, OnFailure::Block)
}

fn hook_config(hooks: &Value) -> HookConfig {
    let mut hook_config = HookConfig::default();
    assert_eq!(hook_config.add("settings.json", hooks), []);
    hook_config
}

#[test]
fn exit_codes_follow_the_contract() {
    let pre = HookEvent::PreToolUse;
    assert_eq!(read(pre, &exited(0, "fine", "")), HandlerAnswer::default());
    let blocked =
        read(pre, &exited(2, r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#, "no pushes"));
    assert_eq!((blocked.decision, blocked.reason.as_deref()), (Some(HookDecision::Deny), Some("no pushes")));
    // On an event that cannot be blocked, code 2 is an ordinary failure.
    assert_eq!(read(HookEvent::PostToolUse, &exited(2, "", "late")).decision, None);
    assert_eq!(
        read(HookEvent::UserPromptSubmit, &exited(0, "the date", "")).context.as_deref(),
        Some("the date")
    );
    assert_eq!(read(HookEvent::Stop, &exited(0, "the date", "")).context, None);
    // Valid JSON decides, whatever the exit code.
    let asked = read(pre, &exited(1, r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#, ""));
    assert_eq!(asked.decision, Some(HookDecision::Ask));
}

#[test]
fn failing_handler_blocks_events_that_can_be_blocked() {
    for ended in [
        HandlerResult::TimedOut,
        HandlerResult::Failed("no such file".into()),
        exited(1, "", "oops"),
        exited(0, "{ not json", ""),
    ] {
        for event in HookEvent::ALL {
            let strict = HandlerAnswer::read(event, &ended, OnFailure::Block);
            assert_eq!(strict.decision == Some(HookDecision::Deny), event.can_block(), "{event:?} {ended:?}");
            assert_eq!(
                HandlerAnswer::read(event, &ended, OnFailure::Proceed).decision,
                None,
                "{event:?} {ended:?}"
            );
            assert!(strict.reason.or(strict.message).is_some(), "{event:?} {ended:?}");
        }
    }
}

#[test]
fn unknown_decision_word_denies() {
    let answer = read(
        HookEvent::PreToolUse,
        &exited(0, r#"{"hookSpecificOutput":{"permissionDecision":"approve"}}"#, ""),
    );
    assert_eq!(answer.decision, Some(HookDecision::Deny));
}

#[test]
fn strongest_decision_wins() {
    use HookDecision::{Allow, Ask, Defer, Deny};
    for first in [None, Some(Allow), Some(Ask), Some(Defer), Some(Deny)] {
        for second in [None, Some(Allow), Some(Ask), Some(Defer), Some(Deny)] {
            let answer = |decision, reason: &str| HandlerAnswer {
                decision,
                reason: Some(reason.into()),
                ..HandlerAnswer::default()
            };
            let outcome = Outcome::of([answer(first, "a"), answer(second, "b")]);
            assert_eq!(outcome.decision, first.max(second));
            let texts = outcome.reason().unwrap();
            assert_eq!(texts.contains('a'), first == outcome.decision);
            assert_eq!(texts.contains('b'), second == outcome.decision);
        }
    }
    assert!(Deny > Defer && Defer > Ask && Ask > Allow);
}

#[test]
fn matcher_is_a_list_of_names_or_an_expression() {
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
fn reports_unusable_configuration() {
    let mut hook_config = HookConfig::default();
    let problems = hook_config.add(
        "settings.json",
        &json!({
            "PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]},
                           {"hooks": [{"type": "prompt", "prompt": "?"}, {"type": "command"}, {"command": "y", "on_failure": "maybe"}]}],
            "TeammateIdle": []
        }),
    );
    let texts: Vec<_> = problems.iter().map(|problem| problem.problem.as_str()).collect();
    assert_eq!(texts.len(), 5, "{texts:#?}");
    assert!(hook_config.is_empty(HookEvent::PreToolUse));
}

fn matching<'a>(hook_config: &'a HookConfig, event: HookEvent, names: &[&str]) -> Vec<&'a Handler> {
    hook_config.matching(event, names).into_iter().map(|(_, handler, _)| handler).collect()
}

#[test]
fn handlers_are_parsed_with_defaults() {
    let hook_config = hook_config(&json!({
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "check", "timeout": 5},
            {"type": "command", "command": "check", "args": ["-x"], "if": "Bash(git *)"},
            {"type": "http", "url": "http://localhost/x", "headers": {"A": "$T"}, "allowedEnvVars": ["T"], "on_failure": "proceed"}
        ]}],
        "UserPromptSubmit": [{"hooks": [{"command": "p"}]}]
    }));
    let handlers = matching(&hook_config, HookEvent::PreToolUse, &["Bash"]);
    assert_eq!(handlers.len(), 3);
    assert_eq!(
        (&handlers[0].way, handlers[0].timeout),
        (&Invocation::Shell("check".into()), Duration::from_secs(5))
    );
    assert_eq!(handlers[1].way, Invocation::Program("check".into(), vec!["-x".into()]));
    assert_eq!((handlers[1].timeout, handlers[2].on_failure), (Duration::from_secs(600), OnFailure::Proceed));
    assert_eq!(hook_config.matching(HookEvent::PreToolUse, &["Read"]).len(), 0);
    assert_eq!(matching(&hook_config, HookEvent::UserPromptSubmit, &[])[0].timeout, Duration::from_secs(30));
}

/// Answers by the text of the command and records each input.
#[derive(Default)]
struct ScriptedRunner(Mutex<Vec<String>>);

impl HookRunner for ScriptedRunner {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        self.0.lock().unwrap().push(input.to_owned());
        let Invocation::Shell(command) = &handler.way else {
            return Box::pin(async { HandlerResult::TimedOut });
        };
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
fn runs_each_matching_handler_once_and_combines_the_answers() {
    let hook_config = hook_config(&json!({"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"command": "rewrite"}, {"command": "rewrite"}]},
        {"hooks": [{"command": "deny", "if": "Bash(git *)"}]}
    ]}));
    let hook_input = HookInput::new(HookEvent::PreToolUse, "s", "/w")
        .with("tool_name", "Bash")
        .with("tool_input", json!({"command": "rm x"}))
        .with("session_id", "forged");
    let runner = ScriptedRunner::default();
    let spent = OnceHandlers::default();
    let fired = |condition: bool| {
        let round =
            EventHandlers::of(&hook_config, &spent, &hook_input, &["bash", "Bash"], None, move |_| condition)
                .unwrap();
        futures_util::FutureExt::now_or_never(round.outcome(&runner)).unwrap()
    };
    let outcome = fired(false);
    assert_eq!(
        (outcome.decision, outcome.updated_input),
        (Some(HookDecision::Allow), Some(json!({"command": "ls"})))
    );
    assert_eq!(fired(true).decision, Some(HookDecision::Deny));
    let inputs = runner.0.lock().unwrap();
    assert_eq!(inputs.len(), 3);
    let input: Value = serde_json::from_str(&inputs[0]).unwrap();
    assert_eq!(
        (&input["session_id"], &input["hook_event_name"], &input["tool_name"]),
        (&json!("s"), &json!("PreToolUse"), &json!("Bash"))
    );
}

/// Returns how many handlers of an event decided something, and how many run in the background.
fn counted(
    hook_config: &HookConfig,
    spent: &OnceHandlers,
    session: &str,
    event: HookEvent,
) -> (usize, usize) {
    let hook_input = HookInput::new(event, session, "/w");
    let runner: Arc<dyn HookRunner> = Arc::new(ScriptedRunner::default());
    EventHandlers::of(hook_config, spent, &hook_input, &["startup"], None, |_| true).map_or((0, 0), |round| {
        let unwaited = round.background_runs(&runner);
        let outcome = futures_util::FutureExt::now_or_never(round.outcome(&*runner)).unwrap();
        (usize::from(outcome.decision.is_some()), unwaited.len())
    })
}

#[test]
fn background_handler_decides_nothing() {
    let hook_config = hook_config(&json!({"PreToolUse": [{"hooks": [{"command": "deny", "async": true}]}]}));
    assert_eq!(counted(&hook_config, &OnceHandlers::default(), "s", HookEvent::PreToolUse), (0, 1));
    // It still runs once it is polled.
    let hook_input = HookInput::new(HookEvent::PreToolUse, "s", "/w");
    let runner = Arc::new(ScriptedRunner::default());
    let dynamic: Arc<dyn HookRunner> = runner.clone();
    let round =
        EventHandlers::of(&hook_config, &OnceHandlers::default(), &hook_input, &[], None, |_| true).unwrap();
    for unwaited in round.background_runs(&dynamic) {
        futures_util::FutureExt::now_or_never(unwaited).unwrap();
    }
    assert_eq!(runner.0.lock().unwrap().len(), 1);
}

#[test]
fn once_handler_runs_once_per_session() {
    let hook_config = hook_config(&json!({"PreToolUse": [{"hooks": [{"command": "deny", "once": true}]}]}));
    let spent = OnceHandlers::default();
    let counts = |session| counted(&hook_config, &spent, session, HookEvent::PreToolUse).0;
    assert_eq!([counts("a"), counts("a"), counts("b"), counts("a")], [1, 0, 1, 0]);
    spent.forget("a");
    assert_eq!([counts("a"), counts("b")], [1, 0]);
}

#[test]
fn unmet_condition_does_not_use_up_a_once_handler() {
    let hook_config = hook_config(
        &json!({"PreToolUse": [{"hooks": [{"command": "deny", "once": true, "if": "Bash(git *)"}]}]}),
    );
    let (spent, hook_input) = (OnceHandlers::default(), HookInput::new(HookEvent::PreToolUse, "s", "/w"));
    assert!(EventHandlers::of(&hook_config, &spent, &hook_input, &[], None, |_| false).is_none());
    assert!(EventHandlers::of(&hook_config, &spent, &hook_input, &[], None, |_| true).is_some());
    assert!(EventHandlers::of(&hook_config, &spent, &hook_input, &[], None, |_| true).is_none());
}

#[test]
fn events_without_a_name_ignore_matchers() {
    let hooks = json!([{"matcher": "startup", "hooks": [{"command": "deny"}]}]);
    let hook_config = hook_config(
        &json!({"Stop": hooks, "UserPromptSubmit": hooks, "SessionStart": hooks, "PreCompact": hooks}),
    );
    for event in [HookEvent::Stop, HookEvent::UserPromptSubmit, HookEvent::SessionStart] {
        assert_eq!(hook_config.matching(event, &["startup"]).len(), 1, "{event:?}");
    }
    assert_eq!(hook_config.matching(HookEvent::Stop, &[]).len(), 1);
    assert_eq!(hook_config.matching(HookEvent::SessionStart, &["resume"]).len(), 0);
    assert_eq!(hook_config.matching(HookEvent::PreCompact, &["auto"]).len(), 0);
}

#[test]
fn reports_unsupported_handler_options() {
    let mut hook_config = HookConfig::default();
    let hooks = json!({"Stop": [{"hooks": [
        {"command": "x", "asyncRewake": true}, {"command": "x", "if": "Bash(git *)"},
        {"type": "http", "url": "http://localhost", "async": true}
    ]}]});
    assert_eq!(hook_config.add("settings.json", &hooks).len(), 3);
    assert!(hook_config.is_empty(HookEvent::Stop));
}
