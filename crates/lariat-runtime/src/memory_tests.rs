//! Tests what the in-memory store guarantees.

use std::sync::Arc;

use futures_util::future::FutureExt;
use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION};
use lariat_core::id::EventId;
use lariat_core::time::Timestamp;

use super::*;

fn event(seq: u64, at: u64) -> Event {
    Arc::new(EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::default(),
        timestamp: Timestamp::from_millis(at),
        loop_id: None,
        event: AgentEvent::InputRejected { reason: seq.to_string() },
    })
}

fn events(range: std::ops::Range<u64>) -> Vec<Event> {
    range.map(|seq| event(seq, seq)).collect()
}

/// Runs a future that never waits.
fn now<T>(future: BoxFuture<'_, T>) -> T {
    future.now_or_never().expect("the memory store answers immediately")
}

fn claimed(store: &MemoryStore, session: &str) -> (SessionId, Epoch) {
    let session = SessionId::from(session);
    let epoch = now(store.claim(&session)).unwrap();
    (session, epoch)
}

#[test]
fn reads_appended_events_in_order_and_in_pages() {
    let store = MemoryStore::new();
    let (session, epoch) = claimed(&store, "s");
    let ack = now(store.append(Append::new(&session, epoch, 0, &events(0..7)))).unwrap();
    assert_eq!(ack, Ack { next_seq: 7, durability: Durability::Memory });
    now(store.append(Append::new(&session, epoch, 7, &events(7..10)))).unwrap();
    assert_eq!(now(store.head(&session)), Ok(10));
    assert_eq!(now(store.read(&session, 0, 100)).unwrap(), events(0..10));
    assert_eq!(now(store.read(&session, 4, 5)).unwrap(), events(4..9));
    assert_eq!(now(store.read(&session, 10, 5)).unwrap(), []);
    assert_eq!(now(store.read(&session, u64::MAX, 5)).unwrap(), []);
}

#[test]
fn unknown_session_is_empty() {
    let store = MemoryStore::new();
    let session = SessionId::from("unknown");
    assert_eq!(now(store.head(&session)), Ok(0));
    assert_eq!(now(store.read(&session, 0, 10)), Ok(vec![]));
    assert!(matches!(
        now(store.append(Append::new(&session, Epoch(0), 0, &events(0..1)))),
        Err(StoreError::NotFound(_))
    ));
}

#[test]
fn claim_fences_off_every_earlier_writer() {
    let store = MemoryStore::new();
    let (session, first) = claimed(&store, "s");
    let (_, second) = claimed(&store, "s");
    assert!(second > first);
    let stale = now(store.append(Append::new(&session, first, 0, &events(0..1))));
    assert_eq!(stale, Err(StoreError::Fenced { current: second }));
    assert_eq!(now(store.head(&session)), Ok(0));
    assert!(now(store.append(Append::new(&session, second, 0, &events(0..1)))).is_ok());
    // A stale writer gets this error even if its position is wrong, too.
    let stale = now(store.append(Append::new(&session, first, 9, &events(9..10))));
    assert_eq!(stale, Err(StoreError::Fenced { current: second }));
}

#[test]
fn batch_at_the_wrong_position_or_with_a_gap_is_rejected_completely() {
    let store = MemoryStore::new();
    let (session, epoch) = claimed(&store, "s");
    now(store.append(Append::new(&session, epoch, 0, &events(0..3)))).unwrap();
    let append =
        |expected, events: &[Event]| now(store.append(Append::new(&session, epoch, expected, events)));
    assert_eq!(append(2, &events(2..4)), Err(StoreError::Conflict { expected: 2, actual: 3 }));
    assert_eq!(append(4, &events(4..5)), Err(StoreError::Conflict { expected: 4, actual: 3 }));
    assert_eq!(append(2, &events(3..4)), Err(StoreError::Conflict { expected: 2, actual: 3 }));
    assert_eq!(append(2, &[]), Err(StoreError::Conflict { expected: 2, actual: 3 }));
    let hole = [event(3, 0), event(5, 0)];
    assert_eq!(append(3, &hole), Err(StoreError::Conflict { expected: 5, actual: 4 }));
    assert_eq!(now(store.head(&session)), Ok(3));
}

#[test]
fn lists_sessions_newest_first() {
    let store = MemoryStore::new();
    for (name, at) in [("old", 10), ("newest", 30), ("middle", 20)] {
        let (session, epoch) = claimed(&store, name);
        now(store.append(Append::new(&session, epoch, 0, &[event(0, 1), event(1, at)]))).unwrap();
    }
    claimed(&store, "only claimed");
    let sessions = store.sessions();
    let names: Vec<&str> = sessions.iter().map(|session| session.session_id.as_str()).collect();
    assert_eq!(names, ["newest", "middle", "old"]);
    let first = &sessions[0];
    assert_eq!((first.events, first.created_at.as_millis(), first.last_active_at.as_millis()), (2, 1, 30));
}

#[test]
fn stores_each_blob_once_under_a_stable_address() {
    let store = MemoryStore::new();
    let hash = now(store.put_blob(b"a picture")).unwrap();
    assert_eq!(now(store.put_blob(b"a picture")).unwrap(), hash);
    assert_eq!(lock_unpoisoned(&store.blobs).len(), 1);
    assert_ne!(now(store.put_blob(b"another")).unwrap(), hash);
    assert_eq!(now(store.blob(&hash)).unwrap(), b"a picture");
    assert!(matches!(now(store.blob(&name(7))), Err(StoreError::NotFound(_))));
    assert!(matches!(now(store.blob(&BlobHash("sha256:00".to_owned()))), Err(StoreError::NotFound(_))));
}

#[test]
fn addresses_match_the_published_fnv_1a_values() {
    // Test vectors of draft-eastlake-fnv for FNV-1a 128: "", "a", "foobar".
    assert_eq!(address(b""), 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D);
    assert_eq!(address(b"a"), 0xD228_CB69_6F1A_8CAF_7891_2B70_4E4A_8964);
    assert_eq!(address(b"foobar"), 0x343E_1662_793C_64BF_6F0D_3597_BA44_6F18);
}

#[test]
fn address_collision_is_rejected() {
    let store = MemoryStore::new();
    lock_unpoisoned(&store.blobs).insert(address(b"mine"), Box::from(*b"planted"));
    assert!(matches!(now(store.put_blob(b"mine")), Err(StoreError::Damaged(_))));
}

#[test]
fn sessions_keep_their_order_when_many_threads_append() {
    let store = MemoryStore::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..50 {
                    let (session, epoch) = claimed(store, &format!("{thread}-{number}"));
                    for seq in 0..40 {
                        now(store.append(Append::new(&session, epoch, seq, &events(seq..seq + 1)))).unwrap();
                    }
                }
            });
        }
    });
    let sessions = store.sessions();
    assert_eq!(sessions.len(), 400);
    for session in sessions {
        assert_eq!(now(store.read(&session.session_id, 0, 100)).unwrap(), events(0..40));
    }
}

#[test]
fn exactly_one_of_several_racing_writers_wins_a_position() {
    let store = MemoryStore::new();
    let (session, epoch) = claimed(&store, "s");
    let wins: u64 = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let append =
                    |seq| now(store.append(Append::new(&session, epoch, seq, &events(seq..seq + 1)))).is_ok();
                scope.spawn(move || (0..2_000).filter(|seq| append(*seq)).count() as u64)
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    let head = now(store.head(&session)).unwrap();
    assert_eq!(wins, head);
    assert_eq!(now(store.read(&session, 0, usize::MAX)).unwrap(), events(0..head));
}

#[test]
fn sessions_are_spread_over_the_shards() {
    let store = MemoryStore::new();
    for number in 0..6_400 {
        claimed(&store, &format!("session-{number}"));
    }
    let largest = store.shards.iter().map(|shard| lock_unpoisoned(shard).len()).max();
    assert!(largest < Some(200), "{largest:?} of 100 expected");
}
