//! Tests of tool calls: which run together, the order of results, and calls that do not run.

use std::sync::Arc;

use serde_json::json;

use super::harness::Harness;
use super::invariants::{self, own};
use super::scenario::*;
use crate::config::{RepetitionConfig, ToolExecutionStrategy};
use crate::content::Content;
use crate::event::{AgentEvent, ArgsRef, BlockedBy, RunOutcome};
use crate::id::LoopId;
use crate::message::StopReason;
use crate::permission::{PermissionDecision, Verdict};
use crate::tool::{ToolError, ToolResult};

const TOOLS: [&str; 3] = ["effect RunTool", "event ToolExecutionEnd", "effect CallModel"];

/// Returns what ran when, each line as `run a`, `end a` or `model`.
fn course(harness: &Harness) -> Vec<String> {
    let short = |line: &str| {
        line.replace("effect RunTool", "run")
            .replace("event ToolExecutionEnd", "end")
            .replace("effect CallModel", "model")
    };
    harness.lines(&TOOLS).into_iter().map(short).collect()
}

fn strategy(scenario: Scenario, strategy: ToolExecutionStrategy) -> Harness {
    scenario.configured(|config| config.tool_execution = strategy).play()
}

#[test]
fn parallel_calls_run_together_with_results_in_call_order() {
    let scenario =
        Scenario::new("look").reply(calls(&["a", "b list", "c"])).late(&["c", "a", "b"]).reply(text("seen"));
    let harness = strategy(scenario, ToolExecutionStrategy::Parallel);
    assert_eq!(course(&harness), ["model", "run a", "run b", "run c", "end c", "end a", "end b", "model"]);
    assert_eq!(
        harness.conversation(),
        [
            "user: look",
            "assistant: <a><b><c>",
            "a: output of a",
            "b: output of b",
            "c: output of c",
            "assistant: seen"
        ]
    );
    invariants::check(&harness);
}

#[test]
fn sequential_calls_run_one_after_another() {
    let scenario = Scenario::new("look").reply(calls(&["a", "b", "c"])).reply(text("seen"));
    let harness = strategy(scenario, ToolExecutionStrategy::Sequential);
    assert_eq!(course(&harness), ["model", "run a", "end a", "run b", "end b", "run c", "end c", "model"]);
    assert!(
        harness.is_before("event ToolExecutionEnd a", "effect Authorize b"),
        "checked when its turn comes"
    );
}

#[test]
fn batched_calls_run_in_groups() {
    let scenario =
        Scenario::new("look").reply(calls(&["a", "b", "c", "d", "e"])).late(&["b", "a"]).reply(text("seen"));
    let harness = strategy(scenario, ToolExecutionStrategy::Batched { size: 2 });
    assert_eq!(
        course(&harness),
        [
            "model", "run a", "run b", "end b", "end a", "run c", "run d", "end c", "end d", "run e",
            "end e", "model"
        ]
    );
}

#[test]
fn batch_size_zero_is_treated_as_one() {
    let scenario = Scenario::new("look").reply(calls(&["a", "b"])).reply(text("seen"));
    let harness = strategy(scenario, ToolExecutionStrategy::Batched { size: 0 });
    assert_eq!(course(&harness), ["model", "run a", "end a", "run b", "end b", "model"]);
}

#[test]
fn tool_that_is_not_parallel_safe_runs_alone() {
    let scenario = || {
        let calls = calls(&["a", "b", "c write", "d write", "e", "f"]);
        Scenario::new("do").reply(calls).late(&["f", "e", "b", "a"]).reply(text("done"))
    };
    for how in [ToolExecutionStrategy::Parallel, ToolExecutionStrategy::Batched { size: 4 }] {
        let harness = strategy(scenario(), how);
        assert_eq!(
            course(&harness),
            [
                "model", "run a", "run b", "end b", "end a", "run c", "end c", "run d", "end d", "run e",
                "run f", "end f", "end e", "model"
            ]
        );
        invariants::check(&harness);
    }
}

#[test]
fn tool_failure_reaches_the_model_and_the_run_continues() {
    let scenario = Scenario::new("do").with_hooks().reply(calls(&["a"])).reply(text("sorry"));
    let harness = scenario.output("a", Err(ToolError::Failed("no such file".into()))).play();
    assert_eq!(harness.conversation()[2..], ["a: no such file", "assistant: sorry"]);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    let failed = own(&harness.journal)
        .any(|event| matches!(event, AgentEvent::ToolExecutionEnd { is_error: true, .. }));
    assert!(failed);
}

#[test]
fn tool_output_is_cleaned_and_details_are_kept() {
    let output = ToolResult {
        content: vec!["".into(), Content::tool_call("x", "read", json!({}))],
        details: json!({"exit_code": 0}),
        child_loop_id: Some(LoopId::from("child.c.0")),
    };
    let harness = Scenario::new("do").reply(calls(&["a"])).output("a", Ok(output)).play();
    assert_eq!(harness.result_of("a"), "(no output)");
    let end = own(&harness.journal).find_map(|event| match event {
        AgentEvent::ToolExecutionEnd { details, child_loop_id, is_error, .. } => {
            Some((details.clone(), child_loop_id.clone(), *is_error))
        }
        _ => None,
    });
    assert_eq!(end, Some((json!({"exit_code": 0}), Some("child.c.0".into()), false)));
}

#[test]
fn unknown_tool_gets_an_error_without_a_permission_check() {
    let harness = Scenario::new("do").reply(calls(&["a fly"])).reply(text("sorry")).play();
    assert_eq!(harness.result_of("a"), "There is no tool named `fly`. Available: list, read, write.");
    assert!(!harness.logged("effect Authorize a") && !harness.logged("event ToolExecutionStart a"));
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn denied_call_does_not_run_and_the_model_receives_the_reason() {
    let harness =
        Scenario::new("do").reply(calls(&["a"])).verdict("a", Verdict::Deny("read-only".into())).play();
    assert_eq!(harness.result_of("a"), "Denied: read-only");
    assert!(!harness.logged("event ToolExecutionStart a") && !harness.logged("effect RunTool a"));
    assert_eq!(blocked(&harness), [("a".into(), BlockedBy::PermissionCheck, Some("read-only".into()))]);
}

/// Returns the tool calls that were blocked.
fn blocked(harness: &Harness) -> Vec<(String, BlockedBy, Option<String>)> {
    let blocked = |event: &AgentEvent| match event {
        AgentEvent::ToolBlocked { tool_call_id, tool_name, by, reason } => {
            assert_eq!(tool_name, "read");
            Some((tool_call_id.to_string(), *by, reason.clone()))
        }
        _ => None,
    };
    own(&harness.journal).filter_map(blocked).collect()
}

#[test]
fn refused_approval_and_callback_are_recorded_as_blocked_once() {
    let refused = |decision| Scenario::new("do").reply(calls(&["a"])).asked("a", Some(decision)).play();
    let denied = refused(PermissionDecision::deny("not today"));
    assert_eq!(blocked(&denied), [("a".into(), BlockedBy::Approval, Some("not today".into()))]);
    assert_eq!(blocked(&refused(PermissionDecision::Allow)), []);
    let skipped = Scenario::new("do").reply(calls(&["a", "b"])).verdict("a", Verdict::Skip).play();
    assert_eq!(blocked(&skipped), [("a".into(), BlockedBy::Callback, None)]);
}

#[test]
fn task_list_change_is_recorded_after_its_result() {
    let harness = super::catalogue::task_list().play();
    let changes: Vec<_> = own(&harness.journal)
        .filter_map(|event| match event {
            AgentEvent::TasksChanged { tool_call_id, tasks, started, completed } => {
                Some((tool_call_id.as_str(), tasks.len(), started.join(" "), completed.join(" ")))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        changes,
        [("a", 2, "look".to_owned(), String::new()), ("c", 2, "write".to_owned(), "look".to_owned())],
        "the list of `b` is the same as before"
    );
}

#[test]
fn skipped_call_has_an_error_result_and_no_execution_events() {
    let harness = Scenario::new("do").with_hooks().reply(calls(&["a"])).verdict("a", Verdict::Skip).play();
    assert!(harness.result_of("a").starts_with("Skipped"));
    assert!(!harness.logged("event ToolExecutionStart a") && !harness.logged("event ToolExecutionEnd a"));
    assert!(!harness.logged("hook after_tool"));
}

#[test]
fn plan_mode_queues_the_change_and_says_so() {
    let verdict = Verdict::Queue { summary: "write x".into() };
    let harness = Scenario::new("do").reply(calls(&["a write"])).verdict("a", verdict).play();
    assert!(harness.logged("event PlanChangeQueued") && !harness.logged("effect RunTool a"));
    assert_eq!(harness.result_of("a"), "Plan mode: queued for approval, not executed. write x");
    let is_error = own(&harness.journal).any(|event| match event {
        AgentEvent::MessageEnd { message } => message
            .shared()
            .and_then(|message| message.as_tool_result().map(|result| result.is_error))
            .unwrap_or_default(),
        _ => false,
    });
    assert!(!is_error, "queueing is not a failure");
}

#[test]
fn rewritten_arguments_run_and_are_recorded() {
    let args = Arc::new(json!({"path": "elsewhere"}));
    let harness = Scenario::new("do")
        .reply(calls(&["a", "b"]))
        .verdict("a", Verdict::Rewrite(Arc::clone(&args)))
        .play();
    assert!(harness.logged("effect RunTool a {\"path\":\"elsewhere\"}"));
    let recorded: Vec<Option<serde_json::Value>> = own(&harness.journal)
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionStart { args, .. } => {
                Some(args.replacement().map(|value| (**value).clone()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(recorded, [Some((*args).clone()), None]);
    let as_called = own(&harness.journal)
        .any(|event| matches!(event, AgentEvent::ToolExecutionStart { args: ArgsRef::Called(call), .. } if call.arguments == json!({"of": "b"})));
    assert!(as_called);
}

#[test]
fn repeated_and_empty_ids_become_unique() {
    let scenario =
        Scenario::new("go").reply(calls(&["a", "a", " read"])).reply(calls(&["a"])).reply(text("done"));
    let harness = scenario.play();
    invariants::check(&harness);
    let started: Vec<_> = own(&harness.journal)
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => Some(tool_call_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 4);
    assert_eq!(started[0], "a", "a unique id stays");
    assert!(started[1..].iter().all(|id| id.starts_with("call_")), "{started:?}");
}

#[test]
fn arguments_are_always_an_object() {
    for (given, sent) in [
        (json!(null), json!({})),
        (json!("x"), json!({"arguments": "x"})),
        (json!([1]), json!({"arguments": [1]})),
        (json!({"path": "x"}), json!({"path": "x"})),
    ] {
        let harness = Scenario::new("go").reply(call_with("a", given)).play();
        let window = &harness.sent[1];
        let call =
            window.llm_messages().flat_map(|message| message.content()).find_map(Content::as_tool_call);
        assert_eq!(call.unwrap().arguments, sent);
    }
}

#[test]
fn calls_of_a_truncated_reply_do_not_run() {
    for stop_reason in [StopReason::Length, StopReason::ContextExceeded, StopReason::Refusal] {
        let scenario =
            Scenario::new("go").reply(calls_stopping(&["a", "b write"], stop_reason)).reply(text("done"));
        let harness = scenario.play();
        assert!(harness.lines(&["effect RunTool", "effect Authorize"]).is_empty());
        assert!(harness.result_of("a").starts_with("Not run: the reply ended before it was complete"));
        assert_eq!(harness.count("effect CallModel"), 2, "the model can try again");
        invariants::check(&harness);
    }
}

#[test]
fn call_runs_despite_a_wrong_stop_reason() {
    let scenario = Scenario::new("go").reply(calls_stopping(&["a"], StopReason::Stop)).reply(text("done"));
    assert_eq!(course(&scenario.play()), ["model", "run a", "end a", "model"]);
}

/// Runs the same call with the same result until the run is stopped.
fn repeating(guard: Option<RepetitionConfig>, turns: usize) -> Harness {
    let ids = ["a", "b", "c", "d", "e", "f", "g"];
    let scenario = ids.into_iter().take(turns).fold(Scenario::new("go"), |scenario, id| {
        scenario.reply(call_with(id, json!({"path": "x"}))).output(id, Ok(ToolResult::text("nothing")))
    });
    scenario.configured(|config| config.repetition = guard).play()
}

#[test]
fn repeating_model_is_nudged_and_then_stopped() {
    let harness = repeating(Some(RepetitionConfig::new(2, 4)), 7);
    assert_eq!(harness.outcome(), &RunOutcome::Repetition);
    assert_eq!(harness.count("effect CallModel"), 4);
    assert_eq!(harness.result_of("a"), "nothing");
    for (call, count) in [("b", 2), ("c", 3), ("d", 4)] {
        assert!(harness.result_of(call).contains(&format!("{count} times in a row")), "{call}");
    }
    assert_eq!(harness.count("event RepetitionDetected"), 3);
    invariants::check(&harness);
}

#[test]
fn different_call_or_result_is_not_a_repetition() {
    let scenario = ["a", "b", "c", "d", "e", "f"].into_iter().enumerate().fold(
        Scenario::new("go"),
        |scenario, (n, id)| {
            let arguments = json!({"path": (b'u' + n as u8) as char});
            scenario.reply(call_with(id, arguments)).output(id, Ok(ToolResult::text("nothing")))
        },
    );
    let harness = scenario.configured(|config| config.repetition = Some(RepetitionConfig::new(2, 2))).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);

    let scenario = ["a", "b", "c"]
        .into_iter()
        .fold(Scenario::new("go"), |scenario, id| scenario.reply(call_with(id, json!({"path": "x"}))));
    let harness = scenario.configured(|config| config.repetition = Some(RepetitionConfig::new(2, 2))).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed, "each call had a different output");
}

#[test]
fn loop_detection_can_be_disabled() {
    let harness = repeating(None, 7);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert!(!harness.logged("event RepetitionDetected"));
}
