//! Tests of replies: streams, retries, stalls, broken connections, pauses.

use std::time::Duration;

use super::super::{FallbackModel, Input, ModelSignal};
use super::harness::{BEGIN, Harness};
use super::invariants::{self, own};
use super::scenario::*;
use crate::config::RetryConfig;
use crate::content::Content;
use crate::event::{AgentEvent, RecordedMessage, RunOutcome, StreamDelta};
use crate::message::{AssistantMessage, StopReason};
use crate::model::{ErrorDetail, ProviderError, StreamEvent};
use crate::usage::Usage;

fn replies(harness: &Harness) -> Vec<AssistantMessage> {
    let reply = |event: &AgentEvent| match event {
        AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => message.as_assistant().cloned(),
        _ => None,
    };
    own(&harness.journal).filter_map(reply).collect()
}

/// Returns the retries: attempt and delay in milliseconds.
fn retries(harness: &Harness) -> Vec<(u32, u64)> {
    let retry = |event: &crate::event::EventRecord| match &event.event {
        AgentEvent::ModelRetry { attempt, delay_ms, error } => {
            assert!(!error.is_empty());
            Some((*attempt, *delay_ms))
        }
        _ => None,
    };
    harness.events.iter().filter_map(retry).collect()
}

fn rate_limited(retry_after: Option<Duration>) -> Reply {
    fails(ProviderError::RateLimited(ErrorDetail::new("slow down").with_retry_after(retry_after)))
}

#[test]
fn reply_is_assembled_from_stream_events() {
    let signature = || Some("sig".to_owned());
    let events = vec![
        StreamEvent::Start { model: "m-2".into() },
        StreamEvent::ThinkingDelta { index: 0, delta: "h".into() },
        StreamEvent::ThinkingDelta { index: 0, delta: "m".into() },
        StreamEvent::ThinkingSignature { index: 0, signature: "sig".into() },
        StreamEvent::TextDelta { index: 1, delta: "hel".into() },
        StreamEvent::ToolCallDelta { index: 2, delta: "{".into() },
        StreamEvent::TextDelta { index: 1, delta: "lo".into() },
        StreamEvent::ToolCallEnd { index: 2, call: tool_call("a", "read") },
        StreamEvent::TextDelta { index: 3, delta: "".into() },
        StreamEvent::Block { index: 4, content: Content::RedactedThinking { data: "x".into() } },
        StreamEvent::Done { stop_reason: StopReason::ToolUse, usage: Usage::new(7, 3) },
    ];
    let scenario = Scenario::new("hi").reply(events.into_iter().map(ModelSignal::Event).collect());
    let harness = scenario.play();
    let reply = &replies(&harness)[0];
    assert_eq!(
        reply.content,
        [
            Content::Thinking { thinking: "hm".into(), signature: signature() },
            "hello".into(),
            Content::tool_call("a", "read", serde_json::json!({"of": "a"})),
            Content::RedactedThinking { data: "x".into() },
        ]
    );
    assert_eq!((reply.model.as_str(), reply.provider.as_str()), ("m-2", "p"));
    assert_eq!((reply.usage, reply.stop_reason), (Usage::new(7, 3), StopReason::ToolUse));
    let deltas: Vec<StreamDelta> = harness
        .events
        .iter()
        .take(14)
        .filter_map(|event| match &event.event {
            AgentEvent::MessageUpdate { delta, .. } => Some(delta.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas.len(), 6);
    assert_eq!(deltas[0], StreamDelta::Thinking { delta: "h".into() });
    assert_eq!(deltas[3], StreamDelta::ToolCallDelta { delta: "{".into() });
    invariants::check(&harness);
}

#[test]
fn streamed_message_keeps_its_id() {
    let harness = Scenario::new("hi").reply(text("hello")).play();
    let of_reply = |event: &crate::event::EventRecord| match &event.event {
        AgentEvent::MessageStart { message } if message.get().is_none() => Some(message.id()),
        AgentEvent::MessageUpdate { message, .. } => Some(message.id()),
        AgentEvent::MessageEnd { message } => {
            message.shared().filter(|message| message.as_assistant().is_some()).map(|message| message.id())
        }
        _ => None,
    };
    let ids: Vec<_> = harness.events.iter().filter_map(of_reply).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]));
}

#[test]
fn failure_before_delivery_is_retried_with_growing_delays() {
    let scenario = (0..3).fold(Scenario::new("hi"), |scenario, _| scenario.reply(fails(network())));
    let harness = scenario.reply(text("hello")).play();
    let waits = retries(&harness);
    assert_eq!(waits.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    for ((_, delay), base) in waits.iter().zip([1_000.0, 2_000.0, 4_000.0]) {
        let share = *delay as f64 / base;
        assert!((0.8..=1.2).contains(&share), "{delay} ms for {base} ms");
    }
    assert!(waits.iter().any(|(_, delay)| delay % 1_000 != 0), "with jitter");
    assert!(
        harness.now - BEGIN >= waits.iter().map(|(_, delay)| delay).sum(),
        "the run waits for the delays"
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!((harness.count("effect CallModel"), harness.count("event TurnStart")), (4, 1));
    invariants::check(&harness);
}

#[test]
fn jitter_is_at_most_a_fifth_of_the_capped_delay() {
    let retry = RetryConfig::default();
    for attempt in 1..=40 {
        let base = (1_000.0 * 2f64.powi(attempt - 1)).min(30_000.0);
        let attempt = u32::try_from(attempt).unwrap();
        for (unit, share) in [(-1.0, 0.8), (0.0, 1.0), (1.0, 1.2), (7.0, 1.2)] {
            let delay = retry.delay_for_attempt(attempt, unit).as_millis() as f64;
            assert_eq!(delay, (base * share).round(), "attempt {attempt}, unit {unit}");
        }
    }
}

#[test]
fn retry_after_extends_the_delay() {
    let asked = Duration::from_secs(17);
    let harness = Scenario::new("hi").reply(rate_limited(Some(asked))).reply(rate_limited(None)).play();
    let waits = retries(&harness);
    assert_eq!(waits[0], (1, 17_000), "exactly the requested delay");
    assert!((1_600..=2_400).contains(&waits[1].1));
    let short = Scenario::new("hi").reply(rate_limited(Some(Duration::from_millis(1)))).play();
    assert!(retries(&short)[0].1 >= 800, "never less than the backoff");
}

#[test]
fn fallback_model_continues_the_turn_and_stays() {
    let fallback = |model: &str| FallbackModel { provider: "other".into(), model: model.into() };
    let scenario =
        Scenario::new("hi").reply(fails(network())).reply(fails(network())).reply(fails(network()));
    let scenario = scenario.reply(calls(&["a"])).reply(text("done"));
    let harness = scenario
        .configured(|config| {
            config.retry = RetryConfig::default().with_max_retries(0);
            config.fallbacks = vec![fallback("second"), fallback("third"), fallback("last")];
        })
        .play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    let moved = |event: &crate::event::EventRecord| match &event.event {
        AgentEvent::ModelFallback { from, to, error } => {
            assert_eq!(error, "network: reset");
            Some((from.clone(), to.clone()))
        }
        _ => None,
    };
    let moves: Vec<_> = harness.events.iter().filter_map(moved).collect();
    let expected = [("m", "second"), ("second", "third"), ("third", "last")];
    assert_eq!(moves, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    for reply in replies(&harness) {
        assert_eq!((reply.provider.as_str(), reply.asked_model()), ("other", "last"));
    }
    invariants::check(&harness);
}

#[test]
fn fallback_does_not_repeat_a_refused_request() {
    let fallbacks = vec![FallbackModel { provider: "other".into(), model: "second".into() }];
    let refused = fails(ProviderError::Auth("no".into()));
    let scenario = Scenario::new("hi").reply(refused).configured(|config| config.fallbacks = fallbacks);
    assert_eq!(scenario.play().count("effect CallModel"), 1);
}

#[test]
fn fallback_follows_a_withdrawn_reply() {
    let fallbacks = vec![FallbackModel { provider: "other".into(), model: "second".into() }];
    let scenario = Scenario::new("hi").reply(vec![piece("hal"), ModelSignal::Failed(network())]);
    let harness = scenario
        .reply(text("hello"))
        .configured(|config| {
            config.retry = RetryConfig::none();
            config.fallbacks = fallbacks;
        })
        .play();
    assert!(harness.is_before("event MessageWithdrawn", "event ModelFallback"));
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
    invariants::check(&harness);
}

#[test]
fn retries_are_limited() {
    let scenario = Scenario::new("hi").with_hooks().reply(fails(network())).reply(fails(network()));
    let harness =
        scenario.configured(|config| config.retry = RetryConfig::default().with_max_retries(1)).play();
    let RunOutcome::Failed { error } = harness.outcome() else { panic!("{:?}", harness.outcome()) };
    assert!(error.starts_with("network: reset; 2 attempts in "), "{error}");
    assert_eq!(harness.count("effect CallModel"), 2);
    assert_eq!(harness.count("hook on_error"), 1);
    assert!(harness.is_before("hook on_error", "event TurnEnd"));
    let reply = &replies(&harness)[0];
    assert_eq!((reply.stop_reason, reply.error_message.as_ref()), (StopReason::Error, Some(error)));
    assert_eq!(harness.conversation(), ["user: hi"], "there is no reply");
    invariants::check(&harness);
}

#[test]
fn retries_can_be_disabled() {
    let harness = Scenario::new("hi")
        .reply(fails(network()))
        .configured(|config| config.retry = RetryConfig::none())
        .play();
    assert_eq!(harness.count("effect CallModel"), 1);
}

#[test]
fn permanent_errors_are_not_retried() {
    for error in [
        ProviderError::Auth("bad key".into()),
        ProviderError::Api("bad request".into()),
        ProviderError::Other("odd".into()),
        ProviderError::Cancelled,
    ] {
        let harness = Scenario::new("hi").reply(fails(error.clone())).play();
        assert_eq!(harness.count("effect CallModel"), 1, "{error}");
        assert_eq!(harness.outcome(), &RunOutcome::Failed { error: error.to_string() });
    }
}

#[test]
fn broken_reply_is_withdrawn_and_requested_again() {
    for first in [
        piece("half a "),
        ModelSignal::Event(StreamEvent::ThinkingDelta { index: 0, delta: "hm".into() }),
        ModelSignal::Event(StreamEvent::ToolCallEnd { index: 0, call: tool_call("a", "read") }),
    ] {
        let mut reply = vec![first];
        reply.extend(fails(network()));
        let harness = Scenario::new("hi").reply(reply).reply(text("hello")).play();
        assert_eq!(harness.count("effect CallModel"), 2);
        assert_eq!(harness.outcome(), &RunOutcome::Completed);
        assert_eq!(harness.count("event MessageWithdrawn"), 1);
        assert!(harness.is_before("event MessageWithdrawn", "event ModelRetry"));
        assert!(
            harness.lines(&["effect Authorize", "effect RunTool"]).is_empty(),
            "its tool calls do not run"
        );
        assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"], "no part of it is kept");
        let started = |event: &crate::event::EventRecord| match &event.event {
            AgentEvent::MessageStart { message } if message.get().is_none() => Some(message.id()),
            _ => None,
        };
        let ids: Vec<_> = harness.events.iter().filter_map(started).collect();
        assert!(ids.len() == 2 && ids[0] != ids[1], "the next reply has a new id");
        let withdrawn = |event: &crate::event::EventRecord| match &event.event {
            AgentEvent::MessageWithdrawn { message_id } => Some(*message_id),
            _ => None,
        };
        assert_eq!(harness.events.iter().find_map(withdrawn), Some(ids[0]));
        invariants::check(&harness);
    }
}

#[test]
fn broken_replies_are_requested_a_limited_number_of_times() {
    let broken = || vec![piece("half a "), ModelSignal::Failed(network())];
    let scenario = (0..9).fold(Scenario::new("hi"), |scenario, _| scenario.reply(broken()));
    let harness =
        scenario.configured(|config| config.retry = RetryConfig::default().with_max_retries(8)).play();
    let allowed = RetryConfig::default().max_broken_replies;
    assert_eq!(harness.count("effect CallModel"), allowed + 1);
    assert_eq!(harness.count("event MessageWithdrawn"), allowed);
    assert_eq!(harness.conversation(), ["user: hi", "assistant: half a "], "the last one stays");
    invariants::check(&harness);
}

#[test]
fn retries_stop_after_the_patience_time() {
    let scenario = (0..50).fold(Scenario::new("hi"), |scenario, _| scenario.reply(fails(network())));
    let patience = Duration::from_secs(120);
    let harness = scenario
        .configured(|config| {
            config.retry = RetryConfig::default().with_max_retries(100).with_patience(patience)
        })
        .play();
    let waited: u64 = retries(&harness).iter().map(|(_, delay)| delay).sum();
    assert!((80_000..=120_000).contains(&waited), "{waited} ms");
    assert!(matches!(harness.outcome(), RunOutcome::Failed { error } if error.contains(" attempts in ")));
}

#[test]
fn retry_after_beyond_the_patience_fails_at_once() {
    let scenario = Scenario::new("hi").reply(rate_limited(Some(Duration::from_secs(7_200))));
    let harness = scenario
        .configured(|config| config.retry = RetryConfig::default().with_patience(Duration::from_secs(600)))
        .play();
    assert_eq!(retries(&harness), []);
    let RunOutcome::Failed { error } = harness.outcome() else { panic!("{:?}", harness.outcome()) };
    assert!(error.ends_with("; the service asks to wait 7200 s"), "{error}");
}

#[test]
fn partial_text_of_the_last_attempt_is_kept() {
    let mut reply = vec![piece("half a ")];
    reply.extend(fails(network()));
    let scenario = Scenario::new("hi").reply(reply).configured(|config| config.retry = RetryConfig::none());
    assert_eq!(scenario.play().conversation(), ["user: hi", "assistant: half a "]);
}

#[test]
fn start_event_alone_delivers_nothing() {
    let start = ModelSignal::Event(StreamEvent::Start { model: "m".into() });
    let harness =
        Scenario::new("hi").reply(vec![start, ModelSignal::Failed(network())]).reply(text("hello")).play();
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
}

#[test]
fn stream_that_ends_without_done_is_broken() {
    let harness = Scenario::new("hi").reply(vec![ModelSignal::Ended]).reply(text("hello")).play();
    assert_eq!(retries(&harness).len(), 1);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    let harness =
        Scenario::new("hi").reply(vec![piece("half"), ModelSignal::Ended]).reply(text("hello")).play();
    assert_eq!((retries(&harness).len(), harness.count("event MessageWithdrawn")), (1, 1));
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
}

#[test]
fn silent_stream_is_broken_after_the_timeout() {
    let scenario = Scenario::new("hi").configured(|config| config.stall_timeout = Duration::from_secs(30));
    let harness = scenario.reply(Vec::new()).reply(text("hello")).play();
    assert_eq!(retries(&harness).len(), 1);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    let elapsed = harness.now - BEGIN;
    assert!((30_800..31_400).contains(&elapsed), "30 s of silence and one retry, not {elapsed} ms");
}

#[test]
fn stream_with_recent_data_is_not_stalled() {
    let scenario = Scenario::new("hi").configured(|config| {
        config.stall_timeout = Duration::from_secs(30);
        config.retry = RetryConfig::none();
    });
    // Data after 29 seconds, then silence.
    let harness = scenario
        .reply(vec![piece("a")])
        .when("effect CallModel", TestAction::Wait(Duration::from_secs(29)))
        .play();
    let elapsed = harness.now - BEGIN;
    assert!((59_000..59_100).contains(&elapsed), "{elapsed} ms");
    assert!(matches!(harness.outcome(), RunOutcome::Failed { error } if error.contains("30 seconds")));
}

#[test]
fn late_signals_of_an_abandoned_call_are_ignored() {
    let scenario = Scenario::new("hi").configured(|config| config.stall_timeout = Duration::from_secs(30));
    let mut harness = scenario.reply(Vec::new()).reply(Vec::new()).begin();
    while harness.count("effect CallModel") < 2 {
        harness.step();
    }
    // There is no deadline, so the first call is operation 1 and its stall timer is operation 2.
    let late = |signal| Input::Model { op: super::super::OpId(1), signal };
    harness.give(late(piece("too late")));
    harness.give(late(done(StopReason::Stop)));
    assert!(harness.ending.is_none() && !harness.logged("event MessageUpdate"));
}

#[test]
fn paused_reply_is_continued() {
    let paused = vec![piece("wait"), done(StopReason::Pause)];
    let harness = Scenario::new("go").reply(paused).reply(text("done")).play();
    assert_eq!(harness.conversation(), ["user: go", "assistant: wait", "assistant: done"]);
    assert_eq!((harness.count("event TurnStart"), harness.outcome()), (2, &RunOutcome::Completed));
    invariants::check(&harness);
}

#[test]
fn empty_reply_completes_the_run_and_stays_out_of_the_conversation() {
    let harness = Scenario::new("hi").reply(vec![done(StopReason::Stop)]).play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.conversation(), ["user: hi"]);
    assert!(harness.logged("event MessageEnd assistant"), "it is still recorded");
    invariants::check(&harness);
}

#[test]
fn usage_sums_all_replies() {
    let harness = Scenario::new("look").reply(calls(&["a"])).reply(text("seen")).play();
    assert_eq!(harness.ending.as_ref().unwrap().usage, Usage::new(20, 10));
    assert_eq!(harness.ending.as_ref().unwrap().turns, 2);
}

#[test]
fn cancel_during_a_retry_delay_ends_the_run() {
    let mut harness = Scenario::new("hi").reply(fails(network())).begin();
    while !harness.logged("event ModelRetry") {
        harness.step();
    }
    harness.inject(TestAction::Cancel);
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert_eq!(harness.count("effect CallModel"), 1);
    invariants::check(&harness);
}

#[test]
fn cancel_during_a_reply_keeps_partial_text() {
    let harness =
        Scenario::new("hi").reply(text("hello")).when("event MessageUpdate", TestAction::Cancel).play();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert_eq!(harness.conversation(), ["user: hi", "assistant: hello"]);
    assert_eq!(replies(&harness)[0].stop_reason, StopReason::Aborted);
    invariants::check(&harness);
}

#[test]
fn reply_ended_with_error_fails_and_runs_no_calls() {
    for stop_reason in [StopReason::Error, StopReason::Aborted] {
        let harness = Scenario::new("go").reply(calls_stopping(&["a"], stop_reason)).play();
        assert!(matches!(harness.outcome(), RunOutcome::Failed { error } if !error.is_empty()));
        assert!(!harness.logged("effect Authorize a"));
        invariants::check(&harness);
    }
}

#[test]
fn empty_pause_ends_the_run() {
    let scenario =
        Scenario::new("go").reply(vec![done(StopReason::Pause)]).configured(|config| config.limits = None);
    let harness = scenario.play();
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.count("effect CallModel"), 1);
}

#[test]
fn cancel_before_the_start_is_recorded_at_the_start() {
    let mut harness = Harness::new(Scenario::new("go").with_hooks());
    harness.give(Input::Cancel);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert!(own(&harness.journal).any(|event| matches!(event, AgentEvent::AbortRequested)));
    assert_eq!(harness.count("effect CallModel"), 0);
}
