//! Tests that every store refuses events of a newer format, and neither drops nor changes them.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::sync::Arc;

use lariat_core::event::{EventRecord, FORMAT_VERSION};
use lariat_core::store::{Append, Durability, StoreError};
use lariat_store::archive_file::{ArchiveFileError, export};
use lariat_test::conformance::{ArchiveFixture, Script, message_event};

use crate::jsonl::JsonlFixture;
use crate::postgres::Database;
use crate::sqlite::SqliteFixture;

/// Writes an event of a newer format between two of today, as a newer program would, and uses every function that could
/// misread or lose it.
async fn refuses_and_keeps_a_newer_event(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let mut events = script.make([message_event("old"), message_event("new"), message_event("old again")]);
    let newer = EventRecord { v: FORMAT_VERSION + 1, ..EventRecord::clone(events.get(1).unwrap()) };
    *events.get_mut(1).unwrap() = Arc::new(newer);
    store.append(Append::new(&script.session_id, script.epoch, 0, &events)).await.unwrap();
    store.release(&script.session_id, script.epoch).await.unwrap();
    drop(store);

    let store = place.open().await;
    let id = &script.session_id;
    let refused = StoreError::Newer {
        what: "event 1".to_owned(),
        found: u64::from(FORMAT_VERSION) + 1,
        supported: u64::from(FORMAT_VERSION),
    };
    assert_eq!(store.read(id, 0, 9).await, Err(refused.clone()));
    assert_eq!(store.read_backwards(id, 3, 3).await, Err(refused.clone()));
    assert_eq!(store.verify(id).await, Err(refused.clone()));
    assert_eq!(store.repair(id).await, Err(refused.clone()));
    let archived = export(&*store, id, Vec::new()).await;
    assert!(matches!(archived, Err(ArchiveFileError::Store(error)) if error == refused));
    // What came before and after it is still there, and so is the session.
    assert_eq!(store.read(id, 0, 1).await.unwrap(), events.get(..1).unwrap());
    assert_eq!(store.read(id, 2, 1).await.unwrap(), events.get(2..).unwrap());
    let listed = store.list(&Default::default()).await.unwrap();
    assert_eq!(listed.iter().map(|summary| summary.events).collect::<Vec<_>>(), [3]);
    assert!(!refused.is_retryable());
}

#[tokio::test]
async fn sqlite_refuses_and_keeps_a_newer_event() {
    refuses_and_keeps_a_newer_event(&SqliteFixture::new(Durability::Fast)).await;
}

#[tokio::test]
async fn jsonl_refuses_and_keeps_a_newer_event() {
    refuses_and_keeps_a_newer_event(&JsonlFixture::new(Durability::Fast)).await;
}

#[tokio::test]
async fn postgres_refuses_and_keeps_a_newer_event() {
    refuses_and_keeps_a_newer_event(&Database::new()).await;
}
