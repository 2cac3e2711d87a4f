//! Journals in PostgreSQL: the store of servers.
//!
//! Owns [`PostgresStore`]: one schema (`lariat`) in one database, shared by any number of nodes. An append is one
//! statement that holds only for the writer's epoch, at the expected position and on the expected chain; so a writer
//! that was replaced writes nothing, whatever it believes. A claim takes over: who should drive a session is decided
//! elsewhere. Invariant: what this process remembers of a session is only ever a guess that the statement checks.
//!
//! | module | owns |
//! | --- | --- |
//! | `link` | connections, and what the server's errors mean |
//! | `schema` | tables and migrations |
//! | `writer`, `batch` | claims and appends |
//! | `read`, `blobs`, `snapshots` | reading back |
//! | `list`, `search` | finding sessions |
//! | `fork`, `garbage` | sharing, deleting, freeing |
//! | `check`, `repair` | damage |
//! | `projections` | checkpoints, learnings and goals as tables |
//! | `wake` | telling who waits that a journal grew |

mod batch;
mod blobs;
mod check;
mod config;
#[cfg(feature = "postgres-tls")]
mod connector;
mod fork;
mod garbage;
mod link;
mod list;
mod projections;
mod read;
mod repair;
mod schema;
mod search;
mod snapshots;
mod standing;
mod store;
mod tls;
mod wake;
mod writer;

pub use config::PostgresConfig;
pub use store::PostgresStore;
