//! A session that a client of this host uses: its fold, its live channel and the way to its owner.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{Live, Problem, SessionChange, SessionStatus, SessionView};
use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, CommandRecord};
use lariat_core::id::SessionId;
use lariat_core::run::ViewSnapshot;
use lariat_core::store::Snapshot;
use tokio::sync::{MutexGuard, broadcast, mpsc};

use crate::fold::ViewFold;
use crate::problems;
use crate::requests::Request;

/// Events per read.
const PAGE: usize = 512;
/// The most snapshots of a session to try. Stores keep four.
const STORED_SNAPSHOTS: usize = 4;
/// How many events a host reads at once before it stores a snapshot. Runs store one about every 4,096 events, so this is
/// for sessions that have none, and it must not displace theirs.
const SNAPSHOT_AFTER: usize = 16_384;
/// How many of the newest events tell whether a tool runs.
const RECENT_EVENTS: usize = 2048;
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
    is_compacting: AtomicBool,
    /// Whether the host has an agent for the session, which may have no events yet.
    is_adopted: AtomicBool,
    attached: AtomicUsize,
    /// Locked while a client creates the session.
    creation: tokio::sync::Mutex<()>,
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
            is_compacting: AtomicBool::new(false),
            is_adopted: AtomicBool::new(false),
            attached: AtomicUsize::new(0),
            creation: tokio::sync::Mutex::new(()),
        }
    }

    /// Waits until no other client of this host creates the session, and lets others wait until the guard is dropped.
    pub(crate) async fn lock_creation(&self) -> MutexGuard<'_, ()> {
        self.creation.lock().await
    }

    /// Returns the fold of all events that the store has now.
    pub(crate) async fn fold(&self) -> Result<MutexGuard<'_, ViewFold>, Problem> {
        let mut fold = self.fold.lock().await;
        if fold.seq() == 0
            && let Some(resumed) = self.resume().await
        {
            *fold = resumed;
        }
        let mut read = 0;
        loop {
            let page = self.store.read(&self.session_id, fold.next(), PAGE).await;
            let page = page.map_err(|error| problems::from_store(&error))?;
            page.iter().for_each(|event| fold.apply(event));
            read += page.len();
            if page.len() < PAGE {
                break;
            }
        }
        if read >= SNAPSHOT_AFTER {
            self.save(&fold).await;
        }
        Ok(fold)
    }

    /// Returns the fold of the newest usable snapshot. Without one, or if the store fails, the caller reads all events.
    async fn resume(&self) -> Option<ViewFold> {
        let mut at_most = self.store.head(&self.session_id).await.ok().filter(|head| *head > 0)?;
        for _ in 0..STORED_SNAPSHOTS {
            let stored = self.store.snapshot(&self.session_id, at_most).await.ok()??;
            if let Some(snapshot) = ViewSnapshot::from_bytes(&stored.state, stored.seq) {
                let summary = self.store.summary(&self.session_id).await.ok()?;
                return Some(ViewFold::resume(summary, snapshot));
            }
            at_most = stored.seq.checked_sub(1)?;
        }
        None
    }

    /// Stores a snapshot, so that the next host need not read as much. A snapshot is optional: failures do not matter.
    async fn save(&self, fold: &ViewFold) {
        if let Some(state) = fold.snapshot().and_then(|snapshot| snapshot.to_bytes()) {
            let _ = self.store.put_snapshot(&self.session_id, Snapshot::new(fold.seq(), state)).await;
        }
    }

    /// Returns a command that the journal has, with its position; the oldest if the id was used twice.
    pub(crate) async fn command(&self, id: &str) -> Result<Option<(u64, CommandRecord)>, Problem> {
        let candidates = self.fold().await?.clients().commands_like(id);
        for seq in candidates {
            let read = self.store.read(&self.session_id, seq, 1).await;
            let read = read.map_err(|error| problems::from_store(&error))?;
            if let Some(AgentEvent::CommandAccepted(command)) = read.first().map(|event| &event.event)
                && command.command_id == id
            {
                return Ok(Some((seq, CommandRecord::clone(command))));
            }
        }
        Ok(None)
    }

    pub(crate) async fn view(&self) -> Result<SessionView, Problem> {
        // A run that began or ended while the journal was read is not one that a crash interrupted.
        let was_running = self.is_running();
        let mut view = self.fold().await?.view(was_running || self.is_running());
        if view.status == SessionStatus::Idle && self.is_compacting.load(Ordering::SeqCst) {
            view.status = SessionStatus::Running;
        }
        Ok(view)
    }

    /// Whether the newest events show a tool call or a command of the user that has not ended. True if the journal cannot
    /// be read.
    pub(crate) async fn runs_tool(&self) -> bool {
        let Ok(fold) = self.fold().await else { return true };
        if fold.has_unfinished_command() {
            return true;
        }
        let first = fold.next().saturating_sub(RECENT_EVENTS as u64);
        let Ok(events) = self.store.read(&self.session_id, first, RECENT_EVENTS).await else { return true };
        let mut running = BTreeSet::new();
        for record in &events {
            match &record.event {
                AgentEvent::ToolExecutionStart { tool_call_id, .. } => drop(running.insert(tool_call_id)),
                AgentEvent::ToolExecutionEnd { tool_call_id, .. } => drop(running.remove(tool_call_id)),
                AgentEvent::AgentEnd { .. } | AgentEvent::LoopRecovered { .. } => running.clear(),
                _ => {}
            }
        }
        !running.is_empty()
    }

    /// Returns what dashboards show of the session.
    pub(crate) async fn change(&self) -> Result<SessionChange, Problem> {
        let view = self.view().await?;
        Ok(SessionChange::new(self.session_id.clone(), view.seq, view.status))
    }

    /// Whether this host drives a run of the session, or compacts its conversation.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst) || self.is_compacting.load(Ordering::SeqCst)
    }

    pub(crate) fn set_compacting(&self, is_compacting: bool) {
        self.is_compacting.store(is_compacting, Ordering::SeqCst);
    }

    pub(crate) fn set_running(&self, is_running: bool) {
        self.is_running.store(is_running, Ordering::SeqCst);
    }

    /// Whether the session exists without events, because the host was given its agent.
    pub(crate) fn is_adopted(&self) -> bool {
        self.is_adopted.load(Ordering::SeqCst)
    }

    pub(crate) fn set_adopted(&self) {
        self.is_adopted.store(true, Ordering::SeqCst);
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
