//! Defines the tables and migrates older databases.
//!
//! Only this module knows version numbers. Migrations only go forward, each in a transaction of its own, and a released
//! migration is never edited. Invariant: an opened database has the tables of the last migration.
//!
//! Layout of the tables, with reasons:
//! - `events` is in the order of writing, across sessions, so that an append touches only the last page. Clustered by
//!   session it would split pages in the middle of the tree: measured 2.2 times the bytes with eight sessions of 1 KB
//!   events, 4.6 times when they commit together.
//! - `runs` locates a session's events: one row for each range without events of other sessions in between. A session that
//!   writes alone needs one row. It is an index: `events` has all that is needed to rebuild it.
//! - `sessions` has what a listing shows, as of `head`. Appends do not update it (`unsettled` marks that), because one more
//!   page for each event would nearly double what is written.

use lariat_core::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use super::fault::SqliteFault;
use super::projection;
use super::rows::{int, uint};

/// Migrations from an empty database to the current version, in order.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: journals.
    "CREATE TABLE sessions (
        no          INTEGER PRIMARY KEY,
        id          TEXT NOT NULL UNIQUE,
        epoch       INTEGER NOT NULL,
        fork_of     INTEGER,                        -- whose events come before its own
        fork_seq    INTEGER NOT NULL,               -- position of its first own event
        base        BLOB NOT NULL,                  -- chain before its first own event
        kept        INTEGER,                        -- NULL while it exists; then how many events forks still share
        head        INTEGER NOT NULL,               -- number of events when it was last settled
        chain       BLOB NOT NULL,                  -- chain after those
        unsettled   INTEGER NOT NULL DEFAULT 0,     -- 1 when there may be more
        folded      INTEGER NOT NULL DEFAULT 0,     -- events in the summary
        summary     TEXT NOT NULL,
        last_active INTEGER NOT NULL DEFAULT 0,
        cwd         TEXT,
        parent      TEXT,
        indexed     INTEGER NOT NULL DEFAULT 0      -- events in `search`
    );
    CREATE INDEX sessions_by_time ON sessions (last_active, id) WHERE kept IS NULL AND folded > 0;
    CREATE INDEX sessions_unsettled ON sessions (no) WHERE unsettled;
    CREATE INDEX sessions_forked ON sessions (fork_of) WHERE fork_of IS NOT NULL;
    CREATE INDEX sessions_unindexed ON sessions (no) WHERE kept IS NULL AND indexed < head;
    CREATE INDEX sessions_deleted ON sessions (no) WHERE kept IS NOT NULL AND head > kept;
    CREATE TABLE events (
        place INTEGER PRIMARY KEY,
        no    INTEGER NOT NULL,
        seq   INTEGER NOT NULL,
        chain BLOB NOT NULL,
        crc   INTEGER NOT NULL,
        body  BLOB NOT NULL
    );
    CREATE TABLE runs (
        no    INTEGER NOT NULL,
        seq   INTEGER NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;
    CREATE TABLE blobs (
        hash    BLOB PRIMARY KEY NOT NULL,
        created INTEGER NOT NULL,                   -- seconds, when it was last brought
        bytes   BLOB NOT NULL
    );
    CREATE TABLE blob_refs (
        no   INTEGER NOT NULL,
        seq  INTEGER NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (no, seq, hash)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        no    INTEGER NOT NULL,
        seq   INTEGER NOT NULL,
        state BLOB NOT NULL,
        PRIMARY KEY (no, seq)
    );
    CREATE TABLE quarantine (
        id    INTEGER PRIMARY KEY,
        no    INTEGER NOT NULL,
        seq   INTEGER,
        chain,
        crc,
        body,
        note  TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE search USING fts5 (
        words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
    );",
    // 2: checkpoints, learnings and goals, projected from the journals.
    "CREATE TABLE checkpoints (
        no         INTEGER NOT NULL,
        seq        INTEGER NOT NULL,
        at         INTEGER NOT NULL,
        label      TEXT NOT NULL,
        message_id TEXT,
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;
    CREATE TABLE learnings (
        no          INTEGER NOT NULL,
        seq         INTEGER NOT NULL,
        at          INTEGER NOT NULL,
        learning_id TEXT NOT NULL,
        learning    TEXT,                           -- NULL when it is to be forgotten
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;
    CREATE INDEX learnings_by_id ON learnings (learning_id);
    CREATE TABLE goals (
        no      INTEGER NOT NULL,
        seq     INTEGER NOT NULL,
        at      INTEGER NOT NULL,
        goal_id TEXT NOT NULL,
        goal    TEXT NOT NULL,
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;
    CREATE INDEX goals_by_id ON goals (goal_id);",
    // 3: intermediate summaries, for forks in the middle of a session.
    "CREATE TABLE folds (
        no      INTEGER NOT NULL,
        seq     INTEGER NOT NULL,                   -- events in the summary
        summary TEXT NOT NULL,
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;",
];

/// The version that introduced projections. Older databases get them filled from the journals.
const PROJECTIONS: usize = 2;

/// Migrates a database to the current version.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), SqliteFault> {
    while version(connection)? < MIGRATIONS.len() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Check again: another process may have migrated before this transaction began.
        let version = version(&transaction)?;
        if let Some(sql) = MIGRATIONS.get(version) {
            transaction.execute_batch(sql)?;
            if version + 1 == PROJECTIONS {
                projection::rebuild(&transaction)?;
            }
            transaction.pragma_update(None, "user_version", int(version as u64 + 1))?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, SqliteFault> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(SqliteFault::Refused(StoreError::Newer {
            what: "the database".to_owned(),
            found: uint(version),
            supported: MIGRATIONS.len() as u64,
        })),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
