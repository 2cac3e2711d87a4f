//! Tests tables that another program changed.

use std::time::Duration;

use lariat_core::archive::{DamageKind, SessionArchive, SessionSummary};
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::store::{SessionStore, StoreError};
use lariat_test::conformance::{Script, description_event, message_event};

use super::Database;

/// A change, and the expected damage: kind and position.
const CHANGES: &[(&str, DamageKind, Option<u64>)] = &[
    (
        "UPDATE lariat.events SET body = overlay(body PLACING 'x' FROM 30) WHERE seq = 2",
        DamageKind::Checksum,
        Some(2),
    ),
    ("UPDATE lariat.events SET crc = crc + 1 WHERE seq = 0", DamageKind::Checksum, Some(0)),
    ("UPDATE lariat.events SET chain = 'short' WHERE seq = 5", DamageKind::Checksum, Some(5)),
    ("DELETE FROM lariat.events WHERE seq = 3", DamageKind::Missing, Some(3)),
    ("DELETE FROM lariat.events WHERE seq >= 4", DamageKind::Missing, Some(4)),
    ("DELETE FROM lariat.events", DamageKind::Missing, Some(0)),
    ("DELETE FROM lariat.events WHERE seq = 5; UPDATE lariat.sessions SET head = 5", DamageKind::Chain, None),
    (
        "INSERT INTO lariat.events SELECT session, 6, crc, chain, body FROM lariat.events WHERE seq = 5",
        DamageKind::Garbage,
        Some(6),
    ),
    ("UPDATE lariat.blobs SET bytes = overlay(bytes PLACING 'x' FROM 30)", DamageKind::Blob, Some(1)),
    ("DELETE FROM lariat.blobs", DamageKind::Blob, Some(1)),
];

async fn write_session(store: &dyn SessionArchive) -> Script {
    let mut script = Script::claim(store, "s", 1_000).await;
    let large = "large ".repeat(10_000);
    script
        .write(
            store,
            [message_event("zero"), message_event(&large), description_event(Some("two"), Some("/w"), None)],
        )
        .await;
    script.write(store, [message_event("three"), message_event("four"), message_event("five")]).await;
    script
}

#[tokio::test]
async fn finds_locates_and_repairs_every_change() {
    for (change, kind, seq) in CHANGES {
        let database = Database::new();
        let store = database.connect().await;
        let mut script = write_session(&store).await;
        assert!(store.verify(&script.session_id).await.unwrap().is_sound());
        database.sql(change);
        let verdict = store.verify(&script.session_id).await.unwrap();
        let found: Vec<_> = verdict.damage.iter().map(|damage| (damage.kind, damage.seq)).collect();
        assert_eq!(found, [(*kind, *seq)], "{change}");
        assert_eq!(store.repair(&script.session_id).await.unwrap(), verdict, "{change}");
        let verdict = store.verify(&script.session_id).await.unwrap();
        assert!(verdict.is_sound(), "{change}: {verdict:?}");
        let now = store.read(&script.session_id, 0, usize::MAX).await.unwrap();
        for (event, before) in now.iter().zip(&script.written) {
            let lost = matches!(event.event, AgentEvent::EventLost { .. });
            assert!(lost || event == before, "{change}: {event:?}");
        }
        let lost = now.iter().filter(|event| matches!(event.event, AgentEvent::EventLost { .. })).count();
        let expected = match change {
            change if change.contains("seq >= 4") => 2,
            &"DELETE FROM lariat.events" => 6,
            _ if matches!(kind, DamageKind::Chain | DamageKind::Garbage) => 0,
            _ => 1,
        };
        assert_eq!(lost, expected, "{change}");
        assert_eq!(
            store.summary(&script.session_id).await.unwrap(),
            SessionSummary::of(script.session_id.clone(), &now)
        );
        // The writer continues, although it has the old chain in its cache.
        script.written = now;
        script.write(&store, [message_event("continued")]).await;
        assert!(store.verify(&script.session_id).await.unwrap().is_sound(), "{change}");
    }
}

#[tokio::test]
async fn reading_a_damaged_event_fails() {
    for (change, kind, seq) in CHANGES {
        let Some(seq) = seq.filter(|_| !matches!(kind, DamageKind::Garbage)) else { continue };
        let database = Database::new();
        let store = database.connect().await;
        let script = write_session(&store).await;
        database.sql(change);
        let read = store.read(&script.session_id, 0, usize::MAX).await;
        let named = format!("event {seq}");
        assert!(
            matches!(&read, Err(StoreError::Damaged(words)) if words.contains(&named)),
            "{change}: {read:?}"
        );
        let back = store.read_backwards(&script.session_id, 6, 6).await;
        assert!(matches!(back, Err(StoreError::Damaged(_))), "{change}: {back:?}");
        // The events before it are readable.
        assert_eq!(
            store.read(&script.session_id, 0, seq as usize).await.unwrap(),
            &script.written[..seq as usize]
        );
    }
}

#[tokio::test]
async fn finds_swapped_events() {
    let database = Database::new();
    let store = database.connect().await;
    let script = write_session(&store).await;
    database.sql(
        "UPDATE lariat.events e SET crc = o.crc, chain = o.chain, body = o.body FROM lariat.events o \
         WHERE e.session = o.session AND ((e.seq = 3 AND o.seq = 4) OR (e.seq = 4 AND o.seq = 3))",
    );
    let verdict = store.verify(&script.session_id).await.unwrap();
    let places: Vec<_> = verdict.damage.iter().map(|damage| damage.seq).collect();
    assert_eq!((verdict.intact, places.as_slice()), (4, [Some(3), Some(4)].as_slice()), "{verdict:?}");
}

#[tokio::test]
async fn repairing_shared_events_repairs_all_forks() {
    let database = Database::new();
    let store = database.connect().await;
    let parent = write_session(&store).await;
    let mut scripts = Vec::new();
    for (name, from, at) in [("early", "s", 2), ("late", "s", 5), ("grandchild", "late", 6)] {
        store.fork(&SessionId::from(from), at, &SessionId::from(name)).await.unwrap();
        let mut script = Script::claim(&store, name, 9_000_000).await;
        script.catch_up(&store).await;
        script.write(&store, [message_event(name), message_event("more")]).await;
        scripts.push(script);
    }
    database.sql(
        "UPDATE lariat.events SET body = 'damaged' WHERE seq = 3 AND session = \
         (SELECT no FROM lariat.sessions WHERE id = 's')",
    );
    let verdict = store.repair(&SessionId::from("grandchild")).await.unwrap();
    assert_eq!(verdict.damage.len(), 1, "{verdict:?}");
    assert_eq!(database.sql("SELECT seq, convert_from(body, 'UTF8') FROM lariat.quarantine"), "3|damaged");
    for script in scripts.iter().chain([&parent]) {
        let verdict = store.verify(&script.session_id).await.unwrap();
        assert!(verdict.is_sound(), "{}: {verdict:?}", script.session_id);
        let now = store.read(&script.session_id, 0, usize::MAX).await.unwrap();
        let differ: Vec<_> = now.iter().zip(&script.written).filter(|(now, then)| now != then).collect();
        assert_eq!(now.len(), script.written.len());
        assert_eq!(differ.len(), usize::from(script.session_id.as_str() != "early"), "{}", script.session_id);
    }
}

#[tokio::test]
async fn search_and_garbage_collection_survive_a_damaged_session() {
    let database = Database::new();
    let store = database.connect().await;
    write_session(&store).await;
    database.sql("UPDATE lariat.events SET body = 'damaged' WHERE seq = 0");
    let mut query = lariat_core::archive::ListQuery::default();
    query.text = Some("FOUR".to_owned());
    assert_eq!(store.list(&query).await.unwrap().len(), 1);
    query.text = Some("zero".to_owned());
    assert_eq!(store.list(&query).await.unwrap().len(), 0);
    assert_eq!(store.collect_garbage(Duration::ZERO).await.unwrap().blobs, 0);
}

#[tokio::test]
async fn rejects_a_damaged_blob_until_it_is_stored_again() {
    let database = Database::new();
    let store = database.connect().await;
    let hash = store.put_blob(b"a picture").await.unwrap();
    database.sql("UPDATE lariat.blobs SET bytes = 'a forgery'");
    let read = store.blob(&hash).await;
    assert!(matches!(&read, Err(StoreError::Damaged(words)) if words.contains(&hash.0)), "{read:?}");
    store.put_blob(b"a picture").await.unwrap();
    assert_eq!(store.blob(&hash).await.unwrap(), b"a picture");
}
