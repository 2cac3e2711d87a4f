//! Creates and migrates the tables.
//!
//! Migrations only go forward, each in the transaction that records it, under one advisory lock, so that nodes that start
//! together migrate once. Invariant: a store works only on the schema version it was built for.

use deadpool_postgres::Client;
use lariat_core::store::StoreError;

use super::connection::failed;

/// Every version of the schema so far, oldest first. A released entry never changes.
const MIGRATIONS: &[&str] =
    &[include_str!("schema/001.sql"), include_str!("schema/002.sql"), include_str!("schema/003.sql")];

/// Key of the advisory lock: "lariat" in ASCII.
const LOCK: i64 = 0x6C61_7269_6174;

/// Migrates the database to the version of this program.
pub(super) async fn migrate(client: &mut Client, partitions: u32) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(failed)?;
    let begun = "CREATE SCHEMA IF NOT EXISTS lariat;
        CREATE TABLE IF NOT EXISTS lariat.migrations (
            version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
    transaction.batch_execute(begun).await.map_err(failed)?;
    let newest = "SELECT coalesce(max(version), 0) FROM lariat.migrations";
    let row = transaction.query_one(newest, &[]).await.map_err(failed)?;
    let found: i32 = row.try_get(0).map_err(failed)?;
    let done = usize::try_from(found).unwrap_or_default();
    if done > MIGRATIONS.len() {
        return Err(StoreError::Newer {
            what: "the database".to_owned(),
            found: done as u64,
            supported: MIGRATIONS.len() as u64,
        });
    }
    for (version, sql) in (1_i32..).zip(MIGRATIONS).skip(done) {
        transaction.batch_execute(sql).await.map_err(failed)?;
        if version == 1 {
            transaction.batch_execute(&partitions_sql(partitions)).await.map_err(failed)?;
        }
        let note = "INSERT INTO lariat.migrations (version) VALUES ($1)";
        transaction.execute(note, &[&version]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

fn partitions_sql(partitions: u32) -> String {
    let partition = |n: u32| {
        format!(
            "CREATE TABLE lariat.events_{n} PARTITION OF lariat.events \
             FOR VALUES WITH (MODULUS {partitions}, REMAINDER {n});\n"
        )
    };
    (0..partitions).map(partition).collect()
}
