//! Tests of the order of callbacks and events, and of callbacks or filters that refuse.

use super::super::{FilterOutcome, Run, StartError};
use super::invariants::{self, own};
use super::scenario::*;
use crate::content::Content;
use crate::event::{AgentEvent, ContinuationKind, RunOutcome, TurnTrigger};
use crate::message::{AgentMessage, ExtensionMessage, Message, UserMessage};
use crate::transcript::{NotSendable, Transcript};

#[test]
fn text_reply_has_the_documented_event_order() {
    let harness = Scenario::new("hi").with_hooks().reply(text("hello")).play();
    assert_eq!(
        harness.log,
        [
            "hook before_loop",
            "event AgentStart",
            "hook before_turn",
            "event TurnStart",
            "event MessageStart user",
            "event MessageEnd user",
            "effect CallModel",
            "event MessageStart assistant",
            "event MessageUpdate",
            "event MessageEnd assistant",
            "event TurnEnd",
            "hook after_turn",
            "event AgentEnd",
            "hook after_loop",
            "effect Finish",
        ]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
}

#[test]
fn tool_cycle_has_the_documented_event_order() {
    let harness = Scenario::new("look").with_hooks().reply(calls(&["a"])).reply(text("seen")).play();
    assert_eq!(
        harness.log,
        [
            "hook before_loop",
            "event AgentStart",
            "hook before_turn",
            "event TurnStart",
            "event MessageStart user",
            "event MessageEnd user",
            "effect CallModel",
            "event MessageStart assistant",
            "event MessageEnd assistant",
            "effect Authorize a",
            "event ToolExecutionStart a",
            "effect RunTool a",
            "event ToolExecutionEnd a",
            "event MessageStart result",
            "event MessageEnd result",
            "hook after_tool",
            "event TurnEnd",
            "hook after_turn",
            "hook before_turn",
            "event TurnStart",
            "effect CallModel",
            "event MessageStart assistant",
            "event MessageUpdate",
            "event MessageEnd assistant",
            "event TurnEnd",
            "hook after_turn",
            "event AgentEnd",
            "hook after_loop",
            "effect Finish",
        ]
    );
    assert_eq!(harness.conversation(), ["user: look", "assistant: <a>", "a: output of a", "assistant: seen"]);
}

#[test]
fn events_are_the_same_without_callbacks() {
    let events = |scenario: Scenario| {
        let harness = scenario.play();
        harness.lines(&["event", "effect"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let scenario = || Scenario::new("look").reply(calls(&["a"])).reply(text("seen"));
    assert_eq!(events(scenario()), events(scenario().with_hooks()));
    assert!(scenario().play().lines(&["hook"]).is_empty());
}

#[test]
fn before_loop_false_ends_the_loop_before_its_start() {
    let harness =
        Scenario::new("hi").with_hooks().scripted(|script| script.before_loop.push_back(false)).play();
    assert_eq!(harness.log, ["hook before_loop", "event AgentEnd", "hook after_loop", "effect Finish"]);
    assert_eq!(harness.outcome(), &RunOutcome::StoppedByHook);
    let end = own(&harness.journal).next().unwrap();
    assert!(matches!(end, AgentEvent::AgentEnd { messages, .. } if messages.is_empty()));
}

#[test]
fn before_turn_false_ends_the_loop_without_a_turn() {
    let harness =
        Scenario::new("hi").with_hooks().scripted(|script| script.before_turn.push_back(false)).play();
    assert_eq!(
        harness.log,
        [
            "hook before_loop",
            "event AgentStart",
            "hook before_turn",
            "event AgentEnd",
            "hook after_loop",
            "effect Finish"
        ]
    );
    assert_eq!(harness.outcome(), &RunOutcome::StoppedByHook);
}

#[test]
fn before_turn_is_called_before_every_turn() {
    let scenario = Scenario::new("look").with_hooks().reply(calls(&["a"])).reply(text("seen"));
    let harness = scenario.scripted(|script| script.before_turn.extend([true, false])).play();
    assert_eq!(harness.outcome(), &RunOutcome::StoppedByHook);
    assert_eq!((harness.count("event TurnStart"), harness.count("effect CallModel")), (1, 1));
    invariants::check(&harness);
}

#[test]
fn passing_filters_leave_the_prompt_unchanged() {
    let scenario =
        Scenario::new("hi").with_hooks().filtered(FilterOutcome::Pass { context: vec![], warnings: vec![] });
    let harness = scenario.play();
    assert!(harness.is_before("event AgentStart", "effect Filter"));
    assert!(harness.is_before("effect Filter", "hook before_turn"));
    assert_eq!(harness.count("effect Filter"), 1);
    assert_eq!(harness.conversation()[0], "user: hi");
}

#[test]
fn filter_warnings_are_appended_to_the_last_user_message() {
    let mut scenario = Scenario::new("hi")
        .filtered(FilterOutcome::Pass { context: vec![], warnings: vec!["odd".into(), "very".into()] });
    scenario.prompts.push("there".into());
    scenario.prompts.push(ExtensionMessage::new("ui", serde_json::json!(1)).into());
    let harness = scenario.play();
    assert_eq!(harness.conversation()[..2], ["user: hi", "user: there\n[Warning: odd]\n[Warning: very]"]);
    assert_eq!(harness.count("event InputWarned"), 2);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}

#[test]
fn rejected_prompt_ends_the_loop_and_is_not_kept() {
    let scenario = Scenario::new("hi").with_hooks().filtered(FilterOutcome::Reject { reason: "rude".into() });
    let harness = scenario.play();
    assert_eq!(
        harness.log,
        [
            "hook before_loop",
            "event AgentStart",
            "effect Filter",
            "event InputRejected",
            "event AgentEnd",
            "hook after_loop",
            "effect Finish"
        ]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Rejected);
    let end = own(&harness.journal).last().unwrap();
    let AgentEvent::AgentEnd { messages, rejection, .. } = end else { panic!("not the end") };
    assert!(messages.is_empty());
    assert_eq!(rejection.as_deref(), Some("rude"));
}

/// Returns the trigger of each turn.
fn triggers(scenario: Scenario) -> Vec<TurnTrigger> {
    let harness = scenario.play();
    let trigger = |event: &AgentEvent| match event {
        AgentEvent::TurnStart { triggered_by, .. } => Some(*triggered_by),
        _ => None,
    };
    own(&harness.journal).filter_map(trigger).collect()
}

#[test]
fn turns_record_their_trigger() {
    use TurnTrigger::{Branch, Continuation, SubAgent, User};
    let two_turns = || Scenario::new("look").reply(calls(&["a"])).reply(text("seen"));
    assert_eq!(triggers(two_turns()), [User, Continuation]);
    assert_eq!(
        triggers(two_turns().configured(|config| config.first_turn_trigger = SubAgent)),
        [SubAgent, Continuation]
    );
    let continued = |kind| {
        let mut scenario = two_turns();
        scenario.start.continuation_kind = Some(kind);
        triggers(scenario)
    };
    let tag = || "2025-11-15T00:00:00Z".to_owned();
    assert_eq!(continued(ContinuationKind::Default), [Continuation, Continuation]);
    assert_eq!(continued(ContinuationKind::Rerun { tag: tag() }), [Continuation, Continuation]);
    assert_eq!(continued(ContinuationKind::Branch { tag: tag() }), [Branch, Continuation]);
}

#[test]
fn loop_start_records_how_it_continues() {
    let mut scenario = Scenario::continuing(vec![old_prompt(1, "hi")]);
    scenario.start.parent_loop_id = Some("s.c.0".into());
    scenario.start.continuation_kind = Some(ContinuationKind::Rerun { tag: "now".into() });
    let harness = scenario.play();
    let Some(AgentEvent::AgentStart(start)) = own(&harness.journal).next() else { panic!("no start") };
    assert_eq!(start.parent_loop_id, Some("s.c.0".into()));
    assert_eq!(start.continuation_kind, Some(ContinuationKind::Rerun { tag: "now".into() }));
    assert_eq!(start.base, Some(old_prompt(1, "hi").id()));
    assert_eq!(harness.conversation(), ["user: hi", "assistant: done"]);
    assert_eq!(harness.count("event MessageEnd user"), 0, "earlier messages are not recorded again");
}

#[test]
fn loop_without_a_message_to_answer_does_not_start() {
    let start = |transcript: Transcript, prompts: Vec<AgentMessage>| {
        let scenario = Scenario::new("unused");
        Run::new(scenario.config.into(), scenario.start, 0, transcript, prompts).map(|_| ()).unwrap_err()
    };
    let ends_in_reply = Transcript::repair([old_prompt(1, "hi"), old_reply(2, "hello")]).0;
    let prompt = |content: Vec<Content>| Message::User(UserMessage::new(content)).into();
    let extension = || ExtensionMessage::new("ui", serde_json::json!(1)).into();
    let empty = StartError::NotSendable(NotSendable::Empty);
    assert_eq!(start(Transcript::new(), vec![]), empty);
    assert_eq!(start(Transcript::new(), vec![extension()]), empty);
    assert_eq!(start(ends_in_reply, vec![]), StartError::NotSendable(NotSendable::EndsInReply));
    assert_eq!(start(Transcript::new(), vec![prompt(vec![])]), StartError::EmptyPrompt);
    assert_eq!(start(Transcript::new(), vec!["hi".into(), "  ".into()]), StartError::EmptyPrompt);
    let reply = AgentMessage::clone(&old_reply(1, "hello"));
    assert_eq!(start(Transcript::new(), vec![reply]), StartError::NotAPrompt);
    let call = Content::tool_call("a", "read", serde_json::json!({}));
    assert_eq!(start(Transcript::new(), vec![prompt(vec!["hi".into(), call])]), StartError::NotAPrompt);
}

#[test]
fn journal_contains_content_exactly_once() {
    let scenario = Scenario::new("PROMPT-MARK")
        .reply(call_with("a", serde_json::json!({"path": "ARGS-MARK"})))
        .output("a", Ok(crate::tool::ToolResult::text("OUTPUT-MARK")))
        .reply(text("REPLY-MARK"))
        .when("effect RunTool a", TestAction::Steer("STEER-MARK"))
        .when("effect RunTool a", TestAction::FollowUp("FOLLOW-MARK"));
    let harness = scenario.play();
    invariants::check(&harness);
    let journal: String =
        harness.journal.iter().map(|event| serde_json::to_string(&**event).unwrap()).collect();
    for mark in ["PROMPT-MARK", "ARGS-MARK", "OUTPUT-MARK", "REPLY-MARK", "STEER-MARK", "FOLLOW-MARK"] {
        assert_eq!(journal.matches(mark).count(), 1, "{mark} in {journal}");
    }
}

#[test]
fn ids_of_events_and_messages_are_unique_and_sorted() {
    let harness = super::catalogue::parallel_tools().play();
    let ids: Vec<_> = harness.events.iter().map(|event| event.id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(harness.events.windows(2).all(|pair| pair[0].timestamp <= pair[1].timestamp));
}

#[test]
fn inputs_after_the_end_change_nothing() {
    let mut harness = Scenario::new("hi").reply(text("hello")).play();
    let before = harness.log.clone();
    harness.inject(TestAction::Cancel);
    harness.inject(TestAction::Steer("too late"));
    assert_eq!(harness.log, before);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
}
