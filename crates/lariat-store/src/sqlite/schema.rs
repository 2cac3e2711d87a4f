//! The tables, and how those of older versions become today's.
//!
//! Owns the list of migrations and nothing else knows a version. They only go forward, each in a transaction of its
//! own; what was released is never edited. Invariant: a database that was opened has the tables of the last entry.
//!
//! How the tables are laid out, and why:
//! - `events` is in the order of writing, whoever wrote, so that an append touches the last page only. Clustered by
//!   session it would split pages in the middle of the tree: measured 2.2 times the bytes with eight sessions of 1 KB
//!   events, 4.6 times when they commit together.
//! - `runs` says where a session's events are: one row for each stretch that nobody else's event interrupts. A session
//!   that is alone pays for it once. It is an index: `events` has all that is needed to make it anew.
//! - `sessions` holds what a listing shows, as of `head`. Appends leave it behind (`unsettled` says so), because one more
//!   page for each event would nearly double what is written.

use lariat_core::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;
use super::projection;
use super::rows::int;

/// From an empty database to today's, version by version.
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
    // 2: what the journals say besides the conversation, beside them.
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
    // 3: summaries on the way, for forks in the middle.
    "CREATE TABLE folds (
        no      INTEGER NOT NULL,
        seq     INTEGER NOT NULL,                   -- events in the summary
        summary TEXT NOT NULL,
        PRIMARY KEY (no, seq)
    ) WITHOUT ROWID;",
];

/// The version in which the projections came; older databases have them filled.
const PROJECTIONS: usize = 2;

/// Brings a database up to date.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    while version(connection)? < MIGRATIONS.len() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Again, now that nobody else can do it at the same time.
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

fn version(connection: &Connection) -> Result<usize, Fault> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(Fault::Refused(StoreError::Unavailable(format!(
            "the database was written by a newer version of this program (its tables are of version {version}, this \
             program knows {}): use that version, or another database file",
            MIGRATIONS.len()
        )))),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
