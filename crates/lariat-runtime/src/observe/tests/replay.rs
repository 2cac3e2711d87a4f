//! Re-reading durable events: from a position, after falling behind, with references, and when the store
//! fails.

use lariat_core::event::{LoopStart, QueueKind, RecordedMessage, RunOutcome};
use lariat_core::message::{AgentMessage, LlmMessage, Message, SharedMessage};

use super::super::replay::{PAGE, READ_RETRIES};
use super::*;

fn unavailable() -> StoreError {
    StoreError::Unavailable("planted".into())
}

fn message(n: u128) -> SharedMessage {
    let message = Message::user(format!("message {n}"));
    Arc::new(AgentMessage::Llm(LlmMessage { id: message_id(n), turn_id: None, message }))
}

fn loop_start(session: &Session) -> AgentEvent {
    let loop_id = LoopId::compose(&session.id, "c", 0);
    AgentEvent::AgentStart(Box::new(LoopStart::new("a".into(), session.id.clone(), loop_id)))
}

fn message_end(n: u128) -> AgentEvent {
    AgentEvent::MessageEnd { message: RecordedMessage::Full(message(n)) }
}

fn turn_end(n: u128) -> AgentEvent {
    let message = MessageRef::resolved(message(n));
    AgentEvent::TurnEnd { message, usage: Default::default(), tool_results: vec![] }
}

fn loop_end(messages: std::ops::Range<u128>) -> AgentEvent {
    AgentEvent::AgentEnd {
        messages: messages.map(|n| MessageRef::resolved(message(n))).collect(),
        usage: Default::default(),
        outcome: RunOutcome::Completed,
        rejection: None,
    }
}

/// The messages that an event refers to, with their attached content.
fn attached(event: &Event) -> Vec<Option<&AgentMessage>> {
    match &event.event {
        AgentEvent::AgentEnd { messages, .. } => messages.iter().map(MessageRef::get).collect(),
        AgentEvent::TurnEnd { message, .. } => vec![message.get()],
        other => panic!("no references: {other:?}"),
    }
}

/// Publishes a loop of `turns` turns: `AgentStart`, then `MessageEnd` and `TurnEnd` for each.
fn run_loop(session: &mut Session, turns: u128) {
    session.durable(loop_start(session));
    for n in 0..turns {
        session.durable(message_end(n));
        session.durable(turn_end(n));
    }
}

#[test]
fn subscription_from_a_position_reads_the_journal_and_continues_live() {
    let mut session = Session::with_history(700);
    let mut subscription = session.hub.subscribe_from(4, 100);
    assert_eq!(durable_seqs(&drain(&mut subscription)), (100..700).collect::<Vec<_>>());
    session.durable(turn());
    session.live(text(1, "live"));
    let events = drain(&mut subscription);
    assert_eq!(durable_seqs(&events), [700]);
    assert_eq!(events.len(), 2);
    assert_eq!(subscription.position(), Some(701));
}

#[test]
fn subscription_waits_for_a_position_ahead_of_the_journal() {
    let mut session = Session::new();
    (0..3).for_each(|_| session.durable(turn()));
    let mut subscription = session.hub.subscribe_from(4, 5);
    for _ in 0..4 {
        session.durable(turn());
        session.live(text(1, "x"));
    }
    let events = drain(&mut subscription);
    assert_eq!(durable_seqs(&events), [5, 6]);
    assert_eq!(events[0].seq, 5, "a live event from before the position is not delivered");
}

#[test]
fn session_without_events_can_be_observed_from_its_beginning() {
    let mut session = Session::new();
    session.store.reads().failures.push(StoreError::NotFound("session s".into()));
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(poll(&mut subscription), None);
    session.durable(turn());
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0]);
}

#[test]
fn event_read_before_it_was_published_is_delivered_once() {
    let mut session = Session::with_history(3);
    session.append(turn());
    session.append(turn());
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0, 1, 2, 3, 4]);
    session.publish_next();
    session.live(text(1, "belongs before event 4, which is delivered already"));
    session.publish_next();
    assert_eq!(drain(&mut subscription), []);
    session.durable(turn());
    session.live(text(2, "x"));
    assert_eq!(drain(&mut subscription).len(), 2);
}

#[test]
fn event_published_while_reading_the_end_of_the_journal_is_not_missed() {
    let session = Session::new();
    let (hub, id, epoch) = (session.hub.clone(), session.id.clone(), session.epoch);
    let event = session.record(0, turn());
    session.store.reads().meanwhile = Some(Box::new(move |store| {
        let append = Append::new(&id, epoch, 0, std::slice::from_ref(&event));
        store.append(append).now_or_never().unwrap().unwrap();
        hub.publish(event);
    }));
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0]);
    assert_eq!(session.store.reads().count, 2);
}

#[test]
fn gap_in_published_events_is_filled_from_the_journal() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    session.durable(turn());
    (0..3).for_each(|_| session.append(turn()));
    session.published = 3;
    session.publish_next();
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0, 1, 2, 3]);
}

#[test]
fn references_in_re_read_events_resolve_to_earlier_delivered_messages() {
    let mut session = Session::new();
    session.store.reads().serialised = true;
    let mut subscription = session.hub.subscribe(4);
    run_loop(&mut session, 1);
    let queued = AgentEvent::MessageQueued { queue: QueueKind::Steering, message: message(1) };
    session.durable(queued);
    assert_eq!(drain(&mut subscription).len(), 4);
    (0..10).for_each(|_| session.durable(turn()));
    session.durable(loop_end(0..2));
    let events = drain(&mut subscription);
    assert_eq!(durable_seqs(&events), (4..15).collect::<Vec<_>>());
    assert_eq!(attached(&events[10]), [Some(&*message(0)), Some(&*message(1))]);
    assert_eq!(session.store.reads().count, 1, "the beginning of the loop was delivered live");
}

#[test]
fn references_from_before_the_subscription_are_read_back_to_the_beginning_of_the_loop() {
    let mut session = Session::with_history(PAGE as u64 * 2);
    session.store.reads().serialised = true;
    let turns = PAGE as u128;
    run_loop(&mut session, turns);
    session.durable(loop_end(0..turns));
    let head = session.next_seq();
    // Reads: the pages of the events themselves, and those back to the beginning of the loop.
    for (from, reads) in [(head - 1, 1 + 3), (head - 2, 1 + 2), (PAGE as u64 * 3, 2 + 1), (0, 5)] {
        session.store.reads().count = 0;
        let events = drain(&mut session.hub.subscribe_from(4, from));
        assert_eq!(durable_seqs(&events), (from..head).collect::<Vec<_>>());
        let named = events.iter().filter(|event| matches!(event.event, AgentEvent::TurnEnd { .. }));
        assert!(named.flat_map(attached).all(|message| message.is_some()));
        let last = attached(events.last().unwrap());
        assert!(last.len() == turns as usize && last.iter().all(Option::is_some));
        assert_eq!(session.store.reads().count, reads, "from {from}");
    }
}

#[test]
fn resolving_references_gives_up_after_a_limited_number_of_reads() {
    let mut session = Session::with_history(PAGE as u64 * 40);
    session.store.reads().serialised = true;
    session.durable(turn_end(7));
    session.durable(turn_end(7));
    let events = drain(&mut session.hub.subscribe_from(4, session.next_seq() - 2));
    assert_eq!(attached(&events[1]), [None]);
    assert_eq!(session.store.reads().count, 17, "one page of events, sixteen of the past, once per loop");
}

#[test]
fn messages_of_a_loop_are_dropped_at_its_end() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    session.durable(loop_start(&session));
    session.durable(message_end(0));
    session.durable(loop_end(0..0));
    drain(&mut subscription);
    let AgentEvent::MessageEnd { message: RecordedMessage::Full(kept) } = &session.journal[1].event else {
        panic!()
    };
    assert_eq!(Arc::strong_count(kept), 1, "only the journal holds the message");
}

#[test]
fn brief_store_failure_is_retried() {
    let mut session = Session::new();
    session.store.reads().failures = vec![unavailable(); READ_RETRIES as usize];
    (0..3).for_each(|_| session.durable(turn()));
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0, 1, 2]);
    assert_eq!(subscription.end_reason(), None);
}

#[test]
fn persistent_store_failure_ends_the_subscription_with_error_and_position() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    (0..9).for_each(|_| session.durable(turn()));
    session.store.reads().failures = vec![unavailable(); READ_RETRIES as usize + 1];
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0, 1, 2, 3]);
    let failed = SubscriptionEnd::Failed(unavailable());
    assert!(failed.is_retryable());
    assert_eq!(poll(&mut subscription), Some(Err(failed.clone())));
    assert_eq!(subscription.end_reason(), Some(&failed));
    assert!(!session.hub.has_subscribers(), "an ended subscription costs the publisher nothing");
    let mut again = session.hub.subscribe_from(4, subscription.position().unwrap());
    assert_eq!(durable_seqs(&drain(&mut again)), [4, 5, 6, 7, 8]);
}

#[test]
fn damaged_store_is_not_retried() {
    let mut session = Session::new();
    session.durable(turn());
    let damaged = StoreError::Damaged("planted".into());
    session.store.reads().failures.push(damaged.clone());
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(poll(&mut subscription), Some(Err(SubscriptionEnd::Failed(damaged))));
    assert_eq!(session.store.reads().count, 1);
}

#[test]
fn store_that_returns_events_out_of_sequence_ends_the_subscription() {
    let mut session = Session::new();
    (0..3).for_each(|_| session.durable(turn()));
    session.store.reads().reversed = true;
    let mut subscription = session.hub.subscribe_from(4, 0);
    assert_eq!(drain(&mut subscription), []);
    assert!(matches!(subscription.end_reason(), Some(SubscriptionEnd::Failed(StoreError::Damaged(_)))));
}

#[test]
fn missing_acknowledged_events_end_the_subscription_instead_of_being_skipped() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe_from(4, 0);
    session.durable(turn());
    session.hub.publish(session.record(1, turn()));
    assert_eq!(durable_seqs(&drain(&mut subscription)), [0]);
    assert!(matches!(subscription.end_reason(), Some(SubscriptionEnd::Failed(StoreError::Unavailable(_)))));
}
