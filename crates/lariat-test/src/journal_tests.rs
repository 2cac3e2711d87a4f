//! Tests of the faulty store: each fault has the effect that it describes, and otherwise the contract is
//! fulfilled.

use lariat_core::event::{AgentEvent, FORMAT_VERSION, LoopConfigSnapshot, LoopStart, MessageRef, QueueKind};
use lariat_core::id::{EventId, LoopId};
use lariat_core::message::AgentMessage;

use super::*;
use crate::clock::{EPOCH, VirtualClock};
use crate::executor::{Executor, Halt, block_on};

/// A store without faults fulfils the contract.
mod conformance {
    use super::*;
    use crate::conformance::StoreFixture;

    struct WithoutFaults(Arc<FaultyStore>);

    impl WithoutFaults {
        fn new() -> Self {
            Self(Arc::new(FaultyStore::new(VirtualClock::new().shared()).through_json()))
        }
    }

    impl StoreFixture for WithoutFaults {
        fn open(&self) -> BoxFuture<'_, Arc<dyn SessionStore>> {
            Box::pin(async { Arc::clone(&self.0) as Arc<dyn SessionStore> })
        }
    }

    crate::store_conformance!(WithoutFaults::new());
}

fn session() -> SessionId {
    SessionId::from("s")
}

fn record(seq: u64, event: AgentEvent) -> Event {
    Arc::new(EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::default(),
        timestamp: EPOCH.after(Duration::from_secs(seq)),
        loop_id: Some(LoopId::from("s.c.0")),
        event,
    })
}

fn events(from: u64, count: u64) -> Vec<Event> {
    (from..from + count)
        .map(|seq| record(seq, AgentEvent::Checkpoint { label: format!("e{seq}"), message_id: None }))
        .collect()
}

struct Bench {
    clock: VirtualClock,
    store: FaultyStore,
    epoch: Epoch,
}

/// A claimed session with two events in it.
fn bench(faults: impl IntoIterator<Item = Fault>) -> Bench {
    let clock = VirtualClock::new();
    let faults: Vec<Fault> = std::iter::once(Fault::None).chain(faults).collect();
    let store = FaultyStore::new(clock.shared()).with_faults(faults);
    let epoch = block_on(&clock, store.claim(&session())).unwrap().unwrap();
    let bench = Bench { clock, store, epoch };
    assert_eq!(bench.append(0, 2), Ok(Ok(Ack { next_seq: 2, durability: Durability::Durable })));
    bench
}

impl Bench {
    fn append(&self, at: u64, count: u64) -> Result<Result<Ack, StoreError>, Halt> {
        let (session, batch) = (session(), events(at, count));
        block_on(&self.clock, self.store.append(Append::new(&session, self.epoch, at, &batch)))
    }

    fn lengths(&self) -> (usize, usize) {
        (self.store.survivors(&session()).len(), self.store.acknowledged(&session()).len())
    }
}

#[test]
fn without_faults_everything_is_stored_and_acknowledged() {
    let bench = bench([]);
    assert_eq!(bench.append(2, 3).unwrap().unwrap().next_seq, 5);
    assert_eq!(bench.lengths(), (5, 5));
    let read = block_on(&bench.clock, bench.store.read(&session(), 1, 2)).unwrap().unwrap();
    assert_eq!(read.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2]);
    assert!(Arc::ptr_eq(&read[0], &bench.store.survivors(&session())[1]), "events survive as themselves");
    assert_eq!(block_on(&bench.clock, bench.store.head(&session())).unwrap(), Ok(5));
    assert_eq!(block_on(&bench.clock, bench.store.head(&"other".into())).unwrap(), Ok(0));
    assert_eq!(block_on(&bench.clock, bench.store.read(&"other".into(), 0, 9)).unwrap(), Ok(vec![]));
    assert_eq!(bench.store.injected_faults(), []);
}

#[test]
fn a_failed_append_has_the_effect_of_its_fault_and_is_never_acknowledged() {
    let cases = [
        (Fault::Refuse, 2),
        (Fault::Ambiguous, 5),
        (Fault::Torn { written: 0 }, 2),
        (Fault::Torn { written: 1 }, 3),
        (Fault::Torn { written: 9 }, 5),
    ];
    for (fault, survivors) in cases {
        let bench = bench([fault.clone()]);
        let answer = bench.append(2, 3).unwrap();
        assert!(matches!(&answer, Err(StoreError::Unavailable(_))), "{fault:?}: {answer:?}");
        assert_eq!(bench.lengths(), (survivors, 2), "{fault:?}");
        assert_eq!(bench.store.injected_faults(), [(1, fault)]);
    }
}

#[test]
fn an_acknowledgement_includes_everything_before_it() {
    let bench = bench([Fault::Torn { written: 1 }]);
    bench.append(2, 3).unwrap().unwrap_err();
    assert_eq!(bench.lengths(), (3, 2));
    bench.append(3, 2).unwrap().unwrap();
    assert_eq!(bench.lengths(), (5, 5));
    let seqs: Vec<u64> = bench.store.acknowledged(&session()).iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 4]);
}

#[test]
fn after_a_crash_nothing_completes_until_the_store_is_reopened() {
    for written in 0..=3 {
        let bench = bench([Fault::Crash { written }]);
        assert_eq!(bench.append(2, 3), Err(Halt::Stalled));
        assert!(bench.store.is_crashed());
        assert_eq!(bench.lengths(), (2 + written, 2));
        assert_eq!(bench.append(2 + written as u64, 1), Err(Halt::Stalled), "the process is dead");
        assert_eq!(block_on(&bench.clock, bench.store.head(&session())), Err(Halt::Stalled));
        bench.store.reopen();
        assert!(!bench.store.is_crashed());
        assert_eq!(block_on(&bench.clock, bench.store.head(&session())).unwrap(), Ok(2 + written as u64));
    }
}

#[test]
fn operations_pending_at_a_crash_never_complete() {
    let bench =
        bench([Fault::Late(Duration::from_secs(1)), Fault::Delayed(Duration::from_secs(1), Box::default())]);
    let session = session();
    let (late, delayed) = (events(2, 1), events(3, 1));
    let answers = std::cell::Cell::new(0);
    let mut executor = Executor::new(bench.clock.clone(), SeededRandom::new(1));
    for (at, batch) in [(2, &late), (3, &delayed)] {
        let append = bench.store.append(Append::new(&session, bench.epoch, at, batch));
        let answers = &answers;
        executor.spawn(async move {
            let _ = append.await;
            answers.set(answers.get() + 1);
        });
        executor.step();
    }
    bench.store.crash();
    bench.store.reopen();
    assert_eq!(executor.run(100), Err(Halt::Stalled));
    assert_eq!(answers.get(), 0);
    assert_eq!(bench.lengths(), (3, 2), "the late one was written, the delayed one was not");
}

#[test]
fn late_and_delayed_appends_take_virtual_time() {
    let delayed = Fault::Delayed(Duration::from_secs(5), Box::new(Fault::Refuse));
    let bench = bench([Fault::Late(Duration::from_secs(2)), delayed]);
    bench.append(2, 1).unwrap().unwrap();
    assert_eq!(bench.clock.now().since(EPOCH), Duration::from_secs(2));
    bench.append(3, 1).unwrap().unwrap_err();
    assert_eq!(bench.clock.now().since(EPOCH), Duration::from_secs(7));
    assert_eq!(bench.lengths(), (3, 3));
}

#[test]
fn a_stale_writer_writes_nothing() {
    let bench = bench([Fault::None, Fault::Fence]);
    let newer = block_on(&bench.clock, bench.store.claim(&session())).unwrap().unwrap();
    assert!(newer > bench.epoch);
    assert_eq!(bench.append(2, 1).unwrap(), Err(StoreError::Fenced { current: newer }));
    let bench = Bench { epoch: newer, ..bench };
    let fenced = bench.append(2, 1).unwrap();
    assert_eq!(fenced, Err(StoreError::Fenced { current: bench.store.epoch(&session()) }));
    assert_eq!(bench.lengths(), (2, 2));
}

#[test]
fn a_writer_that_is_fenced_while_its_append_is_delayed_writes_nothing() {
    let bench = bench([Fault::Delayed(Duration::from_secs(1), Box::default())]);
    let (session, batch) = (session(), events(2, 1));
    let mut executor = Executor::new(bench.clock.clone(), SeededRandom::new(1));
    executor.spawn(async {
        let answer = bench.store.append(Append::new(&session, bench.epoch, 2, &batch)).await;
        assert!(matches!(answer, Err(StoreError::Fenced { .. })));
    });
    executor.step();
    block_on(&VirtualClock::new(), bench.store.claim(&session)).unwrap().unwrap();
    assert_eq!(executor.run(10), Ok(()));
    assert_eq!(bench.lengths(), (2, 2));
}

#[test]
fn wrong_positions_and_unknown_sessions_are_rejected() {
    let bench = bench([]);
    assert_eq!(bench.append(1, 1).unwrap(), Err(StoreError::Conflict { expected: 1, actual: 2 }));
    assert_eq!(bench.store.misuses(), [], "a writer may be wrong about where the journal is");
    let other = SessionId::from("other");
    let append = Append::new(&other, Epoch(1), 0, &[]);
    assert!(matches!(
        block_on(&bench.clock, bench.store.append(append)).unwrap(),
        Err(StoreError::NotFound(_))
    ));
}

#[test]
fn misplaced_and_live_events_are_rejected_and_recorded() {
    let bench = bench([]);
    let session = session();
    let misplaced = events(7, 1);
    let append = Append::new(&session, bench.epoch, 2, &misplaced);
    assert!(block_on(&bench.clock, bench.store.append(append)).unwrap().is_err());
    let live = [record(2, AgentEvent::MessageStart { message: MessageRef::unresolved(Default::default()) })];
    let append = Append::new(&session, bench.epoch, 2, &live);
    assert!(block_on(&bench.clock, bench.store.append(append)).unwrap().is_err());
    assert_eq!(
        bench.store.misuses(),
        [ContractViolation::Misplaced { position: 2, seq: 7 }, ContractViolation::Live { position: 2 }]
    );
    assert_eq!(bench.lengths(), (2, 2));
}

#[test]
fn through_json_events_are_equal_but_not_the_same_objects() {
    let clock = VirtualClock::new();
    let store = FaultyStore::new(clock.shared()).through_json();
    let session = session();
    let epoch = block_on(&clock, store.claim(&session)).unwrap().unwrap();
    let message = Arc::new(AgentMessage::user("hello"));
    let batch = [record(0, AgentEvent::MessageQueued { queue: QueueKind::Steering, message })];
    block_on(&clock, store.append(Append::new(&session, epoch, 0, &batch))).unwrap().unwrap();
    for events in [store.survivors(&session), block_on(&clock, store.read(&session, 0, 9)).unwrap().unwrap()]
    {
        assert_eq!(events, batch);
        assert!(!Arc::ptr_eq(&events[0], &batch[0]));
    }
}

#[test]
fn through_json_an_event_that_changes_is_reported_as_damage() {
    // An event of a known kind without its fields, and a number that JSON cannot represent.
    let fields = serde_json::json!({"type": "Checkpoint"}).as_object().cloned().unwrap();
    let mut config = LoopConfigSnapshot::default();
    config.temperature = Some(f32::INFINITY);
    let mut start = LoopStart::new("a".into(), session(), "s.c.0".into());
    start.config = Some(Arc::new(config));
    for event in [AgentEvent::Unknown(fields), AgentEvent::AgentStart(Box::new(start))] {
        let clock = VirtualClock::new();
        let store = FaultyStore::new(clock.shared()).through_json();
        let (session, batch) = (session(), [record(0, event)]);
        let epoch = block_on(&clock, store.claim(&session)).unwrap().unwrap();
        block_on(&clock, store.append(Append::new(&session, epoch, 0, &batch))).unwrap().unwrap();
        let read = block_on(&clock, store.read(&session, 0, 9)).unwrap();
        assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    }
}

#[test]
fn other_operations_fail_wait_or_crash_as_planned() {
    let clock = VirtualClock::new();
    let mut troubles = vec![
        OperationFault::Crash,
        OperationFault::Delayed(Duration::from_secs(3)),
        OperationFault::Unavailable,
    ];
    let store = FaultyStore::new(clock.shared()).with_trouble(move |_| troubles.pop().unwrap_or_default());
    assert!(matches!(block_on(&clock, store.head(&session())).unwrap(), Err(StoreError::Unavailable(_))));
    assert_eq!(block_on(&clock, store.head(&session())).unwrap(), Ok(0));
    assert_eq!(clock.now().since(EPOCH), Duration::from_secs(3));
    assert_eq!(block_on(&clock, store.head(&session())), Err(Halt::Stalled));
    assert!(store.is_crashed());
}

#[test]
fn lost_and_torn_snapshots_are_found_as_the_fault_left_them() {
    let put = |faults: [OperationFault; 3]| {
        let clock = VirtualClock::new();
        let mut faults = faults.into_iter();
        let store = FaultyStore::new(clock.shared()).with_trouble(move |operation| match operation {
            Operation::Snapshot => faults.next().unwrap_or_default(),
            _ => OperationFault::None,
        });
        block_on(&clock, store.claim(&session())).unwrap().unwrap();
        for seq in [3, 5] {
            let snapshot = Snapshot::new(seq, b"state".to_vec());
            block_on(&clock, store.put_snapshot(&session(), snapshot)).unwrap().unwrap();
        }
        let found = block_on(&clock, store.snapshot(&session(), 9)).unwrap().unwrap();
        found.map(|snapshot| (snapshot.seq, snapshot.state))
    };
    let (none, lost, torn) = (OperationFault::None, OperationFault::Lost, OperationFault::Torn);
    assert_eq!(put([none, none, none]), Some((5, b"state".to_vec())));
    assert_eq!(put([none, lost, none]), Some((3, b"state".to_vec())), "the newer one was not stored");
    assert_eq!(put([none, none, lost]), Some((3, b"state".to_vec())), "the newer one is not found");
    assert_eq!(put([lost, none, lost]), None);
    assert_eq!(put([none, torn, none]), Some((5, b"st".to_vec())));
    assert_eq!(put([none, none, torn]), Some((5, b"st".to_vec())));
}

#[test]
fn equal_seeds_give_equal_faults_and_rates_are_met() {
    let rates = FaultRates {
        refuse: 10,
        torn: 20,
        crash: 5,
        late: 5,
        max_delay: Duration::from_millis(9),
        ..Default::default()
    };
    let draw = |seed| {
        let mut random = SeededRandom::new(seed);
        (0..1_000).map(|_| rates.draw(&mut random, 4)).collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let faults = draw(3);
    let count = |wanted: fn(&Fault) -> bool| faults.iter().filter(|fault| wanted(fault)).count();
    assert!((70..130).contains(&count(|fault| *fault == Fault::Refuse)));
    assert!((160..240).contains(&count(|fault| matches!(fault, Fault::Torn { .. }))));
    assert!((550..650).contains(&count(|fault| *fault == Fault::None)));
    for written in 0..=4 {
        assert!(faults.contains(&Fault::Torn { written }), "batches should be torn at every position");
    }
    assert!(faults.iter().all(|fault| !matches!(fault, Fault::Late(delay) if delay.as_millis() > 9)));
}

#[test]
fn a_healed_store_accepts_appends() {
    let bench = bench([Fault::Refuse, Fault::Refuse]);
    bench.append(2, 1).unwrap().unwrap_err();
    bench.store.heal();
    bench.append(2, 1).unwrap().unwrap();
}

#[test]
fn blobs_are_read_back() {
    let bench = bench([]);
    let hash = block_on(&bench.clock, bench.store.put_blob(b"bytes")).unwrap().unwrap();
    assert_eq!(block_on(&bench.clock, bench.store.blob(&hash)).unwrap(), Ok(b"bytes".to_vec()));
    let missing = BlobHash("00".into());
    assert!(matches!(
        block_on(&bench.clock, bench.store.blob(&missing)).unwrap(),
        Err(StoreError::NotFound(_))
    ));
}
