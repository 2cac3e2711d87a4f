use std::sync::Arc;

use lariat_api::LiveItem;
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::EventId;
use lariat_core::time::Timestamp;

use super::{MAX_DELAY, MAX_HELD, Order, delay};

fn event(seq: u64) -> Event {
    Arc::new(EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::default(),
        timestamp: Timestamp::from_millis(0),
        loop_id: None,
        event: AgentEvent::AbortRequested,
    })
}

#[test]
fn holds_a_live_item_until_its_durable_events_arrived() {
    let mut order = Order::default();
    order.hold(LiveItem::new(1, event(1)));
    order.hold(LiveItem::new(2, event(2)));
    assert_eq!(order.due(), None);
    order.next = 1;
    assert_eq!(order.due(), Some(event(1)));
    assert_eq!(order.due(), None);
    order.next = 2;
    assert_eq!(order.due(), Some(event(2)));
}

#[test]
fn drops_a_live_item_that_a_durable_event_replaced() {
    let mut order = Order::default();
    order.hold(LiveItem::new(1, event(1)));
    order.hold(LiveItem::new(3, event(3)));
    order.next = 3;
    assert_eq!(order.due(), Some(event(3)));
}

#[test]
fn holds_a_bounded_number_of_live_items() {
    let mut order = Order::default();
    for _ in 0..MAX_HELD + 10 {
        order.hold(LiveItem::new(9, event(9)));
    }
    assert_eq!(order.held.len(), MAX_HELD);
}

#[test]
fn waits_longer_after_each_failure() {
    assert!(delay(0) < delay(1) && delay(1) < delay(2));
    assert_eq!(delay(40), MAX_DELAY);
}
