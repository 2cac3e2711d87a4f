use futures_util::stream;
use lariat_api::{Cursor, ProblemCode, StoreGeneration};
use lariat_core::event::{EventRecord, MessageRef};
use serde_json::json;

use super::*;
use crate::screen::test_data::{reply_end, reply_start, result, text_delta, tool_end};

fn durable(seq: u64, event: &Event) -> LogItem {
    let event = Arc::new(EventRecord { seq, ..EventRecord::clone(event) });
    LogItem::Event { cursor: Cursor::new(StoreGeneration::after(Some(event.id)), seq + 1), event }
}

fn live(after: u64, event: &Event) -> Live {
    Live::Event(LiveItem::new(after, Arc::clone(event)))
}

/// What a feed of these items delivers until the log ends: texts of replies, deltas and marks.
async fn delivered(log: Vec<LogItem>, live: Vec<Live>) -> Vec<String> {
    let log = stream::iter(log.into_iter().map(Ok));
    let live = stream::iter(live.into_iter().map(Ok)).chain(stream::pending());
    let mut feed = Feed::of(Box::pin(log), Box::pin(live));
    let mut delivered = Vec::new();
    loop {
        delivered.push(match feed.next().await.unwrap() {
            FeedItem::Event(event) => match &event.event {
                AgentEvent::MessageEnd { .. } => format!("end at {}", event.seq),
                AgentEvent::MessageStart { .. } => "start".to_owned(),
                other => other.text_delta().unwrap_or_default().to_owned(),
            },
            FeedItem::Synced => "synced".to_owned(),
            FeedItem::Lost(problem) => problem.message,
            FeedItem::Ended => return delivered,
        });
    }
}

#[tokio::test]
async fn live_events_wait_for_the_durable_ones_before_them() {
    let (start, hello, end) = (reply_start(0), text_delta(1, "hello"), reply_end(2, "hello"));
    let log = vec![durable(0, &end), durable(1, &end)];
    let order = delivered(log, vec![live(1, &start), live(1, &hello)]).await;
    assert_eq!(order, ["end at 0", "start", "hello", "end at 1"]);
}

#[tokio::test]
async fn text_that_a_durable_event_replaced_is_dropped() {
    let (hello, end) = (text_delta(1, "hello"), reply_end(2, "hello"));
    let mut feed = Feed::of(
        Box::pin(stream::iter([Ok(durable(0, &end))])),
        Box::pin(stream::iter([Ok(live(0, &reply_start(0)))])),
    );
    feed.next = 1;
    feed.held.push_back(LiveItem::new(0, hello));
    assert!(matches!(feed.next().await, Ok(FeedItem::Event(event)) if event.is_durable()));
}

#[tokio::test]
async fn reply_with_a_gap_is_not_streamed_on_and_the_next_one_is() {
    let (start, one, two, end) =
        (reply_start(0), text_delta(1, "one"), text_delta(2, "two"), reply_end(3, "one lost two"));
    let lost = Live::Resync { after: 0 };
    let order = delivered(
        vec![durable(0, &end)],
        vec![live(0, &start), live(0, &one), lost, live(0, &two), live(1, &start), live(1, &two)],
    );
    let order = order.await;
    assert_eq!(order.iter().filter(|text| *text == "two").count(), 1, "{order:?}");
    assert_eq!(order.last().map(String::as_str), Some("two"), "{order:?}");
}

#[tokio::test]
async fn end_of_a_tool_call_has_its_output() {
    let result = result(2, "c1", "bash", "its output", false);
    let AgentEvent::MessageEnd { message } = &result.event else { panic!("{result:?}") };
    let mut end = EventRecord::clone(&tool_end(1, "c1", "bash", Ok(("unused", json!({})))));
    if let AgentEvent::ToolExecutionEnd { message: reference, .. } = &mut end.event {
        *reference = MessageRef::unresolved(message.id());
    }
    let log = vec![Ok(durable(0, &Arc::new(end))), Ok(durable(1, &result))];
    let mut feed = Feed::of(Box::pin(stream::iter(log)), Box::pin(stream::pending()));
    let Ok(FeedItem::Event(end)) = feed.next().await else { panic!("the end comes first") };
    let AgentEvent::ToolExecutionEnd { message, .. } = &end.event else { panic!("{end:?}") };
    assert_eq!(message.get().map(|message| message.as_llm().unwrap().text()).as_deref(), Some("its output"));
    assert!(matches!(feed.next().await, Ok(FeedItem::Event(event)) if event.seq == 1));
}

#[tokio::test]
async fn lost_run_is_reported_after_the_events_that_are_there() {
    let end = reply_end(0, "hello");
    let problem = Problem::new(ProblemCode::Unavailable, "the disk is full");
    let log = stream::iter([Ok(durable(0, &end))]).chain(stream::pending());
    let mut feed = Feed::of(
        Box::pin(log),
        Box::pin(stream::iter([Ok(Live::RunLost { problem: problem.clone() })]).chain(stream::pending())),
    );
    assert!(matches!(feed.next().await, Ok(FeedItem::Event(_))));
    assert!(matches!(feed.next().await, Ok(FeedItem::Lost(lost)) if lost == problem));
}
