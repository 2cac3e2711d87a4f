//! Durable and live items of a session in one order.
//!
//! A task reads both streams of a session and puts live items behind the durable ones that they follow. When a stream
//! is lost, it connects again from the last cursor, waiting longer after each failure. The channel to the client is
//! bounded: while it is full, the task reads nothing, and the host drops live items (see [`lariat_api::Live::Resync`]).
//! The feed begins with the newest events, so that the end of a long session is shown at once; [`read_newest`] reads more
//! of them for the pager. Invariant: every durable item after the first is delivered once and in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lariat_api::{
    Cursor, ItemStream, Live, LiveItem, LogItem, LogRequest, Problem, ProblemCode, SessionView, Sessions,
};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Maximum number of items that wait for the client.
const MAX_WAITING: usize = 1_024;
/// Maximum number of live items that wait for durable ones. The oldest is dropped when there are more.
const MAX_HELD: usize = 4_096;
/// Events that are shown of a session that was opened.
pub const SHOWN: u64 = 2_000;
/// The wait after the first failure; it doubles up to [`MAX_DELAY`].
const FIRST_DELAY: Duration = Duration::from_millis(250);
const MAX_DELAY: Duration = Duration::from_secs(15);

/// What the feed delivers.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedItem {
    /// An event of the journal.
    Durable(Event),
    /// A live event: what it says is true until the next durable one.
    Live(Event),
    /// Live items were missed.
    Resync,
    /// All events that existed at the start were delivered.
    Synced,
    /// Earlier events are not delivered.
    Skipped {
        /// How many there are.
        events: u64,
    },
    /// The connection is lost; the feed connects again.
    Lost {
        /// The error that ended the connection.
        message: String,
        /// When the feed tries again.
        retry_in: Duration,
    },
    /// The connection is back.
    Restored,
    /// The session cannot be followed any more.
    Ended(Problem),
}

/// The items of a session. Dropping it detaches.
#[derive(Debug)]
pub struct Feed {
    items: mpsc::Receiver<FeedItem>,
    task: JoinHandle<()>,
}

impl Feed {
    /// Follows a session whose view was read before.
    pub fn follow(sessions: Arc<dyn Sessions>, view: &SessionView) -> Self {
        let (sender, items) = mpsc::channel(MAX_WAITING);
        let mut reader = Reader {
            sessions,
            session_id: view.session_id.clone(),
            after: None,
            order: Order::default(),
            sender,
        };
        let task = tokio::spawn(async move { reader.run().await });
        Self { items, task }
    }

    /// Waits for the next item. Can be dropped and called again.
    pub async fn next(&mut self) -> Option<FeedItem> {
        self.items.recv().await
    }

    /// Returns the next item if it is there already.
    pub fn ready(&mut self) -> Option<FeedItem> {
        self.items.try_recv().ok()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Puts live items behind the durable ones that they follow.
#[derive(Debug, Default)]
struct Order {
    /// The number of durable events that were delivered.
    next: u64,
    /// Live items that follow durable ones that have not arrived yet.
    held: VecDeque<LiveItem>,
}

impl Order {
    fn hold(&mut self, item: LiveItem) {
        if self.held.len() >= MAX_HELD {
            self.held.pop_front();
        }
        self.held.push_back(item);
    }

    /// The next live item whose time has come. What a durable event has replaced since is left out.
    fn due(&mut self) -> Option<Event> {
        while let Some(item) = self.held.pop_front_if(|item| item.after <= self.next) {
            if item.after == self.next {
                return Some(item.event);
            }
        }
        None
    }
}

struct Reader {
    sessions: Arc<dyn Sessions>,
    session_id: SessionId,
    /// The position after the newest event that was delivered; `None` before the first.
    after: Option<Cursor>,
    order: Order,
    sender: mpsc::Sender<FeedItem>,
}

/// The client is gone.
struct ClientGone;

impl Reader {
    async fn run(&mut self) {
        let mut failures = 0;
        loop {
            let before = self.order.next;
            let Ok(problem) = self.connect(failures > 0).await else { return };
            if self.order.next > before {
                failures = 0;
            }
            if problem.code == ProblemCode::CursorGone {
                // The store was replaced: what this client showed stays, and the feed continues with new events.
                if let Ok(view) = self.sessions.view(&self.session_id).await {
                    self.after = Some(view.cursor);
                }
            } else if is_final(&problem.code) {
                let _ = self.deliver(FeedItem::Ended(problem)).await;
                return;
            }
            let retry_in = delay(failures);
            failures += 1;
            if self.deliver(FeedItem::Lost { message: problem.message, retry_in }).await.is_err() {
                return;
            }
            tokio::time::sleep(retry_in).await;
        }
    }

    /// Reads until the connection is lost, and returns why.
    async fn connect(&mut self, is_again: bool) -> Result<Problem, ClientGone> {
        let request = match &self.after {
            Some(after) => LogRequest::follow(after.clone()),
            None => LogRequest::follow_last(SHOWN),
        };
        // The live stream first: an item between both is then held back instead of missed.
        let live = match self.sessions.live(&self.session_id).await {
            Ok(live) => live,
            Err(problem) => return Ok(problem),
        };
        let log = match self.sessions.log(&self.session_id, request).await {
            Ok(log) => log,
            Err(problem) => return Ok(problem),
        };
        if is_again {
            self.order.held.clear();
            self.deliver(FeedItem::Resync).await?;
            self.deliver(FeedItem::Restored).await?;
        }
        self.read(log, live).await
    }

    async fn read(
        &mut self,
        mut log: ItemStream<LogItem>,
        mut live: ItemStream<Live>,
    ) -> Result<Problem, ClientGone> {
        loop {
            while let Some(event) = self.order.due() {
                self.deliver(FeedItem::Live(event)).await?;
            }
            tokio::select! {
                biased;
                item = live.next() => match item {
                    Some(Ok(Live::Event(item))) => self.order.hold(item),
                    Some(Ok(Live::Resync { .. })) => {
                        self.order.held.clear();
                        self.deliver(FeedItem::Resync).await?;
                    }
                    Some(Ok(_)) => {}
                    // The log alone still has everything that matters.
                    Some(Err(_)) | None => live = Box::pin(futures_util::stream::pending()),
                },
                item = log.next() => match item {
                    None => {
                        return Ok(Problem::new(ProblemCode::Unavailable, "the host closed the connection"));
                    }
                    Some(Err(problem)) => return Ok(problem),
                    Some(Ok(LogItem::Event { cursor, event })) => {
                        self.order.next = event.seq + 1;
                        if self.after.replace(cursor).is_none() && event.seq > 0 {
                            self.deliver(FeedItem::Skipped { events: event.seq }).await?;
                        }
                        self.deliver(FeedItem::Durable(event)).await?;
                    }
                    Some(Ok(LogItem::Synced { cursor })) => {
                        self.order.next = cursor.next();
                        self.after = Some(cursor);
                        self.deliver(FeedItem::Synced).await?;
                    }
                    Some(Ok(_)) => {}
                },
            }
        }
    }

    async fn deliver(&self, item: FeedItem) -> Result<(), ClientGone> {
        self.sender.send(item).await.map_err(|_| ClientGone)
    }
}

/// Reads at most this many of the newest events of a session, oldest first.
///
/// # Errors
/// If the host does not respond or the session does not exist.
pub async fn read_newest(
    sessions: &dyn Sessions,
    session_id: &SessionId,
    most: u64,
) -> Result<Vec<Event>, Problem> {
    let mut request = LogRequest::follow_last(most);
    request.follow = false;
    let mut log = sessions.log(session_id, request).await?;
    let mut events = Vec::new();
    while let Some(item) = log.next().await {
        match item? {
            LogItem::Event { event, .. } => events.push(event),
            LogItem::Synced { .. } => break,
            _ => {}
        }
    }
    Ok(events)
}

fn delay(failures: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(MAX_DELAY)
}

/// Whether another attempt cannot help.
const fn is_final(code: &ProblemCode) -> bool {
    matches!(
        code,
        ProblemCode::NotFound
            | ProblemCode::Forbidden
            | ProblemCode::Invalid
            | ProblemCode::Unsupported
            | ProblemCode::Damaged
    )
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
