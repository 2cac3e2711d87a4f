//! The durable log and the live channel of a session, as streams.
//!
//! Invariant: the log reads the store, and nothing else. A wake-up only says that there may be more to read.

use std::sync::Arc;

use futures_util::stream;
use lariat_api::{Cursor, ItemStream, Live, LogItem, LogRequest, Problem, ProblemCode, StoreGeneration};
use lariat_core::event::Event;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::problems;
use crate::session::{Attachment, SessionEntry};

/// Events per read.
const PAGE: usize = 256;

struct LogReader {
    entry: Arc<SessionEntry>,
    /// Counts the client as attached while it follows.
    _attachment: Option<Attachment>,
    page: std::vec::IntoIter<Event>,
    cursor: Cursor,
    /// The number of events when the request arrived, until that is reported.
    watermark: Option<u64>,
    follow: bool,
}

/// Reads the log of a session.
pub(crate) async fn read(
    entry: Arc<SessionEntry>,
    request: LogRequest,
) -> Result<ItemStream<LogItem>, Problem> {
    request.check()?;
    let head = entry.store.head(&entry.session_id).await;
    let head = head.map_err(|error| problems::from_store(&error))?;
    let cursor = match (request.after, request.last) {
        (Some(cursor), _) => {
            check(&entry, &cursor, head).await?;
            cursor
        }
        (None, Some(last)) => cursor_at(&entry, head.saturating_sub(last)).await?,
        (None, None) => cursor_at(&entry, 0).await?,
    };
    let reader = LogReader {
        _attachment: request.follow.then(|| entry.attach()),
        entry,
        page: Vec::new().into_iter(),
        cursor,
        watermark: Some(head),
        follow: request.follow,
    };
    Ok(Box::pin(stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(item)) => Some((Ok(item), Some(reader))),
            Ok(None) => None,
            Err(problem) => Some((Err(problem), None)),
        }
    })))
}

/// Returns the cursor after the first `next` events.
async fn cursor_at(entry: &SessionEntry, next: u64) -> Result<Cursor, Problem> {
    let Some(last) = next.checked_sub(1) else { return Ok(Cursor::new(StoreGeneration::after(None), 0)) };
    let read = entry.store.read(&entry.session_id, last, 1).await;
    let events = read.map_err(|error| problems::from_store(&error))?;
    let last = events.first().map(|event| event.id);
    Ok(Cursor::new(StoreGeneration::after(last), next))
}

/// Checks that the store has the event that the client read last.
async fn check(entry: &SessionEntry, cursor: &Cursor, head: u64) -> Result<(), Problem> {
    if cursor.next() <= head && cursor_at(entry, cursor.next()).await? == *cursor {
        return Ok(());
    }
    Err(Problem::new(
        ProblemCode::CursorGone,
        "the history of the session is not the one that the cursor belongs to",
    )
    .with_hint("read the view of the session and continue from its cursor"))
}

impl LogReader {
    async fn next(&mut self) -> Result<Option<LogItem>, Problem> {
        loop {
            if self.watermark.is_some_and(|watermark| self.cursor.next() >= watermark) {
                self.watermark = None;
                return Ok(Some(LogItem::Synced { cursor: self.cursor.clone() }));
            }
            if self.watermark.is_none() && !self.follow {
                return Ok(None);
            }
            if let Some(event) = self.page.next() {
                self.cursor = Cursor::new(StoreGeneration::after(Some(event.id)), event.seq + 1);
                return Ok(Some(LogItem::Event { cursor: self.cursor.clone(), event }));
            }
            let (store, id) = (&self.entry.store, &self.entry.session_id);
            let page = match store.read(id, self.cursor.next(), PAGE).await {
                Ok(page) if page.is_empty() => {
                    store.wait_for_growth(id, self.cursor.next()).await.map(|_| page)
                }
                page => page,
            };
            self.page = page.map_err(|error| problems::from_store(&error))?.into_iter();
        }
    }
}

/// Follows the live items of a session.
pub(crate) fn live(entry: &Arc<SessionEntry>) -> ItemStream<Live> {
    let state = (Arc::clone(entry), entry.attach(), entry.subscribe_live());
    Box::pin(stream::unfold(state, |(entry, attachment, mut items)| async move {
        let item = next_live(&entry, &mut items).await?;
        Some((item, (entry, attachment, items)))
    }))
}

async fn next_live(
    entry: &SessionEntry,
    items: &mut broadcast::Receiver<Live>,
) -> Option<Result<Live, Problem>> {
    match items.recv().await {
        Ok(item) => Some(Ok(item)),
        Err(RecvError::Closed) => None,
        Err(RecvError::Lagged(_)) => {
            let head = entry.store.head(&entry.session_id).await;
            Some(head.map(|after| Live::Resync { after }).map_err(|error| problems::from_store(&error)))
        }
    }
}
