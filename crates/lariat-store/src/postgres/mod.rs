//! Stores journals in PostgreSQL, for servers.
//!
//! [`PostgresStore`] uses one schema (`lariat`) in one database, which any number of nodes can share. An append is one
//! statement that takes effect only for the writer's epoch, at the expected position and on the expected chain, so a
//! writer that was replaced writes nothing. A claim always takes over: another component decides which node should run a
//! session. Invariant: this process's cached state of a session is only a guess, which the append statement checks.
//!
//! | module | contains |
//! | --- | --- |
//! | `connection` | the connection pool, and how server errors are reported |
//! | `schema` | tables and migrations |
//! | `writer`, `batch` | claims and appends |
//! | `read`, `blobs`, `snapshots` | reading events, blobs and snapshots |
//! | `list`, `search` | listing and searching sessions |
//! | `fork`, `garbage` | forks, deletion and garbage collection |
//! | `check`, `repair` | finding and repairing damage |
//! | `projections` | checkpoints, learnings and goals as tables |
//! | `notifier` | notifications when a journal grows |

mod batch;
mod blobs;
mod check;
mod config;
mod connection;
#[cfg(feature = "postgres-tls")]
mod connector;
mod fork;
mod garbage;
mod list;
mod notifier;
mod projections;
mod read;
mod repair;
mod schema;
mod search;
mod session_row;
mod snapshots;
mod store;
mod tls;
mod writer;

pub use config::PostgresConfig;
pub use store::PostgresStore;
