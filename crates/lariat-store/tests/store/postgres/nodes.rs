//! Tests several nodes on one database.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability, SessionStore, StoreError};
use lariat_proofs::postgres::Server;
use lariat_store::StoreOptions;
use lariat_store::postgres::PostgresStore;
use lariat_test::conformance::{Script, message_event};

use super::Database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_on_one_node_fences_the_other() {
    let database = Database::new();
    let (one, two) = (database.connect().await, database.connect().await);
    let mut old = Script::claim(&one, "s", 1_000).await;
    old.write(&one, [message_event("from one")]).await;
    let mut new = Script::claim(&two, "s", 2_000_000).await;
    new.catch_up(&two).await;
    // The first node's cache of the session is still right: only the epoch stops it.
    let late = old.make([message_event("too late")]);
    let refused = one.append(Append::new(&old.session_id, old.epoch, 1, &late)).await;
    assert_eq!(refused, Err(StoreError::Fenced { current: new.epoch }));
    new.write(&two, [message_event("from two")]).await;
    new.check(&one).await;
    // And back, although the first node's cache is outdated.
    let mut back = Script::claim(&one, "s", 3_000_000).await;
    back.catch_up(&one).await;
    back.write(&one, [message_event("from one again")]).await;
    back.check(&two).await;
    assert_eq!(one.verify(&back.session_id).await.unwrap().intact, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn competing_nodes_never_both_write() {
    let database = Database::new();
    let nodes = [Arc::new(database.connect().await), Arc::new(database.connect().await)];
    let id = SessionId::from("contested");
    let tasks: Vec<_> = (0..6_u64)
        .map(|task| {
            let (store, id) = (Arc::clone(&nodes[task as usize % 2]), id.clone());
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                for round in 0..30 {
                    let mut script = Script::claim(&*store, "contested", task * 1_000_000 + round).await;
                    script.catch_up(&*store).await;
                    let events = script.make([message_event(&format!("{task} {round}"))]);
                    let head = script.written.len() as u64;
                    match store.append(Append::new(&id, script.epoch, head, &events)).await {
                        Ok(_) => acknowledged.extend(events),
                        Err(StoreError::Fenced { .. } | StoreError::Conflict { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
                acknowledged
            })
        })
        .collect();
    let mut acknowledged = Vec::new();
    for task in tasks {
        acknowledged.extend(task.await.unwrap());
    }
    acknowledged.sort_by_key(|event| event.seq);
    assert!(!acknowledged.is_empty());
    assert_eq!(nodes[0].read(&id, 0, usize::MAX).await.unwrap(), acknowledged);
    assert!(nodes[1].verify(&id).await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_is_visible_on_other_nodes_at_once() {
    let database = Database::new();
    let (one, two) = (database.connect().await, database.connect().await);
    let mut script = Script::claim(&one, "s", 1_000).await;
    script.write(&one, [message_event("hello")]).await;
    two.delete(&script.session_id).await.unwrap();
    let late = script.make([message_event("too late")]);
    let refused = one.append(Append::new(&script.session_id, script.epoch, 1, &late)).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn most_waiters_on_another_node_wake_within_50_ms() {
    let database = Database::new();
    let (writing, waiting) = (database.connect().await, Arc::new(database.connect().await));
    let mut script = Script::claim(&writing, "s", 1_000).await;
    let id = script.session_id.clone();
    // The first wait opens a listening connection.
    script.write(&writing, [message_event("first")]).await;
    let first = Arc::clone(&waiting);
    assert_eq!(first.wait_for_growth(&id, 0).await, Ok(1));
    let listens = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN lariat' AND state = 'idle'";
    while database.sql(&format!("{listens} AND datname = current_database()")) == "0" {
        tokio::task::yield_now().await;
    }
    let mut wakes = Vec::new();
    for round in 1..=20 {
        let (store, id) = (Arc::clone(&waiting), id.clone());
        let waiter =
            tokio::spawn(
                async move { (store.wait_for_growth(&id, round).await, tokio::time::Instant::now()) },
            );
        // Usually the waiter is waiting before the journal grows. Both orders must work.
        tokio::time::sleep(Duration::from_millis(20)).await;
        script.write(&writing, [message_event("more")]).await;
        let begun = tokio::time::Instant::now();
        let (head, woken) = tokio::time::timeout(Duration::from_secs(5), waiter).await.unwrap().unwrap();
        assert_eq!(head, Ok(round + 1));
        wakes.push(woken.saturating_duration_since(begun));
    }
    wakes.sort();
    println!("wake-ups after the acknowledgement, sorted: {wakes:?}");
    // The median: other tests use the machine at the same time. A waiter that polls instead wakes much later.
    assert!(wakes[wakes.len() / 2] < Duration::from_millis(50), "{wakes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_is_notified_when_the_session_is_deleted() {
    let database = Database::new();
    let (one, two) = (database.connect().await, Arc::new(database.connect().await));
    let mut script = Script::claim(&one, "s", 1_000).await;
    script.write(&one, [message_event("hello")]).await;
    let (store, id) = (Arc::clone(&two), script.session_id.clone());
    let waiter = tokio::spawn(async move { store.wait_for_growth(&id, 1).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    one.delete(&script.session_id).await.unwrap();
    let result = tokio::time::timeout(Duration::from_secs(5), waiter).await.unwrap().unwrap();
    assert!(matches!(result, Err(StoreError::NotFound(_))), "{result:?}");
}

#[tokio::test]
async fn acknowledgement_states_the_actual_durability() {
    let database = Database::new();
    for (asked, met) in [
        (Durability::Durable, Durability::Durable),
        (Durability::Batched, Durability::Batched),
        (Durability::Fast, Durability::Batched),
    ] {
        let store = database.connect_with(StoreOptions::with_durability(asked)).await;
        let mut script = Script::claim(&store, &format!("{asked:?}"), 1_000).await;
        let events = script.make([message_event("hello")]);
        let ack = store.append(Append::new(&script.session_id, script.epoch, 0, &events)).await.unwrap();
        assert_eq!(ack.durability, met);
    }
}

#[tokio::test]
async fn reads_back_a_large_batch() {
    let database = Database::new();
    let store = database.connect().await;
    let mut script = Script::claim(&store, "import", 1_000).await;
    script.write(&store, [message_event("before")]).await;
    script.write(&store, (0..2_500).map(|n| message_event(&format!("message {n}")))).await;
    script.write(&store, [AgentEvent::AbortRequested]).await;
    script.check(&store).await;
    assert_eq!(store.verify(&script.session_id).await.unwrap().intact, 2_502);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_append_finishes_before_the_next_begins() {
    let database = Database::new();
    let store = Arc::new(database.connect().await);
    let mut script = Script::claim(&*store, "s", 1_000).await;
    for round in 0..50_u64 {
        let events = script.make([message_event(&format!("round {round}"))]);
        let head = script.written.len() as u64;
        let (task, id, epoch) = (Arc::clone(&store), script.session_id.clone(), script.epoch);
        let sent = events.clone();
        let append =
            tokio::spawn(async move { task.append(Append::new(&id, epoch, head, &sent)).await.map(drop) });
        tokio::time::sleep(Duration::from_micros(round * 40)).await;
        append.abort();
        let _ = append.await;
        // An uncertain driver reads the length and continues from there.
        let length = store.head(&script.session_id).await.unwrap();
        assert!(length == head || length == head + 1);
        if length > head {
            script.written.extend(events);
        }
        script.write(&*store, [message_event("continued")]).await;
    }
    script.check(&*store).await;
}

/// An attempt that seemed lost (for example because its connection broke) may still run in the server when the next one is
/// sent. Here, another node with the same epoch takes the role of the earlier attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledges_an_append_whose_earlier_attempt_succeeded() {
    let server = Server::start();
    let address = server.database();
    let connect =
        async || PostgresStore::connect(address.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let (earlier, now, rival) = (connect().await, connect().await, connect().await);
    let mut script = Script::claim(&earlier, "s", 1_000).await;
    script.write(&earlier, [message_event("before")]).await;
    let events = script.make([message_event("one"), message_event("two")]);
    let other = script.make([message_event("something else"), message_event("entirely")]);
    let (id, epoch) = (script.session_id.clone(), script.epoch);
    let append = |store: PostgresStore, events: Vec<Event>| {
        let id = id.clone();
        tokio::spawn(async move { (store.append(Append::new(&id, epoch, 1, &events)).await, store) })
    };
    // Locks the session until all three appends wait for it.
    let hold = "DO $$ BEGIN PERFORM FROM lariat.sessions FOR UPDATE; \
        WHILE (SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted) < 3 LOOP \
        PERFORM pg_sleep(0.001); END LOOP; END $$";
    let waiting = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted";
    let (first, second, third) = tokio::task::block_in_place(|| {
        let held = "SELECT count(*) FROM pg_locks WHERE relation = 'lariat.sessions'::regclass AND mode = 'RowShareLock'";
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| server.sql(&address, hold));
            while server.sql(&address, held).trim() == "0" {}
            let first = append(earlier, events.clone());
            while server.sql(&address, waiting).trim() == "0" {}
            let second = append(now, events.clone());
            while server.sql(&address, waiting).trim() == "1" {}
            let third = append(rival, other.clone());
            holder.join().unwrap();
            (first, second, third)
        })
    });
    let ((first, _), (second, now)) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((first.unwrap().next_seq, second.unwrap().next_seq), (3, 3));
    script.written.extend(events);
    script.check(&now).await;
    // Other events at the same position are a conflict, and so are the same ones later.
    let (third, _) = third.await.unwrap();
    assert_eq!(third, Err(StoreError::Conflict { expected: 1, actual: 3 }));
    let repeated = now.append(Append::new(&id, epoch, 1, &script.written[1..])).await;
    assert_eq!(repeated, Err(StoreError::Conflict { expected: 1, actual: 3 }));
}
