//! A session that a client of this host uses: its fold, its live channel and the way to its owner.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{Live, Problem, SessionChange, SessionView};
use lariat_core::archive::SessionArchive;
use lariat_core::id::SessionId;
use tokio::sync::{MutexGuard, broadcast, mpsc};

use crate::fold::ViewFold;
use crate::problems;
use crate::requests::Request;

/// Events per read.
const PAGE: usize = 512;
/// Live items that a slow client may have to catch up with.
const LIVE_ITEMS: usize = 1024;

/// A session that a client uses or that has an owner.
pub(crate) struct SessionEntry {
    pub(crate) session_id: SessionId,
    pub(crate) store: Arc<dyn SessionArchive>,
    fold: tokio::sync::Mutex<ViewFold>,
    live: broadcast::Sender<Live>,
    owner: Mutex<Option<mpsc::Sender<Request>>>,
    is_running: AtomicBool,
    attached: AtomicUsize,
}

impl SessionEntry {
    pub(crate) fn new(session_id: SessionId, store: Arc<dyn SessionArchive>) -> Self {
        Self {
            fold: tokio::sync::Mutex::new(ViewFold::new(session_id.clone())),
            session_id,
            store,
            live: broadcast::channel(LIVE_ITEMS).0,
            owner: Mutex::new(None),
            is_running: AtomicBool::new(false),
            attached: AtomicUsize::new(0),
        }
    }

    /// Returns the fold of all events that the store has now.
    pub(crate) async fn fold(&self) -> Result<MutexGuard<'_, ViewFold>, Problem> {
        let mut fold = self.fold.lock().await;
        loop {
            let read = self.store.read(&self.session_id, fold.seq(), PAGE).await;
            let page = read.map_err(|error| problems::from_store(&error))?;
            page.iter().for_each(|event| fold.apply(event));
            if page.len() < PAGE {
                return Ok(fold);
            }
        }
    }

    pub(crate) async fn view(&self) -> Result<SessionView, Problem> {
        // A run that began or ended while the journal was read is not one that a crash interrupted.
        let was_running = self.is_running();
        let fold = self.fold().await?;
        Ok(fold.view(was_running || self.is_running()))
    }

    /// Returns what dashboards show of the session.
    pub(crate) async fn change(&self) -> Result<SessionChange, Problem> {
        let view = self.view().await?;
        Ok(SessionChange::new(self.session_id.clone(), view.seq, view.status))
    }

    /// Whether this host drives a run of the session.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }

    pub(crate) fn set_running(&self, is_running: bool) {
        self.is_running.store(is_running, Ordering::SeqCst);
    }

    /// Sends a live item to the attached clients.
    pub(crate) fn send_live(&self, live: Live) {
        // Without a client, nothing needs to receive it.
        let _ = self.live.send(live);
    }

    pub(crate) fn subscribe_live(&self) -> broadcast::Receiver<Live> {
        self.live.subscribe()
    }

    /// Returns the way to the owner, which `start` starts if there is none.
    pub(crate) fn owner(&self, start: impl FnOnce() -> mpsc::Sender<Request>) -> mpsc::Sender<Request> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        match owner.as_ref().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender.clone(),
            None => owner.insert(start()).clone(),
        }
    }

    pub(crate) fn has_owner(&self) -> bool {
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Marks a client as attached until the mark is dropped.
    pub(crate) fn attach(self: &Arc<Self>) -> Attachment {
        self.attached.fetch_add(1, Ordering::SeqCst);
        Attachment(Arc::clone(self))
    }

    /// Whether a client follows the session.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::SeqCst) > 0
    }
}

/// A client that follows a session.
pub(crate) struct Attachment(Arc<SessionEntry>);

impl Drop for Attachment {
    fn drop(&mut self) {
        self.0.attached.fetch_sub(1, Ordering::SeqCst);
    }
}
