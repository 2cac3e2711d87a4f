//! Writes the journal of one session. All loops of the session share the writer.
//!
//! Publishes what it wrote before it writes the next batch, so that observers of loops that run at the same time receive their
//! events in the order of the journal. Holds the next sequence number and the writer's epoch, and handles a failing store: after an append with
//! an unclear outcome, it checks what was written before it repeats the append, and informs observers that
//! events are not saved yet. Invariant: every event is written once, and none is reported as acknowledged
//! that the store did not confirm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::lock::Mutex;
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, LoopId, SessionId};
use lariat_core::permission::PermissionRequest;
use lariat_core::run::{BranchSnapshot, GroupBase, SessionSnapshot};
use lariat_core::session::{ClientState, SessionFold, SessionMemory};
use lariat_core::store::{Append, BlobHash, Epoch, SessionStore, Snapshot, StoreError};
use lariat_core::time::Minter;

use super::approvals::PendingApprovals;
use super::batch::Batch;
use super::group_snapshots::GroupSnapshots;
use crate::observe::EventHub;

/// Number of events to read at a time.
const PAGE: usize = 256;

/// The most snapshots of a session to try. Stores keep four.
const STORED_SNAPSHOTS: usize = 4;

/// How a journal behaves when its store fails.
#[derive(Clone, Copy, Debug)]
pub struct JournalConfig {
    /// Delay before the first retry; doubles up to `max_delay`.
    pub initial_delay: Duration,
    /// Maximum delay between retries. The run continues within this time after the store has recovered.
    pub max_delay: Duration,
    /// How long to retry before the run is given up. Nothing is lost then: the run can be recovered.
    pub patience: Duration,
    /// Minimum number of events between two snapshots. In long conversations the distance is larger, so that
    /// snapshots stay a small part of what is written. Resuming a session reads little more than this number
    /// of events.
    pub snapshot_every: u64,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            initial_delay: Duration::from_millis(50),
            max_delay: Duration::from_secs(2),
            patience: Duration::from_secs(600),
            snapshot_every: 4096,
        }
    }
}

/// The state of the writer.
#[derive(Default)]
struct Writer {
    /// Set once the session is claimed.
    epoch: Option<Epoch>,
    /// An append had an unclear outcome: the journal may be longer than `next_seq` says.
    uncertain: bool,
    /// The claim that was released last. A run that wrote under it must not continue to write without
    /// noticing: others may have written.
    released: Option<Epoch>,
    /// The runtime in which the session was claimed, to release it from there when the journal is dropped.
    executor: Option<tokio::runtime::Handle>,
}

/// The journal of a session, open for writing.
pub struct Journal {
    store: Arc<dyn SessionStore>,
    session_id: SessionId,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn EntropySource>,
    config: JournalConfig,
    hub: EventHub,
    /// Locked while a batch is written.
    writer: Mutex<Writer>,
    next_seq: AtomicU64,
    /// The position of the newest known snapshot.
    snapshot_seq: AtomicU64,
    /// Number of known loops that began and did not end. A snapshot covers only one loop.
    open_loops: AtomicU64,
    /// Makes snapshots while branches run.
    group: std::sync::Mutex<Option<GroupSnapshots>>,
    /// Known approval requests that wait for an answer.
    approvals: std::sync::Mutex<PendingApprovals>,
    /// What clients see of the session, for snapshots. Has the first `ClientState::events` events only: others may write
    /// before this journal claims the session.
    clients: std::sync::Mutex<ClientState>,
}

impl Journal {
    /// Creates the journal of a session. Claims nothing before [`Journal::open`] or the first append.
    pub fn new(
        store: Arc<dyn SessionStore>,
        session_id: SessionId,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn EntropySource>,
        config: JournalConfig,
    ) -> Self {
        let hub = EventHub::new(Arc::clone(&store), session_id.clone());
        let (writer, next_seq) = (Mutex::default(), AtomicU64::new(0));
        let (snapshot_seq, open_loops) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            store,
            session_id,
            clock,
            entropy,
            config,
            hub,
            writer,
            next_seq,
            snapshot_seq,
            open_loops,
            group: std::sync::Mutex::default(),
            approvals: std::sync::Mutex::default(),
            clients: std::sync::Mutex::default(),
        }
    }

    /// Creates the journal of another session in the same store.
    pub fn of_session(&self, session_id: SessionId) -> Self {
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        Self::new(Arc::clone(&self.store), session_id, clock, entropy, self.config)
    }

    /// Claims the session, unless it is claimed already, and fences off earlier writers. Returns its number
    /// of events.
    ///
    /// # Errors
    /// If the store refuses or fails.
    pub async fn open(&self) -> Result<u64, StoreError> {
        let mut writer = self.writer.lock().await;
        writer.released = None;
        self.claim(&mut writer).await?;
        Ok(self.next_seq())
    }

    /// Releases the session, if it is claimed, so that another process can claim it immediately. Reading
    /// still works; before writing, claim it again with [`Journal::open`]. Dropping a journal releases the
    /// session in the background, inside a tokio runtime.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn release(&self) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().await;
        let Some(epoch) = writer.epoch else { return Ok(()) };
        *writer = Writer { released: Some(epoch), ..Writer::default() };
        self.store.release(&self.session_id, epoch).await
    }

    async fn claim(&self, writer: &mut Writer) -> Result<Epoch, StoreError> {
        let epoch = match (writer.epoch, writer.released) {
            (Some(epoch), _) if !writer.uncertain => return Ok(epoch),
            (Some(epoch), _) => epoch,
            (None, Some(current)) => return Err(StoreError::Fenced { current }),
            (None, None) => self.store.claim(&self.session_id).await?,
        };
        // Set now, so that the claim is released even if the next step fails.
        *writer = Writer { epoch: Some(epoch), uncertain: true, released: None, executor: executor() };
        self.next_seq.store(self.store.head(&self.session_id).await?, Ordering::Release);
        writer.uncertain = false;
        Ok(epoch)
    }

    /// The id of the session.
    pub const fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The hub that publishes the session's events.
    pub const fn hub(&self) -> &EventHub {
        &self.hub
    }

    /// The sequence number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.next_seq.load(Ordering::Acquire)
    }

    /// Reads all events from a position on.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn read_from(&self, from_seq: u64) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        self.for_each_from(from_seq, |event| events.push(event)).await?;
        Ok(events)
    }

    /// Calls `show` with every event, from the first on, without keeping them.
    pub(crate) async fn for_each_event(&self, mut show: impl FnMut(&Event)) -> Result<(), StoreError> {
        self.for_each_from(0, |event| show(&event)).await
    }

    async fn for_each_from(&self, mut from_seq: u64, mut take: impl FnMut(Event)) -> Result<(), StoreError> {
        loop {
            let page = self.store.read(&self.session_id, from_seq, PAGE).await?;
            let complete = page.len() < PAGE;
            from_seq += page.len() as u64;
            page.into_iter().for_each(&mut take);
            if complete {
                return Ok(());
            }
        }
    }

    /// Reads the newest readable snapshot, if there is one, and all events after it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn read_live(&self) -> Result<(Option<SessionSnapshot>, Vec<Event>), StoreError> {
        self.read_up_to(self.next_seq()).await
    }

    /// Like [`read_live`](Self::read_live), without a claim: asks the store for the current head.
    pub(crate) async fn read_unclaimed(&self) -> Result<(Option<SessionSnapshot>, Vec<Event>), StoreError> {
        self.read_up_to(self.store.head(&self.session_id).await?).await
    }

    async fn read_up_to(&self, head: u64) -> Result<(Option<SessionSnapshot>, Vec<Event>), StoreError> {
        let (seq, mut snapshot) = match self.newest_snapshot(head).await? {
            Some((seq, snapshot)) => (seq, Some(snapshot)),
            None => (0, None),
        };
        self.snapshot_seq.store(seq, Ordering::Release);
        let from = snapshot.as_ref().map_or(seq, |snapshot| snapshot.reads_from(seq));
        let events = self.read_from(from).await?;
        let mut clients = snapshot.as_mut().and_then(|snapshot| snapshot.clients.take()).unwrap_or_default();
        if clients.events() == seq {
            events.iter().filter(|event| event.seq >= seq).for_each(|event| clients.apply(event));
        }
        *self.clients() = clients;
        Ok((snapshot, events))
    }

    /// Returns the newest snapshot that a run can continue from. Hosts store snapshots, too, which have no conversation.
    async fn newest_snapshot(&self, head: u64) -> Result<Option<(u64, SessionSnapshot)>, StoreError> {
        let mut at_most = head;
        for _ in 0..STORED_SNAPSHOTS {
            let Some(stored) = self.store.snapshot(&self.session_id, at_most).await? else { break };
            if let Some(snapshot) = SessionSnapshot::from_bytes(&stored.state) {
                return Ok(Some((stored.seq, snapshot)));
            }
            let Some(before) = stored.seq.checked_sub(1) else { break };
            at_most = before;
        }
        Ok(None)
    }

    /// Takes over an imported session: from here on, decisions in the journal are those of this machine.
    ///
    /// # Errors
    /// If the store refuses or fails.
    pub(crate) async fn take_over(&self, import_id: &str) -> Result<Vec<Event>, StoreError> {
        let event = AgentEvent::SessionTakenOver { import_id: import_id.to_owned() };
        self.append(vec![self.session_record(event)], &CancellationToken::new()).await
    }

    /// Sets the number of open loops, as read from the journal.
    pub(crate) fn note_open_loops(&self, count: usize) {
        self.open_loops.store(count as u64, Ordering::Release);
    }

    /// Sets the open approval requests, as read from the journal.
    pub(crate) fn set_pending_approvals(&self, open: &[Arc<PermissionRequest>]) {
        *self.approvals() = PendingApprovals::open(open);
    }

    /// Returns approval requests that wait for an answer.
    pub(crate) fn pending_approvals(&self) -> Vec<Arc<PermissionRequest>> {
        self.approvals().all().to_vec()
    }

    fn approvals(&self) -> std::sync::MutexGuard<'_, PendingApprovals> {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores bytes beside the journal and returns their address.
    pub(crate) async fn store_blob(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        self.store.put_blob(bytes).await
    }

    /// Reads bytes that were stored earlier.
    pub(crate) async fn read_blob(&self, address: &BlobHash) -> Result<Vec<u8>, StoreError> {
        self.store.blob(address).await
    }

    /// Whether a snapshot is due for a conversation of this many messages, in the only open loop.
    pub(crate) fn wants_snapshot(&self, messages: usize) -> bool {
        let since = self.next_seq().saturating_sub(self.snapshot_seq.load(Ordering::Acquire));
        let every = self.config.snapshot_every;
        let due = since >= every.max(messages as u64 * every / 512);
        due && self.open_loops.load(Ordering::Acquire) <= 1
    }

    /// Starts to make snapshots of branches. `memory` is that of the session now, with the start of the branches; `base` is the
    /// conversation before them.
    pub fn begin_branches(&self, base: GroupBase, memory: SessionMemory) {
        *self.group() = Some(GroupSnapshots::new(base, memory, self.next_seq()));
    }

    /// Like [`begin_branches`](Self::begin_branches), for branches that resume: with what was read of the session.
    pub fn resume_branches(&self, fold: &SessionFold, snapshot: Option<&SessionSnapshot>, events: &[Event]) {
        let group = GroupSnapshots::new(GroupBase::of(fold), fold.memory().clone(), self.next_seq());
        *self.group() = Some(group.resume(snapshot, events));
    }

    /// Whether a branch should save its state, with a conversation of this many messages.
    pub(crate) fn wants_branch_snapshot(&self, loop_id: &LoopId, messages: usize) -> bool {
        let every = self.config.snapshot_every;
        let group = self.group();
        let unsaved = group.as_ref().map_or(0, |group| group.unsaved(loop_id));
        unsaved > 0 && unsaved >= every.max(messages as u64 * every / 512)
    }

    /// Saves the state of a branch and writes a snapshot of the session. Ignores failures, because a snapshot is optional.
    pub(crate) fn write_branch_snapshot(
        self: &Arc<Self>,
        branch: BranchSnapshot,
    ) -> Option<BoxFuture<'static, ()>> {
        let (seq, snapshot) = self.group().as_mut()?.save(branch);
        Some(self.write_snapshot_at(seq, snapshot))
    }

    fn group(&self) -> std::sync::MutexGuard<'_, Option<GroupSnapshots>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a snapshot of everything written so far. Ignores failures, because a snapshot is optional.
    pub(crate) fn write_snapshot(self: &Arc<Self>, snapshot: SessionSnapshot) -> BoxFuture<'static, ()> {
        self.write_snapshot_at(self.next_seq(), snapshot)
    }

    fn write_snapshot_at(self: &Arc<Self>, seq: u64, snapshot: SessionSnapshot) -> BoxFuture<'static, ()> {
        self.snapshot_seq.store(seq, Ordering::Release);
        let clients = Some(self.clients().clone()).filter(|clients| clients.events() == seq);
        let (journal, state) = (Arc::clone(self), snapshot.with_clients(clients).to_bytes());
        Box::pin(async move {
            if let Some(state) = state {
                let _ = journal.store.put_snapshot(&journal.session_id, Snapshot::new(seq, state)).await;
            }
        })
    }

    /// Appends events, waits until the store acknowledges them, however long the store is unavailable, unless cancelled, and
    /// publishes them.
    ///
    /// # Errors
    /// If another writer took over, the store was unavailable for too long, or `give_up` was triggered.
    pub async fn append(
        &self,
        records: Vec<EventRecord>,
        give_up: &CancellationToken,
    ) -> Result<Vec<Event>, StoreError> {
        self.append_batch(records.into(), give_up).await
    }

    /// Like [`append`](Self::append), with the live events between the durable ones.
    pub(crate) async fn append_batch(
        &self,
        mut batch: Batch,
        give_up: &CancellationToken,
    ) -> Result<Vec<Event>, StoreError> {
        let mut writer = self.writer.lock().await;
        let epoch = self.claim(&mut writer).await?;
        let first = self.next_seq();
        let number = |(record, seq): (EventRecord, u64)| Arc::new(EventRecord { seq, ..record });
        let mut events: Vec<Event> = batch.take_records().into_iter().zip(first..).map(number).collect();
        let mut outage: Option<Outage> = None;
        let mut written = 0;
        // Stays set until the store acknowledges, even if this future is dropped.
        writer.uncertain = true;
        loop {
            let rest = events.get(written..).unwrap_or_default();
            let append = Append::new(&self.session_id, epoch, first + written as u64, rest);
            let error = match self.store.append(append).await {
                Ok(_) => break,
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            let outage = outage.get_or_insert_with(|| Outage::begin(self));
            outage.report(self, &error, rest.len());
            outage.wait(self, error, give_up).await?;
            written = self.count_written(&events, outage, give_up).await?;
            if written == events.len() {
                break;
            }
        }
        if outage.is_some() {
            // At the position before the batch: observers have not seen its events, nor the live ones between them.
            self.announce(AgentEvent::JournalRestored);
        }
        self.next_seq.store(first + events.len() as u64, Ordering::Release);
        writer.uncertain = false;
        self.track(&events);
        batch.resolve_end(self, &mut events).await;
        // While the writer is locked: the next batch comes after this one for observers, too.
        batch.publish(self, &events);
        Ok(events)
    }

    /// Counts the events of a batch that are already in the journal, after an append with an unclear outcome.
    async fn count_written(
        &self,
        events: &[Event],
        outage: &mut Outage,
        give_up: &CancellationToken,
    ) -> Result<usize, StoreError> {
        let first = self.next_seq();
        loop {
            match self.store.read(&self.session_id, first, events.len()).await {
                Ok(found) => {
                    let same =
                        found.iter().zip(events).take_while(|(there, ours)| there.id == ours.id).count();
                    if same == found.len() {
                        return Ok(same);
                    }
                    return Err(StoreError::Conflict { expected: first, actual: first + found.len() as u64 });
                }
                Err(error) if error.is_retryable() => outage.wait(self, error, give_up).await?,
                Err(StoreError::NotFound(_)) => return Ok(0),
                Err(error) => return Err(error),
            }
        }
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, ClientState> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the open loops, open approval requests and what clients see from written events.
    fn track(&self, events: &[Event]) {
        let (mut group, mut clients) = (self.group(), self.clients());
        for event in events {
            group.take_if(|group| !group.observe(event));
            if clients.events() == event.seq {
                clients.apply(event);
            }
            match &event.event {
                AgentEvent::PermissionRequired { .. } | AgentEvent::PermissionDecided { .. } => {
                    let _ = self.approvals().observe(&event.event);
                }
                AgentEvent::AgentStart(_) => drop(self.open_loops.fetch_add(1, Ordering::AcqRel)),
                AgentEvent::AgentEnd { .. } => {
                    let fewer = |open: u64| Some(open.saturating_sub(1));
                    let _ = self.open_loops.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
                }
                _ => {}
            }
        }
    }

    /// Publishes a live event that belongs to no loop.
    pub(crate) fn announce(&self, event: AgentEvent) {
        self.hub.publish(Arc::new(self.session_record(event)));
    }

    /// Creates a record that belongs to no loop.
    fn session_record(&self, event: AgentEvent) -> EventRecord {
        let mut minter = Minter::default();
        minter.stamp(lariat_core::clock::stamp(&*self.clock, &*self.entropy));
        EventRecord {
            v: FORMAT_VERSION,
            seq: self.next_seq(),
            id: EventId::new(minter.uuid()),
            timestamp: self.clock.now(),
            loop_id: None,
            event,
        }
    }
}

fn executor() -> Option<tokio::runtime::Handle> {
    tokio::runtime::Handle::try_current().ok()
}

impl Drop for Journal {
    fn drop(&mut self) {
        let Writer { epoch: Some(epoch), executor: claimed_in, .. } = std::mem::take(self.writer.get_mut())
        else {
            return;
        };
        let Some(executor) = executor().or(claimed_in) else { return };
        // A dropped store has released everything itself.
        let (store, session_id) = (Arc::downgrade(&self.store), self.session_id.clone());
        drop(executor.spawn(async move {
            if let Some(store) = store.upgrade() {
                let _ = store.release(&session_id, epoch).await;
            }
        }));
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("session_id", &self.session_id)
            .field("next_seq", &self.next_seq())
            .finish_non_exhaustive()
    }
}

/// A period in which the store accepts no writes.
struct Outage {
    until: lariat_core::time::Timestamp,
    delay: Duration,
}

impl Outage {
    fn begin(journal: &Journal) -> Self {
        Self {
            until: journal.clock.now().after(journal.config.patience),
            delay: journal.config.initial_delay,
        }
    }

    fn report(&self, journal: &Journal, error: &StoreError, unsaved: usize) {
        let event = AgentEvent::JournalUnavailable { error: error.to_string(), unsaved: unsaved as u64 };
        journal.announce(event);
    }

    /// Waits before the next retry; returns `error` if there should be none.
    async fn wait(
        &mut self,
        journal: &Journal,
        error: StoreError,
        give_up: &CancellationToken,
    ) -> Result<(), StoreError> {
        let now = journal.clock.now();
        if now >= self.until {
            return Err(error);
        }
        let at = now.after(self.delay);
        self.delay = (self.delay * 2).min(journal.config.max_delay);
        let sleep = journal.clock.sleep_until(at);
        match select(sleep, give_up.cancelled()).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(error),
        }
    }
}
