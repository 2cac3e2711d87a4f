//! A consumer that falls behind.

use lariat_core::event::RecordedMessage;
use lariat_core::message::{AgentMessage, LlmMessage, Message};

use super::*;

fn message_end(message: u128) -> AgentEvent {
    let message = LlmMessage { id: message_id(message), turn_id: None, message: Message::user("x") };
    AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(AgentMessage::Llm(message))) }
}

fn thinking(message: u128, delta: &str) -> AgentEvent {
    let message = MessageRef::unresolved(message_id(message));
    AgentEvent::MessageUpdate { message, delta: StreamDelta::Thinking { delta: delta.into() } }
}

fn deltas(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| event.event.text_delta()).collect()
}

#[test]
fn slow_consumer_with_capacity_four_receives_every_durable_event_once_and_in_order() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    let (mut received, mut longest) = (Vec::new(), 0);
    for n in 0..110_000_u32 {
        if n % 11 == 0 {
            session.durable(turn());
        } else {
            session.live(text(u128::from(n / 1_000), "x"));
        }
        longest = longest.max(subscription.queue().len());
        if n % 97 == 0 {
            received.extend(poll(&mut subscription).and_then(Result::ok));
        }
    }
    received.extend(drain(&mut subscription));
    assert!(longest <= 4, "{longest} queued");
    assert!(durable_seqs(&received).into_iter().eq(0..10_000));
    assert!(session.store.reads().count < 200);
    session.durable(turn());
    session.live(text(1_000_000, "live again"));
    let last = drain(&mut subscription);
    assert_eq!(durable_seqs(&last), [10_000]);
    assert_eq!(deltas(&last), ["live again"]);
}

#[test]
fn chunks_of_a_message_are_joined_until_they_are_received() {
    let session = Session::new();
    let (mut slow, mut other) = (session.hub.subscribe(4), session.hub.subscribe(4));
    let chunks: Vec<String> = (0..5_000).map(|n| format!("{n} ")).collect();
    for (n, chunk) in chunks.iter().enumerate() {
        session.live(text(1, chunk.clone()));
        assert!(slow.queue().len() <= 1);
        if n == 2_500 {
            assert_eq!(deltas(&drain(&mut other)).concat(), chunks[..=n].concat());
        }
    }
    let joined = drain(&mut slow);
    assert_eq!(joined.len(), 1);
    assert_eq!(deltas(&joined).concat(), chunks.concat());
    assert_eq!(deltas(&drain(&mut other)).concat(), chunks[2_501..].concat());
}

#[test]
fn chunks_are_not_joined_across_kinds_messages_or_durable_events() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(16);
    session.live(text(1, "a"));
    session.live(thinking(1, "b"));
    session.live(text(1, "c"));
    session.live(text(2, "d"));
    session.live(text(1, "e"));
    session.durable(turn());
    session.live(text(1, "f"));
    let events = drain(&mut subscription);
    assert_eq!(deltas(&events), ["a", "ce", "d", "f"]);
    assert!(events[1].event == thinking(1, "b") && events[4].is_durable());
}

#[test]
fn joining_does_not_change_events_of_the_publisher_and_other_observers() {
    let session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    let first = session.record(0, text(1, "a"));
    session.hub.publish(first.clone());
    session.live(text(1, "b"));
    assert_eq!(first.event.text_delta(), Some("a"));
    assert_eq!(deltas(&drain(&mut subscription)), ["ab"]);
}

#[test]
fn progress_is_queued_while_it_fits_and_replaced_under_pressure() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(8);
    for n in 0..4 {
        session.live(progress("a", &n.to_string()));
    }
    assert_eq!(subscription.queue().len(), 4);
    session.live(progress("b", "other"));
    session.durable(turn());
    for n in 4..100 {
        session.live(progress("a", &n.to_string()));
    }
    assert_eq!(subscription.queue().len(), 6);
    let events = drain(&mut subscription);
    let is_durable: Vec<bool> = events.iter().map(|event| event.is_durable()).collect();
    assert_eq!(is_durable, [false, true, false, false, false, false], "newer progress stays after the turn");
    assert!(events[0].event == progress("b", "other"));
    assert!(events[5].event == progress("a", "99"));
}

#[test]
fn live_events_that_do_not_fit_are_dropped() {
    let session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    for n in 0..100 {
        session.live(progress(&n.to_string(), "working"));
    }
    assert_eq!(drain(&mut subscription).len(), 4);
    session.live(progress("later", "working"));
    assert_eq!(drain(&mut subscription).len(), 1);
}

#[test]
fn incomplete_message_receives_no_more_chunks_but_the_next_message_does() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(2);
    session.live(text(1, "a"));
    (0..3).for_each(|_| session.durable(turn()));
    session.live(text(1, "lost"));
    assert_eq!(deltas(&drain(&mut subscription)), ["a"]);
    session.live(text(1, "after a gap"));
    assert_eq!(drain(&mut subscription), []);
    session.durable(message_end(1));
    session.live(text(2, "whole"));
    let events = drain(&mut subscription);
    assert_eq!((durable_seqs(&events), deltas(&events)), (vec![3], vec!["whole"]));
}
