use std::time::Duration;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use lariat_core::tool::ToolEffects;
use serde_json::Value;

use super::*;
use crate::clock::{EPOCH, VirtualClock};
use crate::executor::{Halt, block_on};

fn call(name: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), arguments: Value::Null, signature: None }
}

fn check(
    clock: &VirtualClock,
    answers: impl FnMut(&PolicyQuery<'_>) -> Answer<Verdict> + Send + 'static,
) -> (ScriptedPolicy, Result<std::thread::Result<Verdict>, Halt>) {
    let policy = ScriptedPolicy::new(clock.shared(), answers);
    let (session, loop_id, call) = ("s".into(), "s.c.0".into(), call("write"));
    let query = PolicyQuery::new(&session, &loop_id, &call, ToolEffects::WRITES);
    let verdict = block_on(clock, AssertUnwindSafe(policy.check(query)).catch_unwind());
    (policy, verdict)
}

#[test]
fn a_policy_answers_by_its_function_and_logs_the_request() {
    let clock = VirtualClock::new();
    let (policy, verdict) = check(&clock, |query| match query.call.name.as_str() {
        "write" => Verdict::Deny("no".into()).into(),
        _ => Verdict::Allow.into(),
    });
    assert_eq!(verdict.unwrap().unwrap(), Verdict::Deny("no".into()));
    assert_eq!(policy.checked_calls(), [call("write")]);
}

#[test]
fn an_answer_can_be_delayed_or_missing_or_panic() {
    let clock = VirtualClock::new();
    let (_, verdict) = check(&clock, |_| Answer::After(Duration::from_secs(3), Verdict::Allow));
    assert_eq!(verdict.unwrap().unwrap(), Verdict::Allow);
    assert_eq!(clock.now().since(EPOCH), Duration::from_secs(3));
    let (policy, verdict) = check(&clock, |_| Answer::Never);
    assert!(matches!(verdict, Err(Halt::Stalled)));
    assert_eq!(policy.checked_calls().len(), 1, "the request is logged anyway");
    let (_, verdict) = check(&clock, |_| Answer::Panic);
    assert!(verdict.unwrap().is_err());
}

#[test]
fn an_approver_answers_each_question_by_its_function() {
    let clock = VirtualClock::new();
    let mut answers = vec![PermissionDecision::Allow, PermissionDecision::deny("not that one")];
    let person =
        ScriptedApprover::new(clock.shared(), move |_| answers.pop().map_or(Answer::Never, Answer::from));
    let request = PermissionRequest::new(&call("write"), "write it?");
    let ask = || block_on(&clock, person.ask(&request));
    assert_eq!(ask(), Ok(PermissionDecision::deny("not that one")));
    assert_eq!(ask(), Ok(PermissionDecision::Allow));
    assert_eq!(ask(), Err(Halt::Stalled));
    assert_eq!(person.asked_requests(), [request.clone(), request.clone(), request]);
}
