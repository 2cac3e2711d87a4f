//! Removes sessions and blobs that are no longer referenced.
//!
//! Removes sessions first, forks before their parents, then blobs. The row of a purged session stays as a tombstone.
//! Invariant: nothing is removed that a concurrent fork or append references.

use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use lariat_core::archive::GarbageReport;
use lariat_core::store::StoreError;

use super::connection::{column, execute, failed, query};

/// Maximum number of sessions to purge in one transaction.
const BATCH: i64 = 64;

/// Deleted sessions, locked against forks. Skips sessions that are being forked; the next collection removes them.
const CANDIDATES: &str = "SELECT no FROM lariat.sessions s WHERE deleted AND NOT purged \
    AND NOT EXISTS (SELECT FROM lariat.sessions f WHERE f.fork_of = s.no) \
    ORDER BY no LIMIT $1 FOR UPDATE SKIP LOCKED";

/// Checks again while holding the locks: a fork may have been made before they were taken.
const FREE: &str = "SELECT no FROM unnest($1::bigint[]) AS s (no) \
    WHERE NOT EXISTS (SELECT FROM lariat.sessions f WHERE f.fork_of = s.no)";

const EVENTS: &str = "WITH gone AS (DELETE FROM lariat.events WHERE session = ANY ($1) RETURNING octet_length(body) AS n) \
    SELECT coalesce(sum(n), 0)::bigint FROM gone";

const REST: &[&str] = &[
    "DELETE FROM lariat.quarantine WHERE session = ANY ($1)",
    "DELETE FROM lariat.blob_refs WHERE session = ANY ($1)",
    "DELETE FROM lariat.snapshots WHERE session = ANY ($1)",
    "DELETE FROM lariat.folds WHERE session = ANY ($1)",
    "DELETE FROM lariat.search WHERE session = ANY ($1)",
    "DELETE FROM lariat.checkpoints WHERE session = ANY ($1)",
    "DELETE FROM lariat.learnings WHERE session = ANY ($1)",
    "DELETE FROM lariat.goals WHERE session = ANY ($1)",
    "UPDATE lariat.sessions SET purged = true, fork_of = NULL, summary = '{}', cwd = NULL, parent = NULL, tags = '{}', \
     agent = NULL \
     WHERE no = ANY ($1)",
];

/// Makes appends that reference blobs wait; all others continue.
const LOCK: &str = "LOCK TABLE lariat.blob_refs IN SHARE MODE";

const BLOBS: &str = "WITH gone AS (DELETE FROM lariat.blobs b \
    WHERE touched <= clock_timestamp() - make_interval(secs => $1) \
    AND NOT EXISTS (SELECT FROM lariat.blob_refs r WHERE r.hash = b.hash) RETURNING octet_length(bytes) AS n) \
    SELECT count(*), coalesce(sum(n), 0)::bigint FROM gone";

/// Removes unreferenced sessions, and unreferenced blobs that are older than `grace`.
pub(super) async fn collect(client: &mut Client, grace: Duration) -> Result<GarbageReport, StoreError> {
    let mut freed = GarbageReport::default();
    loop {
        let transaction = client.transaction().await.map_err(failed)?;
        let (sessions, bytes) = purge(&transaction).await?;
        transaction.commit().await.map_err(failed)?;
        freed.sessions += sessions;
        freed.bytes += bytes;
        if sessions == 0 {
            break;
        }
    }
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    for row in query(&transaction, BLOBS, &[&grace.as_secs_f64()]).await? {
        freed.blobs += column::<i64>(&row, 0)?.cast_unsigned();
        freed.bytes += column::<i64>(&row, 1)?.cast_unsigned();
    }
    transaction.commit().await.map_err(failed)?;
    Ok(freed)
}

async fn purge(transaction: &Transaction<'_>) -> Result<(u64, u64), StoreError> {
    let numbers = |rows: Vec<tokio_postgres::Row>| {
        rows.iter().map(|row| column(row, 0)).collect::<Result<Vec<i64>, StoreError>>()
    };
    let candidates = numbers(query(transaction, CANDIDATES, &[&BATCH]).await?)?;
    let free = numbers(query(transaction, FREE, &[&candidates]).await?)?;
    if free.is_empty() {
        return Ok((0, 0));
    }
    let mut bytes = 0;
    for row in query(transaction, EVENTS, &[&free]).await? {
        bytes += column::<i64>(&row, 0)?.cast_unsigned();
    }
    for statement in REST {
        execute(transaction, statement, &[&free]).await?;
    }
    Ok((free.len() as u64, bytes))
}
