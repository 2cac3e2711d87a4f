//! Measures throughput roughly. Prints it, and fails only if it is so slow that something must be broken.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::store::Durability;
use lariat_store::StoreOptions;
use lariat_test::conformance::{Script, message_event};
use tokio::time::Instant;

use super::Database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sessions_append_concurrently() {
    const WRITERS: u64 = 16;
    const TIME: Duration = Duration::from_secs(2);
    let database = Database::new();
    for (level, batch) in [
        (Durability::Durable, 1),
        (Durability::Durable, 8),
        (Durability::Batched, 1),
        (Durability::Batched, 8),
    ] {
        let store = Arc::new(database.connect_with(StoreOptions::with_durability(level)).await);
        let begun = Instant::now();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let name = format!("{level:?} {batch} {writer}");
                    let mut script = Script::claim(&*store, &name, 1_000).await;
                    let mut appends = 0_u64;
                    while begun.elapsed() < TIME {
                        let text = "what a model says in a line or two, as it does most of the time";
                        script.write(&*store, (0..batch).map(|_| message_event(text))).await;
                        appends += 1;
                    }
                    appends
                })
            })
            .collect();
        let mut appends = 0;
        for writer in writers {
            appends += writer.await.unwrap();
        }
        let rate = appends as f64 / begun.elapsed().as_secs_f64();
        let events = rate * f64::from(batch);
        println!(
            "{level:?}, {WRITERS} writers, batches of {batch}: {rate:.0} appends/s, {events:.0} events/s"
        );
        assert!(rate > 50.0, "{rate} appends/s");
    }
}
