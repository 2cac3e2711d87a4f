//! Tests migrations.

use lariat_core::store::StoreError;
use lariat_store::StoreOptions;
use lariat_store::postgres::{PostgresConfig, PostgresStore};
use lariat_test::conformance::{Script, message_event};

use super::Database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_concurrent_nodes_create_the_schema_once() {
    let database = Database::new();
    let starting: Vec<_> = (0..8)
        .map(|_| {
            let config: PostgresConfig = database.address.parse().unwrap();
            tokio::spawn(PostgresStore::connect(config, StoreOptions::default()))
        })
        .collect();
    let mut stores = Vec::new();
    for store in starting {
        stores.push(store.await.unwrap().unwrap());
    }
    assert_eq!(database.sql("SELECT count(*) FROM lariat.migrations"), "3");
    for (number, store) in stores.iter().enumerate() {
        let mut script = Script::claim(store, &format!("s{number}"), 1_000).await;
        script.write(store, [message_event("hello")]).await;
        script.check(&stores[0]).await;
    }
}

#[tokio::test]
async fn rejects_a_database_of_a_newer_program() {
    let database = Database::new();
    drop(database.connect().await);
    database.sql("INSERT INTO lariat.migrations (version) VALUES (1000)");
    let refused = PostgresStore::connect(database.address.parse().unwrap(), StoreOptions::default()).await;
    assert!(matches!(refused, Err(StoreError::Newer { found: 1000, supported: 3, .. })));
}

#[tokio::test]
async fn works_with_one_partition() {
    let database = Database::new();
    let config: PostgresConfig = database.address.parse().unwrap();
    let store = PostgresStore::connect(config.with_partitions(1), StoreOptions::default()).await.unwrap();
    let mut script = Script::claim(&store, "s", 1_000).await;
    script.write(&store, [message_event("hello")]).await;
    script.check(&store).await;
    assert_eq!(database.sql("SELECT count(*) FROM lariat.events_0"), "1");
}
