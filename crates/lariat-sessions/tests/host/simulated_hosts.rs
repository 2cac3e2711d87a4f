//! Hosts in a world that a seed decides, for the conformance suite: how long each call of the store takes, and which fail.
//!
//! Everything runs in one thread under tokio's paused clock, which moves only when every task waits. So the time that a
//! call of the store takes decides which task continues next, and the same seed gives the same run. A host that crashed
//! is not dropped: [`Life`] stops everything that it does.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{AskPolicy, Principal, Sessions};
use lariat_core::BoxFuture;
use lariat_core::archive::{GarbageReport, ListQuery, SessionArchive, SessionSummary, VerificationReport};
use lariat_core::clock::Clock;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Epoch, SessionStore, Snapshot, StoreError};
use lariat_core::time::Timestamp;
use lariat_sessions::{HostOptions, Local};
use lariat_test::journal::OperationFault;
use lariat_test::sessions::{HostFixture, ModelScript, ScriptedFiles};
use lariat_test::{Fault, FaultyStore, SeededEntropy, SeededRandom};
use tokio::sync::watch;
use tokio::time::Instant;

use super::marking_agents::{Life, MarkingAgents};

/// The longest time of a call of the store, in milliseconds.
const LONGEST_CALL_MS: u64 = 4;
/// How many of 100 appends fail without a trace, and how many fail although they were written.
const REFUSED: u64 = 4;
const AMBIGUOUS: u64 = 4;
/// How many of 100 other calls of the store fail.
const UNAVAILABLE: u8 = 2;
/// The time at which every simulation begins.
const START_MS: u64 = 1_800_000_000_000;

/// The time of tokio's clock, as the wall clock of the agents.
struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(START_MS).after(self.0.elapsed())
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(deadline.since(self.now())))
    }
}

/// What survives a crash.
struct Disk {
    store: FaultyStore,
    /// The sessions that a host claimed.
    sessions: Mutex<BTreeSet<SessionId>>,
    /// Wakes everything that waits for an event.
    grown: watch::Sender<()>,
}

/// Hosts on one store, of which one lives.
pub(crate) struct SimulatedHosts {
    agents: MarkingAgents,
    disk: Arc<Disk>,
    life: Mutex<Life>,
}

impl SimulatedHosts {
    /// Creates a place without sessions. Must be called in a runtime whose clock is paused.
    pub(crate) fn new(seed: u64) -> Self {
        let random = SeededRandom::new(seed);
        let clock = Arc::new(RuntimeClock(Instant::now()));
        let mut appends = random.fork("appends");
        let mut operations = random.fork("operations");
        let store = FaultyStore::new(clock.clone())
            .with_plan(move |_| append_fault(&mut appends))
            .with_trouble(move |_| operation_fault(&mut operations));
        let disk = Arc::new(Disk { store, sessions: Mutex::default(), grown: watch::Sender::new(()) });
        let entropy = Arc::new(SeededEntropy::new(seed));
        let mut agents = MarkingAgents::new(clock, entropy);
        // Half of the worlds have views from snapshots of almost every position.
        agents.snapshot_every = if random.fork("snapshots").chance(50) { 1 } else { 4096 };
        Self { agents, disk, life: Mutex::default() }
    }

    /// What happened, for the comparison of two runs: time and kind of every event.
    pub(crate) fn trace(&self) -> Vec<String> {
        let sessions = self.disk.sessions.lock().unwrap();
        let events = sessions.iter().flat_map(|session_id| self.disk.store.survivors(session_id));
        events.map(|event| format!("{} {}", event.timestamp.as_millis(), event.event.name())).collect()
    }
}

fn append_fault(random: &mut SeededRandom) -> Fault {
    let time = Duration::from_millis(random.below(LONGEST_CALL_MS + 1));
    let roll = random.below(100);
    let fault = match roll {
        _ if roll < REFUSED => Fault::Refuse,
        _ if roll < REFUSED + AMBIGUOUS => Fault::Ambiguous,
        // A crash meanwhile finds the events, or does not.
        _ if roll.is_multiple_of(2) => return Fault::Late(time),
        _ => Fault::None,
    };
    Fault::Delayed(time, Box::new(fault))
}

fn operation_fault(random: &mut SeededRandom) -> OperationFault {
    let time = Duration::from_millis(random.below(LONGEST_CALL_MS + 1));
    if random.chance(UNAVAILABLE) { OperationFault::Unavailable } else { OperationFault::Delayed(time) }
}

impl HostFixture for SimulatedHosts {
    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>> {
        let life = Life::default();
        *self.life.lock().unwrap() = life.clone();
        let store = Arc::new(LivingStore { disk: Arc::clone(&self.disk), life: life.clone() });
        let mut agents = self.agents.clone();
        agents.life = life;
        let mut options = HostOptions::default();
        options.ask_policy = policy;
        let local = Local::new(store, Arc::new(agents), Principal::new("user:ada"), options);
        Box::pin(std::future::ready(Arc::new(local) as Arc<dyn Sessions>))
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        self.life.lock().unwrap().end();
        Box::pin(std::future::ready(()))
    }

    fn directories(&self) -> [String; 2] {
        ["/project".to_owned(), "/elsewhere".to_owned()]
    }

    fn model(&self) -> &ModelScript {
        &self.agents.model
    }

    fn files(&self) -> &ScriptedFiles {
        &self.agents.files
    }

    fn other_mode(&self) -> String {
        "careful".to_owned()
    }

    fn other_model(&self) -> String {
        "second-model".to_owned()
    }

    fn heal(&self) {
        self.disk.store.heal();
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        Box::pin(std::future::ready(self.disk.store.survivors(session_id)))
    }
}

/// The store as one process sees it.
struct LivingStore {
    disk: Arc<Disk>,
    life: Life,
}

impl LivingStore {
    fn store(&self) -> &FaultyStore {
        &self.disk.store
    }

    /// The events of a session, after the time that a call takes.
    async fn events(&self, session_id: &SessionId) -> Result<Vec<Event>, StoreError> {
        self.head(session_id).await?;
        Ok(self.store().survivors(session_id))
    }
}

impl SessionStore for LivingStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        self.disk.sessions.lock().unwrap().insert(session_id.clone());
        Box::pin(self.life.act(self.store().claim(session_id)))
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.life.act(self.store().release(session_id, epoch)))
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(async move {
            let result = self.life.act(self.store().append(append)).await;
            self.disk.grown.send_replace(());
            result
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(self.life.act(self.store().read(session_id, from_seq, limit)))
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.life.act(self.store().head(session_id)))
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.life.act(self.store().put_snapshot(session_id, snapshot)))
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        Box::pin(self.life.act(self.store().snapshot(session_id, seq)))
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(self.life.act(self.store().put_blob(bytes)))
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        Box::pin(self.life.act(self.store().blob(hash)))
    }
}

/// What no script of the suite asks of a store.
fn unused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unavailable("not part of the simulation".to_owned()))))
}

impl SessionArchive for LivingStore {
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let events = self.events(session_id).await?;
            Ok(events.into_iter().rev().filter(|event| event.seq < before_seq).take(limit).collect())
        })
    }

    fn wait_for_growth<'a>(
        &'a self,
        session_id: &'a SessionId,
        beyond: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut grown = self.disk.grown.subscribe();
            loop {
                grown.mark_unchanged();
                let head = self.head(session_id).await?;
                if head > beyond {
                    return Ok(head);
                }
                let _ = self.life.act(grown.changed()).await;
            }
        })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        Box::pin(async move { Ok(SessionSummary::of(session_id.clone(), &self.events(session_id).await?)) })
    }

    fn list<'a>(&'a self, _: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        unused()
    }

    fn fork<'a>(
        &'a self,
        _: &'a SessionId,
        _: u64,
        _: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        unused()
    }

    fn delete<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        unused()
    }

    fn verify<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        unused()
    }

    fn repair<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        unused()
    }

    fn collect_garbage(&self, _: Duration) -> BoxFuture<'_, Result<GarbageReport, StoreError>> {
        unused()
    }
}
