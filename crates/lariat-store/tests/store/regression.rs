//! Tests for bugs that were fixed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that fails panics, and inspects files"
)]

use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability};
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_store::sqlite::SqliteStore;
use lariat_test::conformance::{Script, message_event};

/// A temporary directory, removed on drop.
struct TempDir(std::path::PathBuf);

impl TempDir {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-regression-{}", uuid::Uuid::new_v4().simple())))
    }

    /// Uses memory if possible, because thousands of syncs take long on a disk.
    fn in_memory() -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self(parent.join(format!("lariat-regression-{}", uuid::Uuid::new_v4().simple())))
    }

    async fn sqlite(&self, durability: Durability) -> Arc<dyn SessionArchive> {
        let options = StoreOptions::with_durability(durability);
        Arc::new(SqliteStore::open(self.0.join("sessions.db"), options).await.unwrap())
    }

    async fn jsonl(&self, durability: Durability) -> Arc<dyn SessionArchive> {
        Arc::new(JsonlStore::open(&self.0, StoreOptions::with_durability(durability)).await.unwrap())
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Opens and releases 2,000 sessions, one after the other. `cargo xtask sessions` runs more.
async fn open_and_release(store: &dyn SessionArchive) {
    let mut most = [0, 0];
    for at in 0..2_000 {
        let mut script = Script::claim(store, &format!("s{at}"), at * 1_000).await;
        script.write(store, [message_event("hello")]).await;
        store.release(&script.session_id, script.epoch).await.unwrap();
        most[usize::from(at >= 100)] = most[usize::from(at >= 100)].max(descriptors());
    }
    assert!(most[1] <= most[0] + 2, "{} descriptors after 100 sessions, then {}", most[0], most[1]);
}

/// One descriptor per session was never closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_sqlite_sessions_hold_no_descriptors() {
    let dir = TempDir::in_memory();
    open_and_release(&*dir.sqlite(Durability::Fast).await).await;
}

/// One descriptor per session was never closed, also in JSONL files, where syncs are delayed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_jsonl_sessions_hold_no_descriptors() {
    let dir = TempDir::in_memory();
    open_and_release(&*dir.jsonl(Durability::Batched).await).await;
}

/// A second store, like another process, can claim a released session at once and continue it; then the first again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_session_moves_to_another_process_and_back() {
    for durability in [Durability::Durable, Durability::Batched, Durability::Fast] {
        for kind in ["sqlite", "jsonl"] {
            let dir = TempDir::new();
            let (first, second) = match kind {
                "sqlite" => (dir.sqlite(durability).await, dir.sqlite(durability).await),
                _ => (dir.jsonl(durability).await, dir.jsonl(durability).await),
            };
            let mut script = Script::claim(&*first, "s", 1_000).await;
            script.write(&*first, [message_event("one")]).await;
            for (round, (from, to)) in
                [(&first, &second), (&second, &first), (&first, &second)].into_iter().enumerate()
            {
                from.release(&script.session_id, script.epoch).await.unwrap();
                let before = script.epoch;
                script = Script::claim(&**to, "s", 1_000_000 * (round as u64 + 1)).await;
                assert!(script.epoch > before, "{kind} {durability:?}");
                script.catch_up(&**to).await;
                script.write(&**to, [message_event("next")]).await;
                script.check(&**to).await;
                script.check(&**from).await;
            }
            let summary = first.summary(&script.session_id).await.unwrap();
            assert_eq!(summary.events, 4, "{kind} {durability:?}");
            assert!(first.verify(&script.session_id).await.unwrap().is_sound());
        }
    }
}

/// A claim that runs in one transaction with the release of the same session keeps its lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_claim_and_release_keep_the_lock() {
    let dir = TempDir::new();
    let (store, other) = (dir.sqlite(Durability::Durable).await, dir.sqlite(Durability::Durable).await);
    let id = SessionId::from("s");
    let mut epoch = store.claim(&id).await.unwrap();
    for _ in 0..50 {
        let (released, claimed) = tokio::join!(store.release(&id, epoch), store.claim(&id));
        released.unwrap();
        epoch = claimed.unwrap();
        let busy = other.claim(&id).await;
        // If the release came second, it was not for the newest claim and did nothing.
        assert!(busy.is_err(), "{busy:?}");
        store.append(Append::new(&id, epoch, 0, &[])).await.unwrap();
    }
}
