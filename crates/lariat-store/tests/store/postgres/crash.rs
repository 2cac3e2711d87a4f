//! Tests crashes of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lariat_core::archive::SessionArchive;
use lariat_core::event::Event;
use lariat_core::store::{Append, SessionStore, StoreError};
use lariat_proofs::postgres::Server;
use lariat_store::StoreOptions;
use lariat_store::postgres::PostgresStore;
use lariat_test::conformance::{Script, message_event};

/// What the writers did so far, and whether they should stop.
#[derive(Default)]
struct Writers {
    stop: AtomicBool,
    appends: AtomicU64,
}

impl Writers {
    /// Waits until the writers have appended `more` batches, so that no kill comes before a writer works.
    async fn append(&self, more: u64) {
        let goal = self.appends.load(Ordering::Acquire) + more;
        while self.appends.load(Ordering::Acquire) < goal {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Appends until stopped, as a session's driver does: after an uncertain append it reads the journal, then retries.
async fn writer(store: Arc<PostgresStore>, mut script: Script, writers: Arc<Writers>) -> (Script, u64) {
    let name = script.session_id.clone();
    let mut outages = 0;
    while !writers.stop.load(Ordering::Acquire) {
        let events: Vec<Event> = script.make((0..3).map(|n| message_event(&format!("{n} after {outages}"))));
        let first = script.written.len() as u64;
        loop {
            match store.append(Append::new(&script.session_id, script.epoch, first, &events)).await {
                Ok(_) => break,
                Err(StoreError::Unavailable(_)) => outages += 1,
                Err(other) => panic!("{name}: {other}"),
            }
            let there = loop {
                match store.read(&script.session_id, first, events.len()).await {
                    Ok(there) => break there,
                    Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    Err(other) => panic!("{name}: {other}"),
                }
            };
            assert!(there.is_empty() || there == events, "a batch is written whole or not at all");
            if there.len() == events.len() {
                break;
            }
        }
        script.written.extend(events);
        writers.appends.fetch_add(1, Ordering::AcqRel);
    }
    (script, outages)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_crash_loses_no_acknowledged_event_and_writers_recover() {
    let server = Server::start();
    let address = server.database();
    let store = PostgresStore::connect(address.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let store = Arc::new(store);
    let writers = Arc::new(Writers::default());
    let mut tasks = Vec::new();
    for n in 0..4 {
        let script = Script::claim(&*store, &format!("s{n}"), 1_000).await;
        tasks.push(tokio::spawn(writer(Arc::clone(&store), script, Arc::clone(&writers))));
    }
    for _ in 0..3 {
        writers.append(20).await;
        tokio::task::block_in_place(|| {
            server.kill();
            server.resume();
        });
    }
    writers.append(20).await;
    writers.stop.store(true, Ordering::Release);
    let mut met = 0;
    for writer in tasks {
        let (script, outages) = tokio::time::timeout(Duration::from_secs(60), writer).await.unwrap().unwrap();
        met += outages;
        script.check(&*store).await;
        assert!(store.verify(&script.session_id).await.unwrap().is_sound());
        println!("{}: {} events, {outages} uncertain appends", script.session_id, script.written.len());
    }
    assert!(met > 0, "no append hit a server crash");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_wakes_after_a_server_restart() {
    let server = Server::start();
    let address = server.database();
    let connect =
        async || PostgresStore::connect(address.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let (writing, waiting) = (connect().await, Arc::new(connect().await));
    let mut script = Script::claim(&writing, "s", 1_000).await;
    script.write(&writing, [message_event("one")]).await;
    let (store, id) = (Arc::clone(&waiting), script.session_id.clone());
    let waiter = tokio::spawn(async move {
        loop {
            match store.wait_for_growth(&id, 1).await {
                Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => return other,
            }
        }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::task::block_in_place(|| {
        server.kill();
        server.resume();
    });
    let events = script.make([message_event("two")]);
    loop {
        match writing.append(Append::new(&script.session_id, script.epoch, 1, &events)).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            other => break assert_eq!(other.unwrap().next_seq, 2),
        }
    }
    let woken = tokio::time::timeout(Duration::from_secs(10), waiter).await.unwrap().unwrap();
    assert_eq!(woken, Ok(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_server_is_unavailable_and_retryable() {
    let server = Server::start();
    let address = server.database();
    let store = PostgresStore::connect(address.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let mut script = Script::claim(&store, "s", 1_000).await;
    tokio::task::block_in_place(|| server.kill());
    let events = script.make([message_event("one")]);
    let append = store.append(Append::new(&script.session_id, script.epoch, 0, &events)).await;
    assert!(append.unwrap_err().is_retryable());
    assert!(store.head(&script.session_id).await.unwrap_err().is_retryable());
    tokio::task::block_in_place(|| server.resume());
    // Neither a restart of the program nor a new claim is needed.
    script.write(&store, [message_event("one")]).await;
    script.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_database_is_unavailable_until_it_accepts_writes() {
    let server = Server::start();
    let address = server.database();
    let store = PostgresStore::connect(address.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let mut script = Script::claim(&store, "s", 1_000).await;
    let set = |value: &str| {
        let sql = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
        server.sql(&address, &sql);
        server.sql(&address, "SELECT pg_reload_conf()");
    };
    set("on");
    // Each process of the server reads its configuration a moment later.
    let refused = loop {
        let events = script.make([message_event("one")]);
        let head = script.written.len() as u64;
        match store.append(Append::new(&script.session_id, script.epoch, head, &events)).await {
            Ok(_) => script.written.extend(events),
            Err(error) => break error,
        }
    };
    assert!(refused.is_retryable(), "{refused}");
    set("off");
    let events = script.make([message_event("two")]);
    let head = script.written.len() as u64;
    while let Err(error) = store.append(Append::new(&script.session_id, script.epoch, head, &events)).await {
        assert!(error.is_retryable(), "{error}");
    }
    script.written.extend(events);
    script.check(&store).await;
}
