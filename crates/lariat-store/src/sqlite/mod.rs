//! Stores all sessions of a user in one SQLite database file.
//!
//! There is one file per user, not per project: one index answers "what did I do last" over all projects, there is one WAL
//! to sync and one file to copy, and a listing walks no directories. Next to the file are SQLite's own `-wal` and `-shm`,
//! and a directory `.locks` with a file for each session that a process has open.
//!
//! | module | contains |
//! | --- | --- |
//! | `schema` | the tables and their migrations |
//! | `database` | connections and the pool of reading connections |
//! | `writer`, `thread`, `sync` | the queue and the writer thread: group commit, failure, delayed sync |
//! | `transaction` | the writer's cache of sessions and its current transaction |
//! | `append`, `settle` | appending records; updating summaries |
//! | `rows` | reading rows and locating the events of a journal |
//! | `list`, `manage`, `check`, `repair`, `projection` | listing and search; forks, deletion and garbage; verification; repair; checkpoints, learnings and goals |
//! | `watch` | notification when a journal grows |
//!
//! Invariant: the store acknowledges an append after its transaction was committed at the stated level, and commits it
//! only if its epoch and position were right within that transaction.

mod append;
mod check;
mod database;
mod fault;
mod file_identity;
mod list;
mod manage;
mod projection;
mod repair;
mod rows;
mod schema;
mod settle;
mod store;
mod sync;
mod thread;
mod transaction;
mod watch;
mod writer;

pub use store::SqliteStore;
