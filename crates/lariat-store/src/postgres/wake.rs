//! Telling those who wait that a journal grew: those in this process at once, those on other nodes by NOTIFY.
//!
//! Owns who waits for what, the connection that listens, and the task that notifies. Notifications are sent after the
//! commit and outside of its transaction (the lock that NOTIFY takes would queue all writers), gathered for a few
//! milliseconds. A node whose listening connection was lost looks at everything it waits for when it has a new one.
//! Invariant: a waiter is registered before it looks, so no wake-up is lost; the slow look is for servers that lose
//! notifications (a pooler between).

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

use super::link::{Link, failed};
use super::standing::key;

/// Sent to the other nodes together.
const GATHER: Duration = Duration::from_millis(5);

/// How often a waiter looks without being told.
pub(super) const SLOW_LOOK: Duration = Duration::from_secs(30);

/// Before a lost connection is made again.
const PAUSE: Duration = Duration::from_millis(500);

const LISTEN: &str = "LISTEN lariat";

/// NOTIFY makes a transaction that would be synced, for nothing.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('lariat', text) FROM unnest($1::text[]) AS text";

/// A session as notifications name it.
type Name = String;

/// Who waits, and what is to be told to others.
#[derive(Default)]
pub(super) struct Wake {
    /// By session: a number of events that it has at least. Sent again to make waiters look.
    waiting: Mutex<HashMap<Name, watch::Sender<u64>>>,
    unsent: Mutex<HashMap<Name, u64>>,
    signal: Notify,
    closed: AtomicBool,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Wake {
    /// A journal grew, or was deleted: all who wait for it should know.
    pub(super) fn grew(&self, session_id: &SessionId, head: u64) {
        let name = name(session_id);
        self.tell(&name, head);
        self.note([(name, head)]);
    }

    fn note(&self, news: impl IntoIterator<Item = (Name, u64)>) {
        let mut unsent = locked(&self.unsent);
        for (name, head) in news {
            let known = unsent.entry(name).or_default();
            *known = head.max(*known);
        }
        drop(unsent);
        self.signal.notify_one();
    }

    /// Registers a waiter. Must be done before it looks.
    pub(super) fn waiter(self: &Arc<Self>, link: &Arc<Link>, session_id: &SessionId) -> Waiter {
        let name = name(session_id);
        let news = locked(&self.waiting).entry(name.clone()).or_default().subscribe();
        locked(&self.listener)
            .get_or_insert_with(|| tokio::spawn(listen(Arc::clone(self), Arc::clone(link))));
        Waiter { wake: Arc::clone(self), name, news }
    }

    /// Sends what there is to the other nodes, until [`Wake::close`].
    pub(super) async fn send(self: Arc<Self>, link: Arc<Link>) {
        loop {
            self.signal.notified().await;
            let unsent = std::mem::take(&mut *locked(&self.unsent));
            let texts: Vec<String> = unsent.iter().map(|(name, head)| format!("{name} {head}")).collect();
            let sent = texts.is_empty() || notify(&link, &texts).await.is_ok();
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            if sent {
                tokio::time::sleep(GATHER).await;
            } else {
                // Kept for later. Who waits elsewhere looks by itself meanwhile.
                self.note(unsent);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Stops listening; what is to be sent is sent once more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.signal.notify_one();
        if let Some(listener) = locked(&self.listener).take() {
            listener.abort();
        }
    }

    fn tell(&self, name: &str, head: u64) {
        if let Some(news) = locked(&self.waiting).get(name) {
            news.send_modify(|known| *known = head.max(*known));
        }
    }

    fn tell_all_to_look(&self) {
        locked(&self.waiting).values().for_each(|news| news.send_modify(|_| {}));
    }
}

async fn notify(link: &Link, texts: &[String]) -> Result<(), StoreError> {
    super::link::query(&link.client().await?, NOTIFY, &[&texts]).await.map(drop)
}

async fn listen(wake: Arc<Wake>, link: Arc<Link>) {
    loop {
        let _ = hear(&wake, &link).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Listens on a new connection until it is lost.
async fn hear(wake: &Wake, link: &Link) -> Result<(), StoreError> {
    let (client, mut messages) = link.dial().await?;
    let mut listening = std::pin::pin!(client.batch_execute(LISTEN));
    let mut begun = false;
    loop {
        // The connection works only while its messages are asked for.
        tokio::select! {
            result = &mut listening, if !begun => {
                result.map_err(failed)?;
                begun = true;
                wake.tell_all_to_look();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    if let Some((name, head)) = notification.payload().split_once(' ') {
                        wake.tell(name, head.parse().unwrap_or_default());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(failed(error)),
                None => return Ok(()),
            },
        }
    }
}

/// Somebody who waits for a journal to grow.
pub(super) struct Waiter {
    wake: Arc<Wake>,
    name: Name,
    news: watch::Receiver<u64>,
}

impl Waiter {
    /// Waits for news, or until it is time to look anyway. Returns a number of events that are there at least.
    pub(super) async fn news(&mut self) -> u64 {
        let _ = tokio::time::timeout(SLOW_LOOK, self.news.changed()).await;
        *self.news.borrow_and_update()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = locked(&self.wake.waiting);
        // This one is still counted.
        if waiting.get(&self.name).is_some_and(|news| news.receiver_count() <= 1) {
            waiting.remove(&self.name);
        }
    }
}

fn name(session_id: &SessionId) -> Name {
    key(session_id.as_str()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
