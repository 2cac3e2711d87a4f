//! Tests of steering between tool calls and at the end of turns, and of follow-ups when the loop would stop.

use super::super::Input;
use super::harness::Harness;
use super::invariants;
use super::scenario::*;
use crate::config::{QueueMode, ToolExecutionStrategy};
use crate::content::Content;
use crate::event::{QueueKind, RunOutcome};
use crate::message::{AgentMessage, Message, UserMessage};
use crate::permission::Verdict;

const SKIPPED: &str = "Skipped due to queued user message.";

fn sequential(scenario: Scenario) -> Scenario {
    scenario.configured(|config| config.tool_execution = ToolExecutionStrategy::Sequential)
}

/// Three calls one after another; two messages arrive while the first runs.
fn steered() -> Scenario {
    sequential(
        Scenario::new("look").reply(calls(&["a", "b", "c"])).reply(text("first")).reply(text("second")),
    )
    .when("effect RunTool a", TestAction::Steer("rather this"))
    .when("effect RunTool a", TestAction::Steer("and that"))
}

#[test]
fn steering_skips_calls_that_have_not_started() {
    let harness = steered().play();
    assert_eq!(
        harness.conversation(),
        [
            "user: look".to_owned(),
            "assistant: <a><b><c>".to_owned(),
            "a: output of a".to_owned(),
            format!("b: {SKIPPED}"),
            format!("c: {SKIPPED}"),
            "user: rather this".to_owned(),
            "assistant: first".to_owned(),
            "user: and that".to_owned(),
            "assistant: second".to_owned(),
        ]
    );
    assert!(!harness.logged("effect Authorize b"));
    invariants::check(&harness);
}

#[test]
fn steering_can_be_delivered_all_at_once() {
    let harness = steered().configured(|config| config.steering_mode = QueueMode::All).play();
    assert_eq!(harness.conversation()[5..], ["user: rather this", "user: and that", "assistant: first"]);
}

#[test]
fn steering_does_not_affect_running_parallel_calls() {
    let scenario = Scenario::new("look").reply(calls(&["a", "b"])).late(&["a", "b"]).reply(text("ok"));
    let harness = scenario.when("effect RunTool a", TestAction::Steer("wait")).play();
    assert_eq!(
        harness.conversation()[2..],
        ["a: output of a", "b: output of b", "user: wait", "assistant: ok"]
    );
}

#[test]
fn steering_skips_groups_after_the_running_one() {
    let scenario = Scenario::new("look").reply(calls(&["a", "b", "c", "d"])).reply(text("ok"));
    let scenario =
        scenario.configured(|config| config.tool_execution = ToolExecutionStrategy::Batched { size: 2 });
    let harness = scenario.when("effect RunTool b", TestAction::Steer("wait")).play();
    assert_eq!(
        [harness.result_of("b"), harness.result_of("c"), harness.result_of("d")],
        ["output of b", SKIPPED, SKIPPED]
    );
}

#[test]
fn steering_during_a_reply_waits_for_the_end_of_the_turn() {
    let harness = Scenario::new("hi")
        .reply(text("hello"))
        .reply(text("yes?"))
        .when("event MessageUpdate", TestAction::Steer("hey"))
        .play();
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello", "user: hey", "assistant: yes?"]);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn steering_before_the_first_turn_follows_the_prompt() {
    let harness = Scenario::new("hi").with_hooks().when("hook before_turn", TestAction::Steer("also")).play();
    assert_eq!(harness.conversation(), ["user: hi", "user: also", "assistant: done"]);
}

#[test]
fn turn_starts_with_prompts_then_queued_messages() {
    let harness = Scenario::new("hi").with_hooks().when("hook before_turn", TestAction::Steer("also")).play();
    let turn = harness.log.iter().position(|line| line == "event TurnStart").unwrap();
    assert_eq!(
        harness.log[turn..turn + 6],
        [
            "event TurnStart",
            "event MessageStart user",
            "event MessageEnd user",
            "event MessageStart user",
            "event MessageEnd user",
            "effect CallModel"
        ]
    );
}

#[test]
fn follow_ups_are_delivered_one_by_one_when_the_loop_would_stop() {
    let scenario =
        Scenario::new("look").reply(calls(&["a"])).reply(text("one")).reply(text("two")).reply(text("three"));
    let scenario = scenario
        .when("effect RunTool a", TestAction::FollowUp("then this"))
        .when("effect RunTool a", TestAction::FollowUp("then that"));
    let harness = scenario.play();
    assert_eq!(
        harness.conversation()[2..],
        [
            "a: output of a",
            "assistant: one",
            "user: then this",
            "assistant: two",
            "user: then that",
            "assistant: three"
        ]
    );
    invariants::check(&harness);
}

#[test]
fn follow_ups_can_be_delivered_all_at_once() {
    let scenario =
        Scenario::new("hi").with_hooks().configured(|config| config.follow_up_mode = QueueMode::All);
    let harness = scenario
        .when("hook before_turn", TestAction::FollowUp("then this"))
        .when("hook before_turn", TestAction::FollowUp("then that"))
        .play();
    assert_eq!(
        harness.conversation(),
        ["user: hi", "assistant: done", "user: then this", "user: then that", "assistant: done"]
    );
}

#[test]
fn steering_is_delivered_before_follow_ups() {
    let scenario = Scenario::new("hi").reply(text("one"));
    let harness = scenario
        .when("event MessageUpdate", TestAction::FollowUp("last"))
        .when("event MessageUpdate", TestAction::Steer("first"))
        .play();
    assert_eq!(
        harness.conversation()[2..],
        ["user: first", "assistant: done", "user: last", "assistant: done"]
    );
}

#[test]
fn failed_or_cancelled_run_leaves_queued_messages() {
    let left = |mut harness: Harness| {
        harness.drive();
        invariants::check(&harness);
        let parts = harness.run.into_parts();
        let texts = |queue: std::collections::VecDeque<crate::message::SharedMessage>| -> Vec<String> {
            queue.iter().filter_map(|message| message.as_llm()).map(Message::text).collect()
        };
        (texts(parts.steering), texts(parts.follow_up))
    };
    let scenario = || {
        Scenario::new("hi")
            .reply(vec![piece("half"), super::super::ModelSignal::Failed(network())])
            .when("event MessageUpdate", TestAction::Steer("s"))
            .when("event MessageUpdate", TestAction::FollowUp("f"))
            .configured(|config| config.retry = crate::config::RetryConfig::none())
    };
    let both = || (vec!["s".to_owned()], vec!["f".to_owned()]);
    assert_eq!(left(scenario().begin()), both());
    assert_eq!(left(scenario().when("event MessageUpdate", TestAction::Cancel).begin()), both());
}

#[test]
fn messages_of_an_earlier_loop_are_delivered() {
    let harness = super::catalogue::carried_over().play();
    assert_eq!(
        harness.conversation(),
        [
            "user: look",
            "user: one more thing",
            "assistant: <a>",
            "a: output of a",
            "assistant: seen",
            "user: and then",
            "assistant: done"
        ]
    );
    assert!(!harness.logged("event MessageQueued"), "its content is already in the journal");
    invariants::check(&harness);
}

#[test]
fn invalid_queued_message_is_ignored() {
    let reply = AgentMessage::clone(&old_reply(9, "I am the model"));
    let call = Content::tool_call("x", "read", serde_json::json!({}));
    let tricky = Message::User(UserMessage::new(vec![call]));
    for (queue, message) in [
        (QueueKind::Steering, reply),
        (QueueKind::FollowUp, "   ".into()),
        (QueueKind::FollowUp, tricky.into()),
    ] {
        let mut harness = Scenario::new("hi").reply(text("hello")).begin();
        harness.step();
        harness.give(Input::Queued { queue, message });
        harness.drive();
        assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
        assert_eq!(harness.outcome(), &RunOutcome::Completed);
        invariants::check(&harness);
    }
}

#[test]
fn steering_during_a_denied_call_skips_the_rest() {
    let scenario = sequential(Scenario::new("look").reply(calls(&["a", "b"])).reply(text("ok")));
    let harness = scenario
        .verdict("a", Verdict::Deny("no".into()))
        .when("effect Authorize a", TestAction::Steer("wait"))
        .play();
    assert_eq!([harness.result_of("a"), harness.result_of("b")], ["Denied: no", SKIPPED]);
}
