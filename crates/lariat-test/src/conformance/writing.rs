//! Checks of claiming, appending, reading and blobs: all that a running loop needs.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::store::{Append, BlobHash, Durability, SessionStore, StoreError};

use super::{Script, StoreFixture, message_event};

/// Positions and limits to read with in a journal of 600 events.
pub(super) const POSITIONS: [(u64, usize); 9] =
    [(0, 0), (0, 1), (0, 600), (1, 255), (255, 2), (256, 256), (599, 5), (600, 5), (9_999, 5)];

pub(super) fn checkpoint(label: impl Into<String>) -> AgentEvent {
    AgentEvent::Checkpoint { label: label.into(), message_id: None }
}

/// Also after the store was reopened.
pub async fn appended_events_are_read_back_in_order(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, [message_event("one")]).await;
    script.write(&*store, (0..700).map(|n| checkpoint(format!("c{n}")))).await;
    script.write(&*store, []).await;
    script.write(&*store, [message_event("two"), checkpoint("last")]).await;
    script.check(&*store).await;
    drop(store);
    if place.is_persistent() {
        let store = place.open().await;
        script.check(&*store).await;
        let epoch = script.epoch;
        let mut next = Script::claim(&*store, "s", 9_000_000).await;
        assert!(next.epoch > epoch, "{:?} after {epoch:?}", next.epoch);
        next.catch_up(&*store).await;
        next.write(&*store, [message_event("three")]).await;
        next.check(&*store).await;
    }
}

/// A rejected append changes nothing.
pub async fn an_append_at_the_wrong_position_is_rejected(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, (0..3).map(|n| checkpoint(format!("c{n}")))).await;
    let mut elsewhere = Script::claim(&*store, "elsewhere", 1_000).await;
    let numbered = elsewhere.make((0..9).map(|n| checkpoint(format!("n{n}"))));
    let (id, epoch) = (script.session_id.clone(), script.epoch);
    let append =
        async |expected, events: &[Event]| store.append(Append::new(&id, epoch, expected, events)).await;
    let conflict = |expected, actual| Err(StoreError::Conflict { expected, actual });
    assert_eq!(append(2, &numbered[2..4]).await, conflict(2, 3));
    assert_eq!(append(4, &numbered[4..5]).await, conflict(4, 3));
    assert_eq!(append(2, &[]).await, conflict(2, 3));
    assert_eq!(append(3, &numbered[4..5]).await, conflict(4, 3));
    let hole = [Arc::clone(&numbered[3]), Arc::clone(&numbered[5])];
    assert_eq!(append(3, &hole).await, conflict(5, 4));
    assert_eq!(append(3, &[]).await.unwrap().next_seq, 3);
    script.check(&*store).await;
    script.write(&*store, [message_event("goes on")]).await;
    script.check(&*store).await;
}

/// Its appends change nothing.
pub async fn a_writer_that_was_replaced_is_fenced_off(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut old = Script::claim(&*store, "s", 1_000).await;
    old.write(&*store, [message_event("old")]).await;
    let mut new = Script::claim(&*store, "s", 2_000_000).await;
    assert!(new.epoch > old.epoch);
    new.catch_up(&*store).await;
    let late = old.make([message_event("too late")]);
    let refused = store.append(Append::new(&old.session_id, old.epoch, 1, &late)).await;
    assert_eq!(refused, Err(StoreError::Fenced { current: new.epoch }));
    new.write(&*store, [message_event("new")]).await;
    new.check(&*store).await;
}

/// Its writer cannot write until it claims the session again; its earlier events remain.
pub async fn a_released_session_rejects_its_old_writer_and_accepts_a_new_one(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut old = Script::claim(&*store, "s", 1_000).await;
    old.write(&*store, [message_event("one")]).await;
    store.release(&old.session_id, old.epoch).await.unwrap();
    old.check(&*store).await;
    let late = old.make([message_event("too late")]);
    let refused = store.append(Append::new(&old.session_id, old.epoch, 1, &late)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    store.release(&old.session_id, old.epoch).await.unwrap();
    let mut new = Script::claim(&*store, "s", 2_000_000).await;
    assert!(new.epoch > old.epoch, "{:?} after {:?}", new.epoch, old.epoch);
    new.catch_up(&*store).await;
    new.write(&*store, [message_event("two")]).await;
    new.check(&*store).await;
}

/// Neither the release of a replaced writer nor that of an unknown session has an effect.
pub async fn a_release_of_another_claim_changes_nothing(place: &dyn StoreFixture) {
    let store = place.open().await;
    let old = Script::claim(&*store, "s", 1_000).await;
    let mut new = Script::claim(&*store, "s", 2_000_000).await;
    store.release(&old.session_id, old.epoch).await.unwrap();
    new.write(&*store, [message_event("goes on")]).await;
    new.check(&*store).await;
    let unknown = SessionId::from("unknown");
    store.release(&unknown, old.epoch).await.unwrap();
    assert_eq!(store.head(&unknown).await, Ok(0));
}

/// The events of the winner are in the journal.
pub async fn exactly_one_of_several_racing_writers_wins(place: &dyn StoreFixture) {
    let store = place.open().await;
    let first = Script::claim(&*store, "s", 1_000).await;
    let mut racers = Vec::new();
    for racer in 0..8_u64 {
        let (store, id, epoch) = (Arc::clone(&store), first.session_id.clone(), first.epoch);
        let mut script = Script::claim(&*store, &format!("names {racer}"), racer).await;
        racers.push(tokio::spawn(async move {
            let mut won = Vec::new();
            for seq in 0..20 {
                script.written.clear();
                let names = script.make((0..=seq).map(|n| checkpoint(format!("{racer} {n}"))));
                let own = &names[names.len() - 1..];
                if store.append(Append::new(&id, epoch, seq, own)).await.is_ok() {
                    won.extend_from_slice(own);
                }
            }
            won
        }));
    }
    let mut won = Vec::new();
    for racer in racers {
        won.extend(racer.await.unwrap());
    }
    won.sort_by_key(|event| event.seq);
    assert_eq!(store.read(&first.session_id, 0, usize::MAX).await.unwrap(), won);
    assert_eq!(won.len(), 20);
}

/// Reading is not an error, because a listing may be older than a deletion.
pub async fn an_unclaimed_session_is_empty_and_rejects_appends(place: &dyn StoreFixture) {
    let store = place.open().await;
    let unknown = SessionId::from("unknown");
    assert_eq!(store.head(&unknown).await, Ok(0));
    assert_eq!(store.read(&unknown, 0, 10).await, Ok(Vec::new()));
    assert_eq!(store.snapshot(&unknown, u64::MAX).await, Ok(None));
    let mut script = Script::claim(&*store, "claimed", 1_000).await;
    let events = script.make([message_event("hello")]);
    let refused = store.append(Append::new(&unknown, script.epoch, 0, &events)).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
    assert_eq!(store.head(&script.session_id).await, Ok(0));
}

/// Returns fewer events than the limit only at the end.
pub async fn a_journal_is_read_from_any_position(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, (0..600).map(|n| checkpoint(format!("c{n}")))).await;
    for (from, limit) in POSITIONS {
        let read = store.read(&script.session_id, from, limit).await.unwrap();
        let expected: Vec<Event> = script.written.iter().skip(from as usize).take(limit).cloned().collect();
        assert_eq!(read, expected, "{limit} from {from}");
    }
}

/// With concurrent readers.
pub async fn sessions_written_concurrently_keep_their_order(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut writers = Vec::new();
    for writer in 0..12_u64 {
        let store = Arc::clone(&store);
        writers.push(tokio::spawn(async move {
            let mut script = Script::claim(&*store, &format!("session {writer}"), writer * 1_000).await;
            for turn in 0..15 {
                script
                    .write(&*store, (0..1 + turn % 4).map(|n| checkpoint(format!("{writer} {turn} {n}"))))
                    .await;
                assert_eq!(store.head(&script.session_id).await.unwrap(), script.written.len() as u64);
            }
            script.check(&*store).await;
            script
        }));
    }
    for writer in writers {
        writer.await.unwrap().check(&*store).await;
    }
}

/// Also after the store was reopened.
pub async fn large_content_is_read_back(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let picture = "QUJD".repeat(200_000);
    script.write(&*store, [message_event(&picture), message_event("small"), message_event(&picture)]).await;
    script.write(&*store, [message_event(&"\u{1F98A}\n\"\\ \u{0}".repeat(20_000))]).await;
    script.check(&*store).await;
    drop(store);
    if place.is_persistent() {
        script.check(&*place.open().await).await;
    }
}

/// A journal written by a newer version is preserved.
pub async fn unknown_kinds_of_events_are_preserved(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let fields = serde_json::json!({"type": "FromTheFuture", "deep": {"$blobs": {"/x": "y"}, "n": 1.5e300, "list": [null]}});
    script
        .write(&*store, [AgentEvent::Unknown(fields.as_object().unwrap().clone()), message_event("after it")])
        .await;
    script.check(&*store).await;
}

/// The same content is stored once.
pub async fn blobs_are_kept_under_their_address(place: &dyn StoreFixture) {
    let store = place.open().await;
    let hash = store.put_blob(b"a picture").await.unwrap();
    assert_eq!(store.put_blob(b"a picture").await.unwrap(), hash);
    let empty = store.put_blob(b"").await.unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let big = store.put_blob(&large).await.unwrap();
    assert!(hash != empty && big != empty);
    assert_eq!(store.blob(&hash).await.unwrap(), b"a picture");
    assert_eq!(store.blob(&empty).await.unwrap(), b"");
    for missing in ["blake3:00", "sha256:00", "", "../../etc/passwd", &format!("blake3:{}", "0".repeat(64))] {
        let found = store.blob(&BlobHash(missing.to_owned())).await;
        assert!(matches!(found, Err(StoreError::NotFound(_))), "{missing}: {found:?}");
    }
    drop(store);
    if place.is_persistent() {
        assert_eq!(place.open().await.blob(&big).await.unwrap(), large);
    }
}

/// Slashes, dots, upper and lower case, and the empty id.
pub async fn session_ids_may_be_anything(place: &dyn StoreFixture) {
    let store = place.open().await;
    for script in write_sessions_with_any_id(&*store).await {
        script.check(&*store).await;
    }
}

pub(super) async fn write_sessions_with_any_id(store: &dyn SessionStore) -> Vec<Script> {
    let long = "x".repeat(300);
    let longer = "x".repeat(301);
    let ids = [
        "", ".", "..", "../up", "a/b", "a%2Fb", "A", "a", "é", "e\u{301}", "%", "a b", "a\nb", "con", &long,
        &longer,
    ];
    let mut scripts = Vec::new();
    for (number, id) in ids.into_iter().enumerate() {
        let mut script = Script::claim(store, id, number as u64 * 10_000).await;
        script.write(store, [message_event(&format!("I am {number}"))]).await;
        scripts.push(script);
    }
    scripts
}

/// It is never `Memory`, unless the store forgets.
pub async fn an_append_reports_its_durability_level(place: &dyn StoreFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let events = script.make([message_event("hello")]);
    let ack = store.append(Append::new(&script.session_id, script.epoch, 0, &events)).await.unwrap();
    assert_eq!(ack.durability == Durability::Memory, !place.is_persistent());
}
