//! Re-reads durable events that a subscription did not receive live.
//!
//! Holds the current page, the pending read, and the number of retries. Also reads the messages that re-read
//! events refer to, backwards to the beginning of their loop. The queue, not this module, knows the position.
//! Invariant: events leave here one by one with consecutive `seq`, or reading fails.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::store::{SessionStore, StoreError};

use super::history::MessageHistory;

/// Number of events to read at a time. A page of shared pointers is 2 KiB; a query per 256 events is cheap.
pub(super) const PAGE: usize = 256;

/// Maximum number of retries of a failing read before the subscription ends. There is no clock here, so this
/// covers a brief failure, not an outage: after an outage, a consumer subscribes again from its position.
pub(super) const READ_RETRIES: u32 = 8;

/// Maximum number of pages to search for the beginning of a loop. References from further back stay
/// unresolved.
const MAX_SEARCH_PAGES: u32 = 16;

pub(super) struct JournalReplay {
    store: Arc<dyn SessionStore>,
    session_id: SessionId,
    page: VecDeque<Event>,
    reading: Option<BoxFuture<'static, Result<Vec<Event>, StoreError>>>,
    failures: u32,
    search: Option<LoopSearch>,
}

/// The search, backwards, for what an open loop recorded before the current event.
struct LoopSearch {
    loop_id: LoopId,
    before: u64,
    pages_left: u32,
}

impl JournalReplay {
    pub(super) fn new(store: Arc<dyn SessionStore>, session_id: SessionId) -> Self {
        Self { store, session_id, page: VecDeque::new(), reading: None, failures: 0, search: None }
    }

    /// Drops the current page and read: the subscription is live.
    pub(super) fn go_live(&mut self) {
        if self.reading.is_some() || !self.page.is_empty() {
            self.page = VecDeque::new();
            self.reading = None;
            self.search = None;
        }
        self.failures = 0;
    }

    /// Polls for the event at `from`; `None` if the journal ends there, unless `until` says otherwise.
    pub(super) fn poll_event(
        &mut self,
        history: &mut MessageHistory,
        from: u64,
        until: Option<u64>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Event>, StoreError>> {
        loop {
            if self.search.is_some() {
                ready!(self.poll_search(history, context))?;
            }
            if let Some(event) = self.page.front() {
                match history.missing_loop(event) {
                    Some(loop_id) => {
                        let (loop_id, before) = (loop_id.clone(), event.seq);
                        self.search = Some(LoopSearch { loop_id, before, pages_left: MAX_SEARCH_PAGES });
                        continue;
                    }
                    None => {
                        return Poll::Ready(Ok(self.page.pop_front().map(|event| history.resolve(&event))));
                    }
                }
            }
            let page = ready!(self.poll_read(from, PAGE, context))?;
            if page.is_empty() {
                let Some(until) = until else { return Poll::Ready(Ok(None)) };
                // Published events were acknowledged, so they exist; a replica may lag behind.
                let short = format!("the journal ends at {from}, but {until} events were acknowledged");
                ready!(self.fail(StoreError::Unavailable(short), context))?;
            }
            self.page = page.into();
        }
    }

    /// Reads backwards until the beginning of the loop or of the journal, or the limit.
    fn poll_search(
        &mut self,
        history: &mut MessageHistory,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), StoreError>> {
        while let Some(LoopSearch { before, pages_left, .. }) = self.search {
            let from = before.saturating_sub(PAGE as u64);
            let page = if from < before && pages_left > 0 {
                // At most a page, so the cast is lossless.
                ready!(self.poll_read(from, (before - from) as usize, context))?
            } else {
                Vec::new()
            };
            let Some(search) = &mut self.search else { break };
            let mut found = page.is_empty();
            for event in &page {
                found |= history.add_earlier(&search.loop_id, event);
            }
            search.before = from;
            search.pages_left = pages_left.saturating_sub(1);
            if found && let Some(search) = self.search.take() {
                history.complete(search.loop_id);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        from: u64,
        limit: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Vec<Event>, StoreError>> {
        let reading = self.reading.get_or_insert_with(|| {
            let (store, session_id) = (Arc::clone(&self.store), self.session_id.clone());
            Box::pin(async move { store.read(&session_id, from, limit).await })
        });
        let result = ready!(reading.as_mut().poll(context));
        self.reading = None;
        match result {
            Ok(page) if page.iter().zip(from..).all(|(event, seq)| event.seq == seq) => {
                if !page.is_empty() {
                    self.failures = 0;
                }
                Poll::Ready(Ok(page))
            }
            Ok(_) => {
                let unordered = format!("events from {from} on are not in sequence");
                Poll::Ready(Err(StoreError::Damaged(unordered)))
            }
            // A session without events is an empty journal, as for `SessionStore::head`.
            Err(StoreError::NotFound(_)) => Poll::Ready(Ok(Vec::new())),
            Err(error) => self.fail(error, context),
        }
    }

    /// Yields before the next retry; returns the error after too many.
    fn fail<T>(&mut self, error: StoreError, context: &mut Context<'_>) -> Poll<Result<T, StoreError>> {
        if !error.is_retryable() || self.failures >= READ_RETRIES {
            return Poll::Ready(Err(error));
        }
        self.failures += 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
