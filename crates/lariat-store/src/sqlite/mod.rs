//! The store of a person's machine: SQLite, one database file for all sessions.
//!
//! One file per user, not per project: one index answers "what did I do last" over all projects, there is one WAL to
//! sync and one file to copy, and a listing walks no folders. Beside it are SQLite's own `-wal` and `-shm`, and a folder
//! `.locks` with a file for each session that is open somewhere.
//!
//! | module | owns |
//! | --- | --- |
//! | `schema` | the tables, and their older versions |
//! | `database` | connections, and the pool of those that read |
//! | `writer`, `thread`, `sync` | the queue and the thread that writes: group commit, failure, late sync |
//! | `desk` | what the writer knows of sessions within and between transactions |
//! | `append`, `settle` | records; summaries and when they are written |
//! | `rows` | where a position of a journal is |
//! | `list`, `manage`, `check`, `repair`, `projection` | what its name says |
//! | `watch` | those who wait for a journal to grow |
//!
//! Invariant: an append is acknowledged after its transaction was committed at the stated level, and it was committed
//! only if its epoch and position were right within that transaction.

mod append;
mod check;
mod database;
mod desk;
mod fault;
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
mod watch;
mod writer;

pub use projection::{Checkpoint, GoalSet, Learned};
pub use store::SqliteStore;
