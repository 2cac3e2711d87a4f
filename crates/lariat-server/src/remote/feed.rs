//! Reads the events of a stream, and connects again where it was cut.
//!
//! Invariants: a stream is complete only if the host said so; a feed asks again from the position after the last item it
//! handed out, so no item is lost and none comes twice; attempts without an item or a sign of life between them are
//! bounded.

use futures_util::stream;
use lariat_api::{Cursor, ItemStream, Live, LogItem, LogRequest, Problem, ProblemCode, SessionChange};
use lariat_core::id::SessionId;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::exchange::{Exchange, ExchangeError};
use super::retry::Attempts;
use super::{OutgoingRequest, Remote, unreadable};
use crate::sse::{Decoder, SseFrame};
use crate::wire::{self, name};

/// A kind of stream.
pub(super) trait StreamKind: Send + 'static {
    /// What it carries.
    type Item: DeserializeOwned + Send + 'static;

    /// Returns the path and the query from which to continue.
    fn path(&self) -> String;

    /// Notes an item that arrived. Returns it, unless the reader has had it.
    fn take(&mut self, item: Self::Item) -> Option<Self::Item>;

    /// Prepares to continue after a lost connection. Returns what the reader must know; an error if it must begin again.
    fn resume(&mut self) -> Result<Option<Self::Item>, ()>;
}

/// The durable log of a session.
pub(super) struct LogFeed {
    session_id: SessionId,
    request: LogRequest,
    is_synced: bool,
}

impl LogFeed {
    pub(super) const fn new(session_id: SessionId, request: LogRequest) -> Self {
        Self { session_id, request, is_synced: false }
    }

    fn advance(&mut self, cursor: &Cursor) {
        (self.request.after, self.request.last) = (Some(cursor.clone()), None);
    }
}

impl StreamKind for LogFeed {
    type Item = LogItem;

    fn path(&self) -> String {
        wire::log_path(self.session_id.as_str(), &self.request)
    }

    fn take(&mut self, item: LogItem) -> Option<LogItem> {
        match &item {
            LogItem::Synced { cursor } => {
                self.advance(cursor);
                // The host says it once per connection, the reader expects it once.
                if std::mem::replace(&mut self.is_synced, true) { None } else { Some(item) }
            }
            LogItem::Event { cursor, .. } => {
                self.advance(cursor);
                Some(item)
            }
            _ => Some(item),
        }
    }

    fn resume(&mut self) -> Result<Option<LogItem>, ()> {
        Ok(None)
    }
}

/// The live events of a session.
pub(super) struct LiveFeed {
    session_id: SessionId,
    after: u64,
}

impl LiveFeed {
    pub(super) const fn new(session_id: SessionId) -> Self {
        Self { session_id, after: 0 }
    }
}

impl StreamKind for LiveFeed {
    type Item = Live;

    fn path(&self) -> String {
        wire::session_path(self.session_id.as_str(), &["live"])
    }

    fn take(&mut self, item: Live) -> Option<Live> {
        match &item {
            Live::Event(event) => self.after = event.after,
            Live::Resync { after } => self.after = *after,
            _ => {}
        }
        Some(item)
    }

    fn resume(&mut self) -> Result<Option<Live>, ()> {
        Ok(Some(Live::Resync { after: self.after }))
    }
}

/// The changes of all sessions.
pub(super) struct ChangesFeed;

impl StreamKind for ChangesFeed {
    type Item = SessionChange;

    fn path(&self) -> String {
        "/v1/changes".to_owned()
    }

    fn take(&mut self, item: SessionChange) -> Option<SessionChange> {
        Some(item)
    }

    /// Changes have no position, so the reader must list the sessions again.
    fn resume(&mut self) -> Result<Option<SessionChange>, ()> {
        Err(())
    }
}

/// Opens a stream. The result is what the host says to the first request.
pub(super) async fn open<F: StreamKind>(remote: Remote, feed: F) -> Result<ItemStream<F::Item>, Problem> {
    let exchange = remote.open(&OutgoingRequest::get(feed.path())).await?;
    let attempts = remote.retry.attempts();
    let connection = Some((exchange, Decoder::default()));
    let reader = StreamReader { remote, feed, connection, attempts, is_complete: false };
    Ok(Box::pin(stream::unfold(reader, |mut reader| async move {
        let item = reader.next().await?;
        Some((item, reader))
    })))
}

struct StreamReader<F: StreamKind> {
    remote: Remote,
    feed: F,
    /// `None` after the connection was lost.
    connection: Option<(Exchange, Decoder)>,
    attempts: Attempts,
    is_complete: bool,
}

impl<F: StreamKind> StreamReader<F> {
    /// Returns the next item; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Result<F::Item, Problem>> {
        while !self.is_complete {
            match self.frame().await {
                Ok(Some(SseFrame::Event { name, data })) => {
                    self.attempts = self.remote.retry.attempts();
                    if let Some(item) = self.read(&name, &data) {
                        return Some(item);
                    }
                }
                // A host that sends comments is alive.
                Ok(Some(SseFrame::Comment)) => self.attempts = self.remote.retry.attempts(),
                Ok(None) => match self.resume().await {
                    Ok(None) => {}
                    Ok(Some(item)) => return Some(Ok(item)),
                    Err(problem) => return Some(Err(self.fail(problem))),
                },
                Err(problem) => return Some(Err(self.fail(problem))),
            }
        }
        None
    }

    fn fail(&mut self, problem: Problem) -> Problem {
        self.is_complete = true;
        problem
    }

    /// Reads an event. Skips those with a name of a newer version.
    fn read(&mut self, name: &str, data: &str) -> Option<Result<F::Item, Problem>> {
        match name {
            name::END => {
                self.is_complete = true;
                None
            }
            name::PROBLEM => Some(Err(match serde_json::from_str(data) {
                Ok(problem) => problem,
                Err(error) => self.fail(unreadable(&error)),
            })),
            name::EVENT | name::SYNCED | name::RESYNC | name::CHANGE => match serde_json::from_str(data) {
                Ok(item) => self.feed.take(item).map(Ok),
                Err(error) => Some(Err(self.fail(unreadable(&error)))),
            },
            _ => None,
        }
    }

    /// Returns the next event or comment; `None` if the connection was lost.
    async fn frame(&mut self) -> Result<Option<SseFrame>, Problem> {
        let Some((exchange, decoder)) = &mut self.connection else {
            return Ok(None);
        };
        loop {
            if let Some(frame) = decoder.next() {
                return Ok(Some(frame));
            }
            // A host sends comments when it has no events, so a silent one is stopped or gone.
            let piece = timeout(self.remote.patience.silence, exchange.piece()).await;
            let Some(bytes) = piece.ok().flatten() else {
                self.connection = None;
                return Ok(None);
            };
            let too_long = |_| Problem::new(ProblemCode::Internal, "the host sent an event that is too long");
            decoder.push(&bytes).map_err(too_long)?;
        }
    }

    /// Connects again and continues where the stream was cut.
    async fn resume(&mut self) -> Result<Option<F::Item>, Problem> {
        let lost = || {
            Problem::new(ProblemCode::Unavailable, "the connection to the host was lost")
                .with_hint("read the state again, then follow again")
        };
        let item = self.feed.resume().map_err(|()| lost())?;
        let mut error = ExchangeError::Broken(lost());
        loop {
            self.attempts.wait_after(error).await?;
            error = match self.remote.open_once(&OutgoingRequest::get(self.feed.path())).await {
                Ok(exchange) => {
                    self.connection = Some((exchange, Decoder::default()));
                    return Ok(item);
                }
                // A host that has just started may not be ready for this session.
                Err(ExchangeError::Refused(problem)) if problem.code.is_retryable() => {
                    ExchangeError::Broken(problem)
                }
                Err(error) => error,
            };
        }
    }
}
