//! Notifies waiters that a journal grew: directly in this process, and with NOTIFY on other nodes.
//!
//! Notifications are sent after the commit and outside its transaction, because the lock that NOTIFY takes would serialize
//! all writers. They are gathered for a few milliseconds. A node that lost its listening connection checks all watched
//! sessions after it reconnects.
//! Invariant: a waiter registers before it reads, so it misses no notification. The slow poll covers servers that lose
//! notifications (behind a pooler).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::connection::{ConnectionPool, failed};
use super::session_row::key;

/// How long to gather notifications before sending them together.
const GATHER_WINDOW: Duration = Duration::from_millis(5);

/// How often a waiter polls without a notification.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Delay before reconnecting.
const RETRY_DELAY: Duration = Duration::from_millis(500);

const LISTEN: &str = "LISTEN lariat";

/// NOTIFY starts a transaction; it does not need a sync.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('lariat', text) FROM unnest($1::text[]) AS text";

/// The name of a session in notifications.
type SessionKey = String;

/// The waiters of this process, and the notifications to send to other nodes.
#[derive(Default)]
pub(super) struct Notifier {
    /// By session: a lower bound of its number of events. Sent again to make waiters check.
    waiting: Mutex<HashMap<SessionKey, watch::Sender<u64>>>,
    unsent: Mutex<HashMap<SessionKey, u64>>,
    signal: Notify,
    closed: AtomicBool,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Notifier {
    /// Reports that a journal grew or was deleted.
    pub(super) fn journal_grew(&self, session_id: &SessionId, head: u64) {
        let name = name(session_id);
        self.notify_local(&name, head);
        self.queue([(name, head)]);
    }

    fn queue(&self, news: impl IntoIterator<Item = (SessionKey, u64)>) {
        let mut unsent = lock_unpoisoned(&self.unsent);
        for (name, head) in news {
            let known = unsent.entry(name).or_default();
            *known = head.max(*known);
        }
        drop(unsent);
        self.signal.notify_one();
    }

    /// Registers a waiter. Must happen before the waiter reads the journal.
    pub(super) fn waiter(self: &Arc<Self>, pool: &Arc<ConnectionPool>, session_id: &SessionId) -> Waiter {
        let name = name(session_id);
        let news = lock_unpoisoned(&self.waiting).entry(name.clone()).or_default().subscribe();
        lock_unpoisoned(&self.listener)
            .get_or_insert_with(|| tokio::spawn(listen(Arc::clone(self), Arc::clone(pool))));
        Waiter { notifier: Arc::clone(self), name, news }
    }

    /// Sends notifications to the other nodes until [`Notifier::close`].
    pub(super) async fn send(self: Arc<Self>, pool: Arc<ConnectionPool>) {
        loop {
            self.signal.notified().await;
            let unsent = std::mem::take(&mut *lock_unpoisoned(&self.unsent));
            let texts: Vec<String> = unsent.iter().map(|(name, head)| format!("{name} {head}")).collect();
            let sent = texts.is_empty() || notify(&pool, &texts).await.is_ok();
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            if sent {
                tokio::time::sleep(GATHER_WINDOW).await;
            } else {
                // Keep them for later. Waiters on other nodes poll meanwhile.
                self.queue(unsent);
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }

    /// Stops listening. Pending notifications are sent once more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.signal.notify_one();
        if let Some(listener) = lock_unpoisoned(&self.listener).take() {
            listener.abort();
        }
    }

    fn notify_local(&self, name: &str, head: u64) {
        if let Some(news) = lock_unpoisoned(&self.waiting).get(name) {
            news.send_modify(|known| *known = head.max(*known));
        }
    }

    fn wake_all(&self) {
        lock_unpoisoned(&self.waiting).values().for_each(|news| news.send_modify(|_| {}));
    }
}

async fn notify(pool: &ConnectionPool, texts: &[String]) -> Result<(), StoreError> {
    super::connection::query(&pool.client().await?, NOTIFY, &[&texts]).await.map(drop)
}

async fn listen(notifier: Arc<Notifier>, pool: Arc<ConnectionPool>) {
    loop {
        let _ = listen_until_lost(&notifier, &pool).await;
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Listens on a new connection until it is lost.
async fn listen_until_lost(notifier: &Notifier, pool: &ConnectionPool) -> Result<(), StoreError> {
    let (client, mut messages) = pool.connect_direct().await?;
    let mut listening = std::pin::pin!(client.batch_execute(LISTEN));
    let mut begun = false;
    loop {
        // The connection makes progress only while its messages are polled.
        tokio::select! {
            result = &mut listening, if !begun => {
                result.map_err(failed)?;
                begun = true;
                notifier.wake_all();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    if let Some((name, head)) = notification.payload().split_once(' ') {
                        notifier.notify_local(name, head.parse().unwrap_or_default());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(failed(error)),
                None => return Ok(()),
            },
        }
    }
}

/// Waits for a journal to grow.
pub(super) struct Waiter {
    notifier: Arc<Notifier>,
    name: SessionKey,
    news: watch::Receiver<u64>,
}

impl Waiter {
    /// Waits for a notification or the next poll. Returns a lower bound of the number of events.
    pub(super) async fn wait(&mut self) -> u64 {
        let _ = tokio::time::timeout(POLL_INTERVAL, self.news.changed()).await;
        *self.news.borrow_and_update()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = lock_unpoisoned(&self.notifier.waiting);
        // The count still includes this receiver.
        if waiting.get(&self.name).is_some_and(|news| news.receiver_count() <= 1) {
            waiting.remove(&self.name);
        }
    }
}

fn name(session_id: &SessionId) -> SessionKey {
    key(session_id.as_str()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
