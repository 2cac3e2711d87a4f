//! A stream of items as server-sent events.
//!
//! Invariants: the id of an event is the cursor after it, so only the log has ids; a stream that is complete says `end`,
//! and one without it was cut; a comment every 15 seconds shows that the host is alive. The server takes the next item
//! only when the connection has room, so a slow reader holds nothing but its own stream back.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use lariat_api::{Cursor, ItemStream, Live, LogItem, Problem, ProblemCode, SessionChange};
use lariat_core::cancel::CancellationToken;
use serde::Serialize;

use crate::wire::{HEARTBEAT, name};

/// The name of an event, and its cursor if it has one.
type EventHead<'a> = (&'static str, Option<&'a Cursor>);

pub(super) fn log_event(item: &LogItem) -> EventHead<'_> {
    match item {
        LogItem::Synced { cursor } => (name::SYNCED, Some(cursor)),
        LogItem::Event { cursor, .. } => (name::EVENT, Some(cursor)),
        // A client skips events whose name it does not know.
        _ => ("other", None),
    }
}

pub(super) fn live_event(item: &Live) -> EventHead<'_> {
    match item {
        Live::Resync { .. } => (name::RESYNC, None),
        _ => (name::EVENT, None),
    }
}

pub(super) fn change_event(_: &SessionChange) -> EventHead<'_> {
    (name::CHANGE, None)
}

/// Sends the items until the stream ends, the client goes away, or `stop` is cancelled.
pub(super) fn response<T: Serialize + Send + 'static>(
    items: ItemStream<T>,
    describe: fn(&T) -> EventHead<'_>,
    stop: &CancellationToken,
) -> Response {
    let end = stream::once(async { Event::default().event(name::END).data("{}") });
    let events = items.map(move |item| event(&item, describe)).chain(end).take_until(stop.cancelled());
    let keep_alive = KeepAlive::new().interval(HEARTBEAT);
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(keep_alive).into_response()
}

fn event<T: Serialize>(item: &Result<T, Problem>, describe: fn(&T) -> EventHead<'_>) -> Event {
    let written = match item {
        Ok(item) => {
            let (name, cursor) = describe(item);
            let event = Event::default().event(name);
            match cursor {
                Some(cursor) => event.id(cursor.to_string()),
                None => event,
            }
            .json_data(item)
        }
        Err(problem) => Event::default().event(name::PROBLEM).json_data(problem),
    };
    written.unwrap_or_else(|error| {
        let problem = Problem::new(ProblemCode::Internal, format!("an item cannot be written: {error}"));
        let event = Event::default().event(name::PROBLEM);
        // A problem has only texts, so it can always be written.
        event.json_data(problem).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn silent_stream_sends_a_comment_every_15_seconds() {
        let silent: ItemStream<SessionChange> = Box::pin(stream::pending());
        let mut body = response(silent, change_event, &CancellationToken::new()).into_body();
        let start = Instant::now();
        for comments in 1..=3 {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(frame.as_ref(), b":\n\n");
            assert_eq!(start.elapsed().as_secs(), 15 * comments);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stream_that_is_stopped_does_not_say_that_it_is_complete() {
        let stop = CancellationToken::new();
        let silent: ItemStream<SessionChange> = Box::pin(stream::pending());
        let body = response(silent, change_event, &stop).into_body();
        stop.cancel();
        let ended = tokio::time::timeout(HEARTBEAT / 2, body.collect()).await;
        assert!(ended.unwrap().unwrap().to_bytes().is_empty());
    }
}
