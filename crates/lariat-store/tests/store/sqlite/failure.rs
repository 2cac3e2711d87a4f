//! Tests failing writes and missing files: the store acknowledges nothing that is not written, and recovers.

use std::sync::Arc;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::event::Event;
use lariat_core::store::{Append, Durability, SessionStore, StoreError};
use lariat_test::conformance::{Script, description_event, message_event};

use super::SqliteFixture;

/// Repeats an uncertain append as the session's driver does: reads the events that were written, and appends the rest.
async fn append_again(store: &dyn SessionArchive, script: &mut Script, events: Vec<Event>) {
    let first = script.written.len() as u64;
    let there = store.read(&script.session_id, first, events.len()).await.unwrap();
    assert!(there == events[..there.len()], "{there:?}");
    let rest = &events[there.len()..];
    let append = Append::new(&script.session_id, script.epoch, first + there.len() as u64, rest);
    store.append(append).await.unwrap();
    script.written.extend(events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_write_is_not_acknowledged_and_the_next_one_succeeds() {
    for durability in [Durability::Durable, Durability::Batched, Durability::Fast] {
        let fixture = SqliteFixture::new(durability);
        let store = fixture.store().await;
        let mut script = Script::claim(&store, "s", 1_000).await;
        script.write(&store, [message_event("one")]).await;
        let other = fixture.raw_connection();
        other
            .execute_batch(
                "CREATE TRIGGER fails AFTER INSERT ON events WHEN NEW.seq = 2
                 BEGIN SELECT RAISE(ROLLBACK, 'no space'); END",
            )
            .unwrap();
        let events = script.make([message_event("two"), message_event("three")]);
        for _ in 0..3 {
            let append = Append::new(&script.session_id, script.epoch, 1, &events);
            let failed = store.append(append).await;
            assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
            script.check(&store).await;
        }
        other.execute_batch("DROP TRIGGER fails").unwrap();
        append_again(&store, &mut script, events).await;
        script.write(&store, [message_event("four")]).await;
        script.check(&store).await;
        assert_eq!(store.verify(&script.session_id).await.unwrap().damage, []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_failing_session_does_not_fail_the_others() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = Arc::new(fixture.store().await);
    let mut scripts = Vec::new();
    for number in 0..20 {
        scripts.push(Script::claim(&*store, &format!("s{number}"), number * 1_000).await);
    }
    let other = fixture.raw_connection();
    let trigger = "CREATE TRIGGER fails AFTER INSERT ON events
         WHEN NEW.no = (SELECT no FROM sessions WHERE id = 's7') BEGIN SELECT RAISE(ROLLBACK, 'no'); END";
    other.execute_batch(trigger).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut appends = Vec::new();
    for mut script in scripts {
        let store = Arc::clone(&store);
        appends.push(tokio::spawn(async move {
            let events = script.make([message_event("hello")]);
            let done = store.append(Append::new(&script.session_id, script.epoch, 0, &events)).await;
            (script.session_id, done)
        }));
    }
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    other.execute_batch("ROLLBACK").unwrap();
    for append in appends {
        let (id, done) = append.await.unwrap();
        let head = store.head(&id).await.unwrap();
        match id.as_str() {
            "s7" => assert!(matches!(done, Err(StoreError::Unavailable(_))) && head == 0, "{done:?}"),
            _ => assert_eq!((done.unwrap().next_seq, head), (1, 1)),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_fail_while_the_database_is_moved_away_and_succeed_after_its_return() {
    for durability in [Durability::Durable, Durability::Batched, Durability::Fast] {
        let fixture = SqliteFixture::new(durability);
        let store = fixture.store().await;
        let mut script = Script::claim(&store, "s", 1_000).await;
        script.write(&store, [message_event("one")]).await;
        let away = fixture.path.with_extension("away");
        std::fs::rename(&fixture.path, &away).unwrap();
        let events = script.make([message_event("two"), message_event("three")]);
        for _ in 0..3 {
            let append = Append::new(&script.session_id, script.epoch, 1, &events);
            let failed = store.append(append).await;
            assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
        }
        assert!(!fixture.path.exists(), "the store created no empty database");
        std::fs::rename(&away, &fixture.path).unwrap();
        append_again(&store, &mut script, events).await;
        script.write(&store, [message_event("four")]).await;
        script.check(&store).await;
        drop(store);
        script.check(&fixture.store().await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn detects_a_database_replaced_by_an_older_copy() {
    let fixture = SqliteFixture::new(Durability::Durable);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    script.write(&store, [message_event("one")]).await;
    let copy = fixture.path.join("copy");
    fixture.raw_connection().execute("VACUUM INTO ?", [copy.to_str().unwrap()]).unwrap();
    script.write(&store, [message_event("two")]).await;
    std::fs::rename(&copy, fixture.database()).unwrap();
    let events = script.make([message_event("three")]);
    let append = Append::new(&script.session_id, script.epoch, 2, &events);
    let failed = store.append(append).await;
    assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_sessions_when_the_database_cannot_be_written() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut expected = Vec::new();
    for number in 0..5_u64 {
        let mut script = Script::claim(&store, &format!("s{number}"), number * 1_000_000).await;
        script.write(&store, [message_event("one")]).await;
        script
            .write(&store, [description_event(None, Some(if number == 2 { "/two" } else { "/w" }), None)])
            .await;
        expected.insert(0, SessionSummary::of(script.session_id.clone(), &script.written));
    }
    let trigger =
        "CREATE TRIGGER fails BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ROLLBACK, 'no space'); END";
    fixture.raw_connection().execute_batch(trigger).unwrap();
    let mut query = ListQuery::default();
    assert_eq!(store.list(&query).await.unwrap(), expected);
    query.limit = 2;
    assert_eq!(store.list(&query).await.unwrap(), expected[..2]);
    query.cwd = Some("/two".to_owned());
    assert_eq!(store.list(&query).await.unwrap(), expected[2..3]);
}
