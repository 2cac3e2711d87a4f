use std::path::PathBuf;
use std::sync::Mutex;

use futures_util::FutureExt;
use lariat_core::content::ToolCall;
use lariat_core::event::CompactionCause;
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionSource};
use lariat_core::id::{LoopId, SessionId};
use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use lariat_guard::hooks::{Handler, HandlerResult, HookEvent, Invocation};
use lariat_guard::{Level, NoLinks, Origin};
use serde_json::{Value, json};

use super::*;

fn gate(settings: &str) -> Gate {
    let layer =
        Layer::claude(settings, Origin::file(Level::User, "/people/me/.claude/settings.json")).unwrap();
    Gate::new(vec![layer], Trust::Trusted, SessionDirectories::new("/w", "/people/me"), Arc::new(NoLinks))
}

/// Returns what its command says: `exit 2` with a reason, or JSON.
#[derive(Default)]
struct ScriptedRunner(Mutex<Vec<Value>>);

impl HookRunner for ScriptedRunner {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        self.0.lock().unwrap().push(serde_json::from_str(input).unwrap());
        let Invocation::Shell(command) = &handler.way else {
            return Box::pin(async { HandlerResult::TimedOut });
        };
        let ended = match command.strip_prefix("exit 2 ") {
            Some(reason) => {
                HandlerResult::Exited { code: 2, output: String::new(), errors: reason.to_owned() }
            }
            None if command == "hang" => HandlerResult::TimedOut,
            None => HandlerResult::Exited { code: 0, output: command.clone(), errors: String::new() },
        };
        Box::pin(async move { ended })
    }
}

fn gate_with_hooks(settings: &str, hooks: Value) -> (Gate, Arc<ScriptedRunner>) {
    let mut hook_config = HookConfig::default();
    assert_eq!(hook_config.add("settings.json", &hooks), []);
    let runner = Arc::new(ScriptedRunner::default());
    (gate(settings).with_hooks(hook_config, runner.clone()), runner)
}

fn answer(decision: &str) -> Value {
    let output = json!({"hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "said so"}});
    json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": output.to_string()}]}]})
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: tool.into(), arguments, signature: None }
}

fn check(gate: &Gate, tool: &str, arguments: Value) -> Verdict {
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let call = call(tool, arguments);
    let effects = if tool == "bash" { ToolEffects::ALL } else { ToolEffects::READS.and(ToolEffects::WRITES) };
    gate.check(PolicyQuery::new(&session, &id, &call, effects)).now_or_never().unwrap()
}

fn bash(gate: &Gate, command: &str) -> Verdict {
    check(gate, "bash", json!({ "command": command }))
}

fn expect_approval(verdict: Verdict) -> PermissionRequest {
    match verdict {
        Verdict::Ask(request) => request,
        other => panic!("not asked: {other:?}"),
    }
}

#[test]
fn permission_rules_decide_without_hooks() {
    let gate = gate(r#"{"permissions": {"allow": ["Bash(cargo test *)"], "deny": ["Bash(git push *)"]}}"#);
    assert_eq!(bash(&gate, "cargo test --all"), Verdict::Allow);
    let Verdict::Deny(why) = bash(&gate, "cargo test && git push origin") else { panic!() };
    assert!(why.contains("git push"), "{why}");
    let request = expect_approval(bash(&gate, "make install"));
    assert_eq!(request.summary, "bash: make install");
    assert!(request.reason.unwrap().contains("no rule allows it"));
}

#[test]
fn summary_escapes_control_characters() {
    let request = expect_approval(bash(&gate("{}"), "make\r\u{1b}[2Kls\u{202e}"));
    assert_eq!(request.summary, "bash: make⟨U+000D⟩⟨U+001B⟩[2Kls⟨U+202E⟩");
}

/// A hook's `allow` replaces the user's approval where no rule matches the tool call, and overrides no rule.
/// All its other answers only make it stricter.
#[test]
fn hook_allow_skips_only_the_default_approval() {
    let rules = r#"{"permissions": {"allow": ["Bash(make *)"], "ask": ["Bash(make release)"], "deny": ["Bash(make evil)"]}}"#;
    for (decision, command, expected) in [
        ("allow", "make x", "allow"),
        ("allow", "make release", "ask"),
        ("allow", "make evil", "deny"),
        ("allow", "unknown thing", "allow"),
        ("allow", "rm -rf /", "ask"),
        ("ask", "make x", "ask"),
        ("ask", "make evil", "deny"),
        ("deny", "make x", "deny"),
        ("defer", "make x", "deny"),
        ("what?", "make x", "deny"),
    ] {
        let (gate, _) = gate_with_hooks(rules, answer(decision));
        let got = match bash(&gate, command) {
            Verdict::Allow => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
            other => panic!("{other:?}"),
        };
        assert_eq!(got, expected, "hook {decision}, {command}");
    }
}

#[test]
fn hook_that_times_out_denies_unless_configured_to_proceed() {
    let hooks = json!({"PreToolUse": [{"hooks": [{"command": "hang"}]}]});
    let (gate, _) = gate_with_hooks(r#"{"permissions": {"allow": ["Bash"]}}"#, hooks);
    assert!(matches!(bash(&gate, "ls"), Verdict::Deny(_)));
    let hooks = json!({"PreToolUse": [{"hooks": [{"command": "hang", "on_failure": "proceed"}]}]});
    let (gate, _) = gate_with_hooks(r#"{"permissions": {"allow": ["Bash"]}}"#, hooks);
    assert_eq!(bash(&gate, "ls"), Verdict::Allow);
}

#[test]
fn rewritten_tool_call_is_checked_as_rewritten() {
    let rewrite = |command: &str| {
        let output = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": command}}});
        json!({"PreToolUse": [{"hooks": [{"command": output.to_string()}]}]})
    };
    let rules = r#"{"permissions": {"allow": ["Bash(ls *)"], "deny": ["Bash(curl *)"]}}"#;
    let (gate, _) = gate_with_hooks(rules, rewrite("ls -l"));
    assert_eq!(bash(&gate, "curl x"), Verdict::Rewrite(Arc::new(json!({"command": "ls -l"}))));
    let (gate, _) = gate_with_hooks(rules, rewrite("curl evil"));
    assert!(matches!(bash(&gate, "ls"), Verdict::Deny(_)));
}

#[test]
fn hook_programs_receive_claude_tool_names() {
    let hooks = json!({"PreToolUse": [{"matcher": "Write|Edit", "hooks": [{"command": "{}"}]}]});
    let (gate, runner) = gate_with_hooks("{}", hooks);
    check(&gate, "write_file", json!({"path": "a.txt", "content": "x"}));
    check(&gate, "read_file", json!({"path": "a.txt"}));
    let inputs = runner.0.lock().unwrap();
    assert_eq!(inputs.len(), 1);
    assert_eq!(inputs[0]["tool_name"], "Write");
    assert_eq!(inputs[0]["tool_input"], json!({"file_path": "/w/a.txt", "content": "x"}));
}

#[test]
fn hook_condition_is_a_permission_rule() {
    let hooks = json!({"PreToolUse": [{"hooks": [{"command": "exit 2 no", "if": "Bash(git *)"}]}]});
    let (gate, _) = gate_with_hooks(r#"{"permissions": {"allow": ["Bash"]}}"#, hooks);
    assert_eq!(bash(&gate, "ls"), Verdict::Allow);
    assert_eq!(bash(&gate, "ls && git status"), Verdict::Deny("no".into()));
}

#[test]
fn plan_mode_queues_changes_and_allows_reads() {
    let gate = gate(r#"{"permissions": {"deny": ["Edit(secret.txt)"], "defaultMode": "plan"}}"#);
    let Verdict::Queue { summary } = check(&gate, "write_file", json!({"path": "a.txt", "content": "x"}))
    else {
        panic!()
    };
    assert_eq!(summary, "write_file a.txt\ncontent: x");
    assert!(matches!(
        check(&gate, "write_file", json!({"path": "secret.txt", "content": "x"})),
        Verdict::Deny(_)
    ));
    assert!(matches!(bash(&gate, "touch x"), Verdict::Queue { .. }));
    assert_eq!(bash(&gate, "git status"), Verdict::Allow);
    assert_eq!(gate.set_mode(Mode::Default), Mode::Default);
    assert!(matches!(bash(&gate, "touch x"), Verdict::Ask(_)));
}

#[test]
fn approval_applies_for_its_scope() {
    let gate = gate(r#"{"permissions": {"deny": ["Bash(cargo publish *)"]}}"#);
    let request = expect_approval(bash(&gate, "cargo test --all"));
    assert_eq!(request.remember.as_deref(), Some("Bash(cargo test *)"));
    gate.on_answered(&request, &PermissionDecision::Allow);
    expect_approval(bash(&gate, "cargo test --all"));
    gate.on_answered(&request, &PermissionDecision::AllowSession);
    assert_eq!(bash(&gate, "cargo test -p x"), Verdict::Allow);
    expect_approval(bash(&gate, "cargo build"));
    assert!(matches!(bash(&gate, "cargo test && cargo publish"), Verdict::Deny(_)));
}

#[test]
fn approval_does_not_override_an_ask_rule() {
    let gate = gate(r#"{"permissions": {"ask": ["Bash(cargo test --all)"]}}"#);
    let request = expect_approval(bash(&gate, "cargo test -p x"));
    assert_eq!(request.remember.as_deref(), Some("Bash(cargo test *)"));
    gate.on_answered(&request, &PermissionDecision::AllowSession);
    assert_eq!(bash(&gate, "cargo test -p y"), Verdict::Allow);
    let request = expect_approval(bash(&gate, "cargo test --all"));
    assert_eq!(request.remember.as_deref(), None);
    gate.on_answered(&request, &PermissionDecision::AllowSession);
    expect_approval(bash(&gate, "cargo test --all"));
}

#[test]
fn critical_commands_require_approval_in_every_mode_and_are_never_remembered() {
    let gate = gate(r#"{"permissions": {"allow": ["Bash"], "defaultMode": "bypassPermissions"}}"#);
    let request = expect_approval(bash(&gate, "rm -rf ~"));
    assert_eq!((request.danger, request.remember.as_deref()), (DangerLevel::Critical, None));
    gate.on_answered(&request, &PermissionDecision::AllowAlways);
    expect_approval(bash(&gate, "rm -rf ~"));
}

#[test]
fn allow_always_is_stored_for_the_project_and_can_be_revoked() {
    let file = std::env::temp_dir().join(format!("lariat-gate-{}/approvals.json", std::process::id()));
    let store = ApprovalStore::new(PathBuf::from(&file));
    let first = gate("{}").with_approvals(store.clone()).unwrap();
    let request = expect_approval(bash(&first, "cargo test --all"));
    first.on_answered(&request, &PermissionDecision::AllowAlways);
    let second = gate("{}").with_approvals(store.clone()).unwrap();
    assert_eq!(bash(&second, "cargo test"), Verdict::Allow);
    let kept = store.of("/w").unwrap();
    assert_eq!((kept.len(), kept[0].rule.as_str()), (1, "Bash(cargo test *)"));
    assert!(store.revoke("/w", "Bash(cargo test *)").unwrap());
    let third = gate("{}").with_approvals(store).unwrap();
    expect_approval(bash(&third, "cargo test"));
    #[expect(clippy::disallowed_methods, reason = "the test's own directory")]
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn hooks_receive_the_result_and_may_add_to_it() {
    let output = json!({"hookSpecificOutput": {"additionalContext": "mind the linter"}}).to_string();
    let hooks = json!({
        "PostToolUse": [{"matcher": "Bash", "hooks": [{"command": output}]}],
        "PreToolUse": [{"hooks": [{"command": output}]}]
    });
    let (gate, runner) = gate_with_hooks(r#"{"permissions": {"allow": ["Bash"]}}"#, hooks);
    assert_eq!(bash(&gate, "ls"), Verdict::Allow);
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let call = call("bash", json!({"command": "ls"}));
    let mut result = Ok(ToolResult::text("a b"));
    let query = PolicyQuery::new(&session, &id, &call, ToolEffects::ALL);
    gate.on_finished(query, &mut result).now_or_never().unwrap();
    let text: Vec<_> = result
        .unwrap()
        .content
        .iter()
        .map(|block| lariat_core::content::joined_text(std::slice::from_ref(block)))
        .collect();
    assert_eq!(text, ["a b", "[Hook: mind the linter]", "[Hook: mind the linter]"]);
    assert_eq!(runner.0.lock().unwrap()[1]["tool_response"], "a b");
}

fn notify(gate: &Gate, moment: LifecycleEvent) -> HookAnswer {
    gate.notify(&SessionId::from("s"), moment).now_or_never().unwrap()
}

#[test]
fn every_session_event_reaches_hooks_with_its_fields() {
    let all = HookEvent::ALL.map(|event| (event.name().to_owned(), json!([{"hooks": [{"command": "{}"}]}])));
    let (gate, runner) = gate_with_hooks("{}", Value::Object(all.into_iter().collect()));
    let (id, kind) = ("a1".to_owned(), "explorer".to_owned());
    let subagent = LifecycleEvent::SubagentStart { agent_id: id.clone(), agent_type: kind.clone() };
    let (continued, last_message) = (true, "bye".to_owned());
    let cause = CompactionCause::Threshold;
    for (moment, event, fields) in [
        (
            LifecycleEvent::SessionStart { source: SessionSource::Clear },
            "SessionStart",
            json!({"source": "clear"}),
        ),
        (LifecycleEvent::SessionEnd { reason: "other".into() }, "SessionEnd", json!({"reason": "other"})),
        (LifecycleEvent::Prompt { prompt: "go".into() }, "UserPromptSubmit", json!({"prompt": "go"})),
        (
            LifecycleEvent::Stop { continued, last_message: last_message.clone() },
            "Stop",
            json!({"stop_hook_active": true, "last_assistant_message": "bye"}),
        ),
        (
            LifecycleEvent::StopFailure {
                kind: "unknown".into(),
                error: "no route".into(),
                last_message: last_message.clone(),
            },
            "StopFailure",
            json!({"error": "unknown", "error_details": "no route", "last_assistant_message": "bye"}),
        ),
        (
            LifecycleEvent::PreCompact { cause },
            "PreCompact",
            json!({"trigger": "auto", "custom_instructions": ""}),
        ),
        (
            LifecycleEvent::PostCompact { cause: CompactionCause::Manual, summary: "short".into() },
            "PostCompact",
            json!({"trigger": "manual", "compact_summary": "short"}),
        ),
        (
            LifecycleEvent::Notification { kind: "idle".into(), message: "hello?".into() },
            "Notification",
            json!({"notification_type": "idle", "message": "hello?"}),
        ),
        (subagent, "SubagentStart", json!({"agent_id": "a1", "agent_type": "explorer"})),
        (
            LifecycleEvent::SubagentStop { agent_id: id, agent_type: kind, continued, last_message },
            "SubagentStop",
            json!({"agent_id": "a1", "agent_type": "explorer", "stop_hook_active": true, "last_assistant_message": "bye"}),
        ),
    ] {
        assert!(gate.wants(moment.kind()));
        assert_eq!(notify(&gate, moment), HookAnswer::default());
        let inputs = runner.0.lock().unwrap().pop().unwrap();
        assert_eq!((&inputs["hook_event_name"], &inputs["session_id"]), (&json!(event), &json!("s")));
        assert_eq!(inputs["permission_mode"], "default");
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&inputs[name], value, "{event} {name}");
        }
    }
}

#[test]
fn matchers_select_by_source_trigger_kind_and_reason() {
    let hooks = |matcher: &str| json!([{"matcher": matcher, "hooks": [{"command": "a remark"}]}]);
    let (gate, runner) = gate_with_hooks(
        "{}",
        json!({
            "SessionStart": hooks("resume|compact"), "PreCompact": hooks("manual"), "SubagentStart": hooks("explorer"),
            "SessionEnd": hooks("clear"), "Notification": hooks("permission_.*"), "Stop": hooks("never")
        }),
    );
    let subagent =
        |kind: &str| LifecycleEvent::SubagentStart { agent_id: "a".into(), agent_type: kind.into() };
    let notification = |kind: &str| LifecycleEvent::Notification { kind: kind.into(), message: "?".into() };
    for (moment, expected) in [
        (LifecycleEvent::SessionStart { source: SessionSource::Startup }, 0),
        (LifecycleEvent::SessionStart { source: SessionSource::Resume }, 1),
        (LifecycleEvent::PreCompact { cause: CompactionCause::Overflow }, 0),
        (LifecycleEvent::PreCompact { cause: CompactionCause::Manual }, 1),
        (subagent("builder"), 0),
        (subagent("explorer"), 1),
        (LifecycleEvent::SessionEnd { reason: "other".into() }, 0),
        (LifecycleEvent::SessionEnd { reason: "clear".into() }, 1),
        (notification("idle"), 0),
        (notification("permission_prompt"), 1),
        (LifecycleEvent::Stop { continued: false, last_message: String::new() }, 1),
    ] {
        notify(&gate, moment.clone());
        assert_eq!(std::mem::take(&mut *runner.0.lock().unwrap()).len(), expected, "{moment:?}");
    }
}

#[test]
fn hook_blocks_only_events_that_can_be_blocked() {
    let moments = [
        (LifecycleEvent::Prompt { prompt: "go".into() }, true),
        (LifecycleEvent::Stop { continued: false, last_message: String::new() }, true),
        (LifecycleEvent::PreCompact { cause: CompactionCause::Threshold }, true),
        (LifecycleEvent::SessionStart { source: SessionSource::Startup }, false),
        (LifecycleEvent::SessionEnd { reason: "other".into() }, false),
        (LifecycleEvent::Notification { kind: "idle".into(), message: "?".into() }, false),
    ];
    for command in [r#"{"decision": "block", "reason": "no"}"#, "exit 2 no", "hang"] {
        let all =
            HookEvent::ALL.map(|event| (event.name().to_owned(), json!([{"hooks": [{"command": command}]}])));
        let (gate, _) = gate_with_hooks("{}", Value::Object(all.into_iter().collect()));
        for (moment, blocks) in moments.clone() {
            let answer = notify(&gate, moment.clone());
            assert_eq!((answer.block.is_some(), answer.stop), (blocks, None), "{command} {moment:?}");
        }
    }
}

#[test]
fn stop_request_of_a_tool_hook_is_returned_once() {
    let hooks =
        json!({"PreToolUse": [{"hooks": [{"command": r#"{"continue": false, "stopReason": "enough"}"#}]}]});
    let (gate, _) = gate_with_hooks("{}", hooks);
    assert_eq!(bash(&gate, "git status"), Verdict::Deny("enough".into()));
    assert_eq!(gate.take_stop(&LoopId::from("s.c.1")), None);
    assert_eq!(gate.take_stop(&LoopId::from("s.c.0")).as_deref(), Some("enough"));
    assert_eq!(gate.take_stop(&LoopId::from("s.c.0")), None);
}

#[test]
fn messages_of_tool_hooks_are_returned_once() {
    let says = |words: &str| json!([{"hooks": [{"command": format!(r#"{{"systemMessage": "{words}"}}"#)}]}]);
    let (gate, _) =
        gate_with_hooks("{}", json!({"PreToolUse": says("one"), "PermissionRequest": says("two")}));
    bash(&gate, "git push");
    assert!(gate.take_messages(&LoopId::from("s.c.1")).is_empty());
    assert_eq!(gate.take_messages(&LoopId::from("s.c.0")), ["one", "two"]);
    assert!(gate.take_messages(&LoopId::from("s.c.0")).is_empty());
}

#[test]
fn gate_without_hooks_wants_no_session_events() {
    let gate = gate("{}");
    assert!(LifecycleEventKind::ALL.into_iter().all(|kind| !gate.wants(kind)));
    assert_eq!(notify(&gate, LifecycleEvent::Prompt { prompt: "go".into() }), HookAnswer::default());
}

/// Rules and protected paths apply to what a hook rewrote, for every tool that writes.
#[test]
fn rewritten_paths_are_checked_as_rewritten() {
    let rewrite = |path: &str| {
        let input = json!({"file_path": path, "content": "x"});
        let output = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": input}});
        json!({"PreToolUse": [{"matcher": "Write", "hooks": [{"command": output.to_string()}]}]})
    };
    let rules = r#"{"permissions": {"defaultMode": "acceptEdits", "deny": ["Edit(./secrets/**)"]}}"#;
    let write = |gate: &Gate| check(gate, "write_file", json!({"path": "a.txt", "content": "x"}));
    let (gate, _) = gate_with_hooks(rules, rewrite("/w/b.txt"));
    assert_eq!(write(&gate), Verdict::Rewrite(Arc::new(json!({"path": "/w/b.txt", "content": "x"}))));
    // Arguments that the hook returned unchanged are not a rewrite.
    let (gate, _) = gate_with_hooks(rules, rewrite("/w/a.txt"));
    assert_eq!(write(&gate), Verdict::Allow);
    let (gate, _) = gate_with_hooks(rules, rewrite("/w/secrets/k"));
    assert!(matches!(write(&gate), Verdict::Deny(_)));
    let (gate, _) = gate_with_hooks(rules, rewrite("/w/.git/config"));
    assert_eq!(
        *expect_approval(write(&gate)).args.unwrap(),
        json!({"path": "/w/.git/config", "content": "x"})
    );
    // A patch cannot take this rewrite: the tool call is denied, not run as it was.
    let (gate, _) = gate_with_hooks(rules, rewrite("/w/b.txt"));
    let patch = json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"});
    let Verdict::Deny(why) = check(&gate, "apply_patch", patch) else { panic!() };
    assert!(why.contains("cannot be translated"), "{why}");
}

/// A hook allows a tool call that changes several files only if it allows every file.
#[test]
fn hook_that_allows_one_file_of_two_allows_nothing() {
    struct OneFile;
    impl HookRunner for OneFile {
        fn run<'a>(&'a self, _: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
            let allows = input.contains("\"file_path\":\"/w/a.txt\"");
            let output = if allows {
                json!({"hookSpecificOutput": {"permissionDecision": "allow"}}).to_string()
            } else {
                String::new()
            };
            Box::pin(async move { HandlerResult::Exited { code: 0, output, errors: String::new() } })
        }
    }
    let mut hook_config = HookConfig::default();
    hook_config
        .add("settings.json", &json!({"PreToolUse": [{"matcher": "Edit", "hooks": [{"command": "x"}]}]}));
    let gate = gate("{}").with_hooks(hook_config, Arc::new(OneFile));
    let patch = |names: &[&str]| {
        let diff = |name: &&str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-one\n+two\n");
        json!({ "patch": names.iter().map(diff).collect::<String>() })
    };
    assert_eq!(check(&gate, "apply_patch", patch(&["a.txt"])), Verdict::Allow);
    expect_approval(check(&gate, "apply_patch", patch(&["a.txt", "b.txt"])));
    let many: Vec<String> = (0..65).map(|number| format!("f{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let Verdict::Deny(why) = check(&gate, "apply_patch", patch(&many)) else { panic!() };
    assert!(why.contains("65 files"), "{why}");
}

fn query_of<'a>(session: &'a SessionId, id: &'a LoopId, call: &'a ToolCall) -> PolicyQuery<'a> {
    PolicyQuery::new(session, id, call, ToolEffects::ALL)
}

#[test]
fn approval_grants_sandbox_exceptions_to_that_tool_call_only() {
    let gate = gate("{}").with_sandbox();
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let commit = call("bash", json!({ "command": "git commit -m x" }));
    let Verdict::Ask(request) = check(&gate, "bash", commit.arguments.clone()) else { panic!("not asked") };
    assert_eq!(request.openings, [SandboxOpening::Git]);
    let open = |call: &ToolCall| gate.on_start(query_of(&session, &id, call)).unwrap().openings;
    assert_eq!(open(&commit), []);
    gate.on_answered(&request, &PermissionDecision::Allow);
    // The user did not see this other tool call with the same id.
    assert_eq!(open(&call("bash", json!({ "command": "git push" }))), []);
    assert_eq!(open(&commit), [SandboxOpening::Git]);
    let mut result = Ok(ToolResult::text(""));
    gate.on_finished(query_of(&session, &id, &commit), &mut result).now_or_never().unwrap();
    assert_eq!(open(&commit), []);
}

#[test]
fn session_approval_grants_sandbox_exceptions_to_tool_calls_that_match_its_rules() {
    let gate = gate("{}").with_sandbox();
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let Verdict::Ask(request) = check(&gate, "bash", json!({ "command": "npm install" })) else { panic!() };
    assert_eq!(request.openings, [SandboxOpening::Network]);
    gate.on_answered(&request, &PermissionDecision::AllowSession);
    let open = |command: &str| {
        let call = ToolCall { id: "c2".into(), ..call("bash", json!({ "command": command })) };
        gate.on_start(query_of(&session, &id, &call)).unwrap().openings
    };
    assert_eq!(open("npm install left-pad"), [SandboxOpening::Network]);
    assert_eq!(open("curl example.com"), []);
    assert_eq!(open("npm install && curl example.com"), []);
    assert_eq!(open("ls"), []);
}

#[test]
fn decision_may_grant_fewer_or_more_sandbox_exceptions_than_requested() {
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    for openings in [vec![], vec![SandboxOpening::Outside]] {
        let gate = gate("{}").with_sandbox();
        let commit = call("bash", json!({ "command": "git commit -m x" }));
        let Verdict::Ask(request) = check(&gate, "bash", commit.arguments.clone()) else { panic!() };
        let scope = lariat_core::permission::ApprovalScope::Once;
        gate.on_answered(&request, &PermissionDecision::AllowWith { scope, openings: openings.clone() });
        assert_eq!(gate.on_start(query_of(&session, &id, &commit)).unwrap().openings, openings);
    }
}

#[test]
fn requested_sandbox_exceptions_require_approval_in_every_mode_and_obey_deny_rules() {
    let needing = |needs: Value| json!({ "command": "ls", "needs": needs });
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Auto, Mode::Bypass] {
        let gate = gate("{}").with_sandbox();
        gate.set_mode(mode);
        for need in ["git", "network", "outside", "/opt/x"] {
            let verdict = check(&gate, "bash", needing(json!([need])));
            assert!(matches!(verdict, Verdict::Ask(_)), "{mode}, {need}: {verdict:?}");
        }
        assert!(matches!(check(&gate, "bash", needing(json!(["all"]))), Verdict::Deny(_)));
    }
    let strict = gate(r#"{"permissions": {"deny": ["Edit(//opt/**)"]}}"#).with_sandbox();
    assert!(matches!(check(&strict, "bash", needing(json!(["/opt/x"]))), Verdict::Deny(_)));
    strict.set_mode(Mode::DontAsk);
    assert!(matches!(check(&strict, "bash", needing(json!(["git"]))), Verdict::Deny(_)));
    // Without a sandbox, no exception is needed.
    let open = gate("{}");
    assert_eq!(check(&open, "bash", needing(json!(["network"]))), Verdict::Allow);
}

#[test]
fn user_rules_grant_repository_access_and_auto_mode_grants_none() {
    let (session, id) = (SessionId::from("s"), LoopId::from("s.c.0"));
    let open = |gate: &Gate, command: &str| {
        let call = call("bash", json!({ "command": command }));
        gate.on_start(query_of(&session, &id, &call)).unwrap().openings
    };
    let ruled =
        gate(r#"{"permissions": {"allow": ["Bash(git commit *)", "Bash(npm install *)"]}}"#).with_sandbox();
    assert_eq!(open(&ruled, "git commit -m x"), [SandboxOpening::Git]);
    assert_eq!(open(&ruled, "npm install x"), []);
    let auto = gate("{}").with_sandbox();
    auto.set_mode(Mode::Auto);
    assert_eq!(open(&auto, "git commit -m x"), []);
    auto.set_mode(Mode::Bypass);
    assert_eq!(open(&auto, "git commit -m x"), [SandboxOpening::Git]);
}
