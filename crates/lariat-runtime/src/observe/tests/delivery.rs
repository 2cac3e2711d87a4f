//! A consumer that keeps up, and the lifetime of a subscription.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use futures_util::StreamExt;
use lariat_core::event::RunOutcome;

use super::*;

#[test]
fn fast_consumer_receives_every_event_in_order() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(4);
    for n in 0..1_000 {
        session.durable(turn());
        assert_eq!(poll(&mut subscription).unwrap().unwrap().seq, n);
        for chunk in 0..3 {
            session.live(text(1, chunk.to_string()));
            let event = poll(&mut subscription).unwrap().unwrap();
            assert_eq!(event.event.text_delta(), Some(&*chunk.to_string()));
        }
        assert!(poll(&mut subscription).is_none());
    }
    assert_eq!(session.store.reads().count, 0);
    assert_eq!(subscription.position(), Some(1_000));
}

#[test]
fn subscriber_receives_events_published_after_it_subscribed() {
    let mut session = Session::new();
    session.durable(turn());
    let mut subscription = session.hub.subscribe(4);
    assert_eq!(subscription.position(), Some(1));
    session.durable(turn());
    assert_eq!(durable_seqs(&drain(&mut subscription)), [1]);
}

#[test]
fn dropping_a_subscription_frees_its_queue() {
    let mut session = Session::new();
    assert!(!session.hub.has_subscribers());
    let (first, second) = (session.hub.subscribe(4), session.hub.subscribe(4));
    session.durable(turn());
    let queue = Arc::downgrade(first.queue());
    let event = Arc::downgrade(&session.journal[0]);
    assert!(session.hub.has_subscribers());
    drop(first);
    assert!(queue.upgrade().is_none());
    assert!(session.hub.has_subscribers());
    drop(second);
    assert!(!session.hub.has_subscribers());
    drop(session);
    assert!(event.upgrade().is_none());
}

#[test]
fn subscribers_receive_queued_events_after_close_and_then_the_end() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(8);
    (0..5).for_each(|_| session.durable(turn()));
    session.hub.close();
    session.live(text(1, "too late"));
    assert!(!session.hub.has_subscribers());
    for seq in 0..5 {
        assert_eq!(poll(&mut subscription).unwrap().unwrap().seq, seq);
    }
    assert_eq!(poll(&mut subscription), Some(Err(SubscriptionEnd::Ended)));
    assert_eq!(poll(&mut subscription), Some(Err(SubscriptionEnd::Ended)));
    assert_eq!(subscription.end_reason(), Some(&SubscriptionEnd::Ended));
}

#[test]
fn slow_consumer_of_a_closed_hub_still_receives_everything() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(2);
    (0..600).for_each(|_| session.durable(turn()));
    session.hub.close();
    assert_eq!(durable_seqs(&drain(&mut subscription)), (0..600).collect::<Vec<_>>());
    assert_eq!(poll(&mut subscription), Some(Err(SubscriptionEnd::Ended)));
}

#[test]
fn closed_hub_still_replays_the_journal_to_late_subscribers() {
    let mut session = Session::new();
    (0..5).for_each(|_| session.durable(turn()));
    session.hub.close();
    assert_eq!(durable_seqs(&drain(&mut session.hub.subscribe_from(8, 2))), [2, 3, 4]);
    assert_eq!(poll(&mut session.hub.subscribe(8)), Some(Err(SubscriptionEnd::Ended)));
    assert!(!session.hub.has_subscribers());
}

#[test]
fn dropping_the_hub_ends_its_subscriptions() {
    let Session { hub, .. } = Session::new();
    let mut subscription = hub.subscribe(8);
    assert_eq!(poll(&mut subscription), None);
    drop(hub);
    assert_eq!(poll(&mut subscription), Some(Err(SubscriptionEnd::Ended)));
}

#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn waiting_consumer_is_woken_by_an_event_and_by_the_end() {
    let mut session = Session::new();
    let mut subscription = session.hub.subscribe(8);
    let count = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let woken = || count.0.load(Ordering::Relaxed);
    assert!(subscription.poll_next_unpin(&mut context).is_pending());
    session.durable(turn());
    assert_eq!(woken(), 1);
    session.durable(turn());
    assert_eq!(woken(), 1, "no consumer waits, so none is woken");
    assert!(subscription.poll_next_unpin(&mut context).is_ready());
    assert!(subscription.poll_next_unpin(&mut context).is_ready());
    assert!(subscription.poll_next_unpin(&mut context).is_pending());
    session.live(text(1, "a"));
    assert_eq!(woken(), 2);
    assert!(subscription.poll_next_unpin(&mut context).is_ready());
    assert!(subscription.poll_next_unpin(&mut context).is_pending());
    session.hub.close();
    assert_eq!(woken(), 3);
}

/// A waker that calls the hub while it is woken.
struct ReentrantWaker(Mutex<Option<(Arc<EventHub>, Subscription)>>);

impl Wake for ReentrantWaker {
    fn wake(self: Arc<Self>) {
        if let Some((hub, subscription)) = self.0.lock().unwrap().take() {
            drop(subscription);
            drop(hub.subscribe(1));
            hub.close();
        }
    }
}

#[test]
fn waker_may_call_the_hub_that_wakes_it() {
    let hub = Arc::new(EventHub::new(Arc::new(MemoryStore::new()), SessionId::from("s")));
    let (mut waiting, other) = (hub.subscribe(1), hub.subscribe(1));
    let waker = Waker::from(Arc::new(ReentrantWaker(Mutex::new(Some((Arc::clone(&hub), other))))));
    assert!(waiting.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    hub.publish(Session::new().record(0, turn()));
    assert_eq!(poll(&mut waiting).unwrap().unwrap().seq, 0);
    assert_eq!(poll(&mut waiting), Some(Err(SubscriptionEnd::Ended)));
}

#[test]
fn idle_hub_is_small_and_idle_subscription_has_no_queue() {
    let shared = size_of::<super::super::hub::SharedHub>() + 2 * size_of::<usize>();
    assert!(size_of::<EventHub>() + shared < 500, "{shared} bytes");
    let session = Session::new();
    let subscription = session.hub.subscribe(1_000_000);
    assert_eq!(subscription.queue().allocated_capacity(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn consumers_on_other_threads_receive_every_durable_event_with_any_capacity() {
    let mut session = Session::new();
    let consumers: Vec<_> = [1, 4, 64, 4_096]
        .into_iter()
        .map(|capacity| {
            let mut subscription = session.hub.subscribe_from(capacity, 0);
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                while let Ok(event) = subscription.recv().await {
                    seqs.extend(event.is_durable().then_some(event.seq));
                }
                (seqs, subscription.end_reason().cloned())
            })
        })
        .collect();
    for n in 0..20_000 {
        session.durable(turn());
        session.live(text(n / 100, "x"));
        if n % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    session.hub.close();
    for consumer in consumers {
        let (seqs, closed) = consumer.await.unwrap();
        assert_eq!(closed, Some(SubscriptionEnd::Ended));
        assert!(seqs.iter().copied().eq(0..20_000));
    }
}

#[tokio::test]
async fn subscription_is_a_stream() {
    let mut session = Session::new();
    let subscription = session.hub.subscribe(8);
    let end = AgentEvent::AgentEnd {
        messages: vec![],
        usage: Default::default(),
        outcome: RunOutcome::Completed,
        rejection: None,
    };
    session.durable(turn());
    session.durable(end);
    session.hub.close();
    let events: Vec<Event> = subscription.collect().await;
    assert_eq!(events, session.journal);
}
