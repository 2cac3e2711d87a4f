//! Tests several stores on one file, as in several processes, and many sessions in one store.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability, Epoch, SessionStore, StoreError};
use lariat_test::conformance::{Script, description_event, message_event};

use super::SqliteFixture;

/// Counts the commits in the WAL file: frames that contain the size of the database after them.
fn commits(fixture: &SqliteFixture) -> usize {
    let wal = std::fs::read(fixture.path.join("sessions.db-wal")).unwrap();
    let page = u32::from_be_bytes(wal[8..12].try_into().unwrap()) as usize;
    let salt = &wal[16..24];
    let frames = wal[32..].chunks_exact(24 + page).take_while(|frame| &frame[8..16] == salt);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_waiting_appends_together_and_isolates_rejected_ones() {
    let fixture = SqliteFixture::new(Durability::Durable);
    let store = Arc::new(fixture.store().await);
    let mut scripts = Vec::new();
    for number in 0..40 {
        scripts.push(Script::claim(&*store, &format!("s{number}"), number * 1_000).await);
    }
    let before = commits(&fixture);
    let other = fixture.raw_connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut appends = Vec::new();
    for (number, mut script) in scripts.into_iter().enumerate() {
        let store = Arc::clone(&store);
        appends.push(tokio::spawn(async move {
            let events = script.make([message_event("all together")]);
            let (id, mut epoch) = (script.session_id.clone(), script.epoch);
            let mut expected = 0;
            match number % 4 {
                2 => epoch = Epoch(99),
                3 => expected = 7,
                _ => {}
            }
            let appended = store.append(Append::new(&id, epoch, expected, &events)).await;
            let head = store.head(&id).await.unwrap();
            match number % 4 {
                2 => assert_eq!((appended, head), (Err(StoreError::Fenced { current: script.epoch }), 0)),
                3 => assert_eq!((appended, head), (Err(StoreError::Conflict { expected: 7, actual: 0 }), 0)),
                _ => assert_eq!((appended.unwrap().next_seq, head), (1, 1)),
            }
        }));
    }
    // Wait until all appends are queued: none can be answered while the other process writes.
    tokio::time::sleep(Duration::from_millis(200)).await;
    other.execute_batch("ROLLBACK").unwrap();
    for append in appends {
        append.await.unwrap();
    }
    let together = commits(&fixture) - before;
    assert!((1..=4).contains(&together), "{together} commits for 40 appends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_open_in_another_process_is_busy_until_that_process_ends() {
    let fixture = SqliteFixture::new(Durability::Durable);
    let (first, second) = (fixture.store().await, fixture.store().await);
    let id = SessionId::from("s");
    let epoch = first.claim(&id).await.unwrap();
    let holder = format!("process {}", std::process::id());
    assert_eq!(second.claim(&id).await, Err(StoreError::Busy { holder }));
    assert_eq!(first.append(Append::new(&id, epoch, 0, &[])).await.unwrap().next_seq, 0);
    second.claim(&SessionId::from("another")).await.unwrap();
    drop(first);
    let next = second.claim(&id).await.unwrap();
    assert!(next > epoch);
    second.delete(&id).await.unwrap();
    let left: Vec<_> = locks(&fixture);
    assert_eq!(left.len(), 1, "the lock of the deleted session is released: {left:?}");
}

fn locks(fixture: &SqliteFixture) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(fixture.path.join("sessions.db.locks")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_or_deleted_writer_writes_nothing() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    script.write(&store, [message_event("one")]).await;
    let late = script.make([message_event("too late")]);
    let append = async |epoch| store.append(Append::new(&script.session_id, epoch, 1, &late)).await;
    fixture.raw_connection().execute("UPDATE sessions SET epoch = epoch + 1", []).unwrap();
    let current = Epoch(script.epoch.0 + 1);
    assert_eq!(append(script.epoch).await, Err(StoreError::Fenced { current }));
    let other = fixture.store().await;
    other.delete(&script.session_id).await.unwrap();
    assert!(matches!(append(current).await, Err(StoreError::NotFound(_))));
    assert_eq!(store.head(&script.session_id).await, Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_processes_each_keep_their_order() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let stores = [Arc::new(fixture.store().await), Arc::new(fixture.store().await)];
    let mut writers = Vec::new();
    for writer in 0..8_u64 {
        let store = Arc::clone(&stores[writer as usize % 2]);
        writers.push(tokio::spawn(async move {
            let mut script = Script::claim(&*store, &format!("s{writer}"), writer * 1_000).await;
            for turn in 0..40 {
                script.write(&*store, (0..1 + turn % 3).map(|n| message_event(&format!("{turn} {n}")))).await;
            }
            script
        }));
    }
    let mut expected = Vec::new();
    for writer in writers {
        let script = writer.await.unwrap();
        for store in &stores {
            script.check(&**store).await;
            assert_eq!(store.verify(&script.session_id).await.unwrap().damage, []);
        }
        expected.push(SessionSummary::of(script.session_id.clone(), &script.written));
    }
    expected.sort_by_key(|summary| std::cmp::Reverse(summary.cursor()));
    for store in &stores {
        assert_eq!(store.list(&ListQuery::default()).await.unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_finds_sessions_that_another_process_left_unsettled() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let crashed = fixture.store().await;
    let mut script = Script::claim(&crashed, "s", 1_000).await;
    script.write(&crashed, [message_event("first words")]).await;
    script.write(&crashed, (0..700).map(|n| message_event(&format!("word{n}")))).await;
    script.write(&crashed, [description_event(Some("last title"), Some("/w"), None)]).await;
    script.write(&crashed, [message_event("zebra")]).await;
    // The first store still runs, but the second cannot see its cache.
    let store = fixture.store().await;
    let expected = SessionSummary::of(script.session_id.clone(), &script.written);
    assert_eq!(store.summary(&script.session_id).await.unwrap(), expected);
    let mut query = ListQuery::default();
    assert_eq!(store.list(&query).await.unwrap(), [expected]);
    script.write(&crashed, [message_event("yak")]).await;
    query.text = Some("zebra word699 yak".to_owned());
    let expected = SessionSummary::of(script.session_id.clone(), &script.written);
    assert_eq!(store.list(&query).await.unwrap(), [expected]);
    script.write(&crashed, [message_event("continued")]).await;
    script.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_sees_writes_and_deletion_by_another_process() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let (ours, theirs) = (Arc::new(fixture.store().await), fixture.store().await);
    let mut script = Script::claim(&theirs, "s", 1_000).await;
    let waiting = |beyond| {
        let (store, id) = (Arc::clone(&ours), script.session_id.clone());
        tokio::spawn(async move { store.wait_for_growth(&id, beyond).await })
    };
    let (one, two) = (waiting(0), waiting(1));
    script.write(&theirs, [message_event("one")]).await;
    assert_eq!(one.await.unwrap(), Ok(1));
    theirs.delete(&script.session_id).await.unwrap();
    let gone = two.await.unwrap();
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_append_is_written_whole_or_not_at_all() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    for _ in 0..50 {
        let events = script.make([message_event("one"), message_event("two")]);
        let head = script.written.len() as u64;
        let mut append = store.append(Append::new(&script.session_id, script.epoch, head, &events));
        let polled = futures_util::FutureExt::now_or_never(&mut append);
        drop(append);
        if polled.is_some_and(|done| done.is_err()) {
            continue;
        }
        // The writer runs tasks in order.
        let after = store.append(Append::new(&script.session_id, script.epoch, head + 2, &[])).await;
        assert_eq!(after.unwrap().next_seq, head + 2);
        script.written.extend(events);
    }
    script.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_in_the_same_process_is_notified_at_once() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = Arc::new(fixture.store().await);
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let rounds = async {
        for beyond in 0..40 {
            let (waiting, id) = (Arc::clone(&store), script.session_id.clone());
            let waiter = tokio::spawn(async move { waiting.wait_for_growth(&id, beyond).await });
            // Give the waiter time to start waiting before the write.
            tokio::time::sleep(Duration::from_millis(5)).await;
            script.write(&*store, [message_event("more")]).await;
            assert_eq!(waiter.await.unwrap(), Ok(beyond + 1));
        }
    };
    // Polling every 250 ms would take 10 s.
    tokio::time::timeout(Duration::from_secs(6), rounds).await.unwrap();
}
