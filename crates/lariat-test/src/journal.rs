//! A journal that fails on purpose, when and how a plan says.
//!
//! Keeps, per session, what is physically stored and what was acknowledged, as two lists: recovery reads the
//! first, and the second must never be lost. Otherwise fulfils the contract of a store: positions, fencing,
//! order.
//! Invariant: after a crash no operation of the old process completes, and [`FaultyStore::reopen`] starts a
//! new one.

mod fault;
mod forks;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::event::{Event, EventRecord};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};

pub use fault::{AppendInfo, AppendPlan, Fault, FaultRates, Operation, OperationFault, TroublePlan};

use crate::random::SeededRandom;

/// A violation of the contract by a writer, independent of what the store does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContractViolation {
    /// An event whose `seq` differs from the position it was sent to.
    Misplaced {
        /// The position.
        position: u64,
        /// The `seq` of the event.
        seq: u64,
    },
    /// A live event, which must not be stored.
    Live {
        /// The position.
        position: u64,
    },
}

/// A session store for simulations.
///
/// ```
/// use lariat_test::{Fault, FaultyStore};
/// use lariat_test::VirtualClock;
///
/// // The second append fails although it was written.
/// let store = FaultyStore::new(VirtualClock::new().shared()).with_faults([Fault::None, Fault::Ambiguous]);
/// assert!(!store.is_crashed());
/// ```
pub struct FaultyStore {
    clock: Arc<dyn Clock>,
    form: Form,
    state: Mutex<StoreState>,
}

/// How events are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As the same objects.
    Shared,
    /// Serialized to JSON and parsed again.
    Json,
}

#[derive(Default)]
struct StoreState {
    journals: HashMap<SessionId, StoredJournal>,
    /// Events as they came back from JSON.
    parsed: HashMap<EventId, Event>,
    blobs: HashMap<String, Vec<u8>>,
    plan: Option<AppendPlan>,
    trouble: Option<TroublePlan>,
    appends: u64,
    injected: Vec<(u64, Fault)>,
    misuses: Vec<ContractViolation>,
    crashed: bool,
    /// Increases with every crash: operations started in an earlier life never complete.
    life: u64,
    /// Wakes what waits for events.
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct StoredJournal {
    epoch: Epoch,
    present: Vec<Event>,
    acknowledged: Vec<Event>,
    snapshots: Vec<Snapshot>,
    /// The session that this one was forked from.
    origin: Option<SessionId>,
}

impl StoredJournal {
    /// Records that everything up to here was confirmed to a caller, by the result of an append or a read.
    fn acknowledge(&mut self, end: usize) {
        let known = self.acknowledged.len();
        self.acknowledged.extend(self.present.iter().take(end).skip(known).cloned());
    }
}

impl FaultyStore {
    /// Creates a store without faults. Delays use this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, form: Form::Shared, state: Mutex::default() }
    }

    /// Calls a function for every append.
    pub fn with_plan(self, plan: impl FnMut(&AppendInfo<'_>) -> Fault + Send + 'static) -> Self {
        self.lock().plan = Some(Box::new(plan));
        self
    }

    /// One fault per append, in order; later appends succeed.
    pub fn with_faults(self, faults: impl IntoIterator<Item = Fault>) -> Self {
        let mut faults: std::collections::VecDeque<Fault> = faults.into_iter().collect();
        self.with_plan(move |_| faults.pop_front().unwrap_or_default())
    }

    /// Generates faults from a seed.
    pub fn with_rates(self, mut random: SeededRandom, rates: FaultRates) -> Self {
        self.with_plan(move |append| rates.draw(&mut random, append.events.len()))
    }

    /// Calls a function for every operation that is not an append.
    pub fn with_trouble(self, plan: impl FnMut(Operation) -> OperationFault + Send + 'static) -> Self {
        self.lock().trouble = Some(Box::new(plan));
        self
    }

    /// Returns every event as it comes back from JSON: serialized once and parsed again.
    pub const fn through_json(mut self) -> Self {
        self.form = Form::Json;
        self
    }

    /// Makes every operation succeed from now on.
    pub fn heal(&self) {
        let mut state = self.lock();
        (state.plan, state.trouble) = (None, None);
    }

    /// Whether a fault crashed the process. The simulator then drops everything that belongs to it.
    pub fn is_crashed(&self) -> bool {
        self.lock().crashed
    }

    /// Crashes the process now, regardless of the plan.
    pub fn crash(&self) {
        self.lock().crash();
    }

    /// Starts a new process, which finds what survived.
    pub fn reopen(&self) {
        self.lock().crashed = false;
    }

    /// What is physically in a journal.
    #[expect(clippy::panic, reason = "an event that does not survive its own format ends the simulation")]
    pub fn survivors(&self, session_id: &SessionId) -> Vec<Event> {
        let present = self.lock().journals.get(session_id).map(|journal| journal.present.clone());
        match present.unwrap_or_default().iter().map(|event| self.read_event(event)).collect() {
            Ok(events) => events,
            Err(error) => panic!("{error}"),
        }
    }

    /// Shows what is physically in a journal, without a copy and in the form in which it was written.
    pub fn inspect<T>(&self, session_id: &SessionId, look: impl FnOnce(&[Event]) -> T) -> T {
        let state = self.lock();
        look(state.journals.get(session_id).map(|journal| journal.present.as_slice()).unwrap_or_default())
    }

    /// The sessions with a journal, in the order of their ids.
    pub fn sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<SessionId> = self.lock().journals.keys().cloned().collect();
        sessions.sort();
        sessions
    }

    /// What was acknowledged, in order: each event must survive, at its position.
    ///
    /// An acknowledgement includes everything before it, because the writer has seen the position of its
    /// batch. Reading also acknowledges, because a writer reads the journal after an append with an unknown
    /// outcome.
    pub fn acknowledged(&self, session_id: &SessionId) -> Vec<Event> {
        self.lock().journals.get(session_id).map(|journal| journal.acknowledged.clone()).unwrap_or_default()
    }

    /// Whether exactly this event was acknowledged at this position.
    pub fn is_acknowledged(&self, session_id: &SessionId, seq: u64, id: EventId) -> bool {
        let at = usize::try_from(seq).unwrap_or(usize::MAX);
        let state = self.lock();
        let event = state.journals.get(session_id).and_then(|journal| journal.acknowledged.get(at));
        event.is_some_and(|event| event.id == id)
    }

    /// The current epoch.
    pub fn epoch(&self, session_id: &SessionId) -> Epoch {
        self.lock().journals.get(session_id).map(|journal| journal.epoch).unwrap_or_default()
    }

    /// Number of appends so far, successful or not.
    pub fn appends(&self) -> u64 {
        self.lock().appends
    }

    /// The faults so far, by index of the append.
    pub fn injected_faults(&self) -> Vec<(u64, Fault)> {
        self.lock().injected.clone()
    }

    /// Contract violations by writers.
    pub fn misuses(&self) -> Vec<ContractViolation> {
        self.lock().misuses.clone()
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life that an operation belongs to. Never completes for an operation of a dead process.
    async fn enter(&self) -> u64 {
        let (crashed, life) = {
            let state = self.lock();
            (state.crashed, state.life)
        };
        if crashed {
            std::future::pending::<()>().await;
        }
        life
    }

    async fn wait(&self, duration: Duration, life: u64) {
        self.clock.sleep_until(self.clock.now().after(duration)).await;
        if self.lock().life != life {
            std::future::pending::<()>().await;
        }
    }

    /// Lets an operation that is not an append succeed, delays it, or makes it fail. Returns what happens to a snapshot.
    async fn pass(&self, operation: Operation) -> Result<OperationFault, StoreError> {
        let life = self.enter().await;
        let trouble = self.lock().trouble.as_mut().map(|plan| plan(operation)).unwrap_or_default();
        match trouble {
            OperationFault::None | OperationFault::Lost | OperationFault::Torn => {}
            OperationFault::Unavailable => return Err(unavailable()),
            OperationFault::Delayed(duration) => self.wait(duration, life).await,
            OperationFault::Crash => {
                self.crash();
                std::future::pending::<()>().await;
            }
        }
        Ok(trouble)
    }

    async fn append_planned(&self, append: Append<'_>) -> Result<Ack, StoreError> {
        let life = self.enter().await;
        let mut fault = self.lock().decide(&append);
        while let Fault::Delayed(duration, then) = fault {
            self.wait(duration, life).await;
            fault = *then;
        }
        match fault {
            Fault::None | Fault::Delayed(..) => self.lock().write(&append, usize::MAX)?,
            Fault::Refuse => return Err(unavailable()),
            Fault::Ambiguous => {
                self.lock().write(&append, usize::MAX)?;
                return Err(unavailable());
            }
            Fault::Torn { written } => {
                self.lock().write(&append, written)?;
                return Err(unavailable());
            }
            Fault::Crash { written } => {
                // The caller is fenced off and never sees this result.
                let _ = self.lock().write(&append, written);
                self.crash();
                std::future::pending::<()>().await;
            }
            Fault::Fence => {
                let mut state = self.lock();
                state.claim(append.session_id);
                return state.write(&append, 0).and(Err(unavailable()));
            }
            Fault::Late(duration) => {
                self.lock().write(&append, usize::MAX)?;
                self.wait(duration, life).await;
            }
        }
        Ok(self.lock().acknowledge(&append))
    }

    /// An event in the form in which this store returns it.
    fn read_event(&self, event: &Event) -> Result<Event, StoreError> {
        if self.form == Form::Shared {
            return Ok(Arc::clone(event));
        }
        // An event is what it was written as, however often it is read.
        if let Some(parsed) = self.lock().parsed.get(&event.id) {
            return Ok(Arc::clone(parsed));
        }
        let damaged = |what: String| StoreError::Damaged(format!("event {} {what}", event.seq));
        let json = serde_json::to_vec(event.as_ref()).map_err(|error| damaged(error.to_string()))?;
        let read = EventRecord::from_json(&json).map_err(|error| damaged(error.to_string()))?;
        if read != **event {
            return Err(damaged(format!("comes back as another: {}", String::from_utf8_lossy(&json))));
        }
        let read = Arc::new(read);
        self.lock().parsed.insert(event.id, Arc::clone(&read));
        Ok(read)
    }
}

impl StoreState {
    fn crash(&mut self) {
        self.crashed = true;
        self.life += 1;
    }

    fn decide(&mut self, append: &Append<'_>) -> Fault {
        let index = self.appends;
        self.appends += 1;
        let info = AppendInfo {
            index,
            session_id: append.session_id,
            epoch: append.epoch,
            expected_seq: append.expected_seq,
            events: append.events,
        };
        let fault = self.plan.as_mut().map(|plan| plan(&info)).unwrap_or_default();
        if fault != Fault::None {
            self.injected.push((index, fault.clone()));
        }
        fault
    }

    fn claim(&mut self, session_id: &SessionId) -> Epoch {
        let journal = self.journals.entry(session_id.clone()).or_default();
        journal.epoch.0 += 1;
        journal.epoch
    }

    fn release(&mut self, session_id: &SessionId, epoch: Epoch) {
        if let Some(journal) = self.journals.get_mut(session_id).filter(|journal| journal.epoch == epoch) {
            journal.epoch.0 += 1;
        }
    }

    /// Writes the first events of a batch, if the writer and the position are valid.
    fn write(&mut self, append: &Append<'_>, written: usize) -> Result<(), StoreError> {
        let journal = self
            .journals
            .get_mut(append.session_id)
            .ok_or_else(|| StoreError::NotFound(format!("session {}", append.session_id)))?;
        if append.epoch != journal.epoch {
            return Err(StoreError::Fenced { current: journal.epoch });
        }
        let actual = journal.present.len() as u64;
        if append.expected_seq != actual {
            return Err(StoreError::Conflict { expected: append.expected_seq, actual });
        }
        for (event, position) in append.events.iter().zip(actual..) {
            if event.seq != position {
                self.misuses.push(ContractViolation::Misplaced { position, seq: event.seq });
                return Err(StoreError::Conflict { expected: event.seq, actual: position });
            }
            if !event.is_durable() {
                self.misuses.push(ContractViolation::Live { position });
                return Err(StoreError::Damaged(format!("event {position} is live only")));
            }
        }
        journal.present.extend(append.events.iter().take(written).cloned());
        self.waiting.drain(..).for_each(Waker::wake);
        Ok(())
    }

    fn acknowledge(&mut self, append: &Append<'_>) -> Ack {
        let next_seq = append.expected_seq + append.events.len() as u64;
        if let Some(journal) = self.journals.get_mut(append.session_id) {
            journal.acknowledge(usize::try_from(next_seq).unwrap_or(usize::MAX));
        }
        Ack { next_seq, durability: Durability::Durable }
    }
}

/// A snapshot as a fault leaves it.
fn torn(mut snapshot: Snapshot, fault: OperationFault) -> Snapshot {
    if fault == OperationFault::Torn {
        snapshot.state.truncate(snapshot.state.len() / 2);
    }
    snapshot
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("injected fault".to_owned())
}

impl SessionStore for FaultyStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Claim).await?;
            Ok(self.lock().claim(session_id))
        })
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Release).await?;
            self.lock().release(session_id, epoch);
            Ok(())
        })
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(self.append_planned(append))
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Read).await?;
            let from = usize::try_from(from_seq).unwrap_or(usize::MAX);
            let events: Vec<Event> = match self.lock().journals.get_mut(session_id) {
                Some(journal) => {
                    journal.acknowledge(from.saturating_add(limit));
                    journal.present.iter().skip(from).take(limit).cloned().collect()
                }
                None => Vec::new(),
            };
            events.iter().map(|event| self.read_event(event)).collect()
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Head).await?;
            Ok(self.lock().journals.get(session_id).map_or(0, |journal| journal.present.len() as u64))
        })
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let fault = self.pass(Operation::Snapshot).await?;
            let mut state = self.lock();
            let journal = state.journals.get_mut(session_id);
            let journal = journal.ok_or_else(|| StoreError::NotFound(session_id.to_string()))?;
            journal.snapshots.extend(
                Some(snapshot)
                    .filter(|_| fault != OperationFault::Lost)
                    .map(|snapshot| torn(snapshot, fault)),
            );
            Ok(())
        })
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        Box::pin(async move {
            let fault = self.pass(Operation::Snapshot).await?;
            let state = self.lock();
            let kept = state.journals.get(session_id).map(|journal| journal.snapshots.as_slice());
            let fitting = kept.unwrap_or_default().iter().filter(|snapshot| snapshot.seq <= seq);
            let newest = fitting.clone().max_by_key(|snapshot| snapshot.seq);
            let is_found =
                |at: u64| fault != OperationFault::Lost || newest.is_none_or(|newest| at < newest.seq);
            let found = fitting.filter(|snapshot| is_found(snapshot.seq)).max_by_key(|snapshot| snapshot.seq);
            Ok(found.cloned().map(|snapshot| torn(snapshot, fault)))
        })
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Blob).await?;
            // The content itself is the address: no collisions, and blobs in simulations are small.
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = format!("content:{digits}");
            self.lock().blobs.insert(name.clone(), bytes.to_vec());
            Ok(BlobHash(name))
        })
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        Box::pin(async move {
            self.pass(Operation::Blob).await?;
            let found = self.lock().blobs.get(&hash.0).cloned();
            found.ok_or_else(|| StoreError::NotFound(format!("blob {}", hash.0)))
        })
    }
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("FaultyStore")
            .field("appends", &state.appends)
            .field("injected", &state.injected)
            .field("crashed", &state.crashed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
