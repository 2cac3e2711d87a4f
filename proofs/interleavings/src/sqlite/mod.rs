//! The writer of the SQLite store: the modules that it consists of, under the names of their crate.

#[path = "../../../../crates/lariat-store/src/sqlite/database.rs"]
mod database;
#[path = "../../../../crates/lariat-store/src/sqlite/fault.rs"]
mod fault;
#[path = "../../../../crates/lariat-store/src/sqlite/file_identity.rs"]
mod file_identity;
#[path = "../../../../crates/lariat-store/src/sqlite/projection.rs"]
mod projection;
#[path = "../../../../crates/lariat-store/src/sqlite/rows.rs"]
mod rows;
#[path = "../../../../crates/lariat-store/src/sqlite/schema.rs"]
mod schema;
#[path = "../../../../crates/lariat-store/src/sqlite/settle.rs"]
mod settle;
#[path = "../../../../crates/lariat-store/src/sqlite/sync.rs"]
mod sync;
#[path = "../../../../crates/lariat-store/src/sqlite/thread.rs"]
mod thread;
#[path = "../../../../crates/lariat-store/src/sqlite/transaction.rs"]
mod transaction;
#[path = "../../../../crates/lariat-store/src/sqlite/watch.rs"]
mod watch;
#[path = "../../../../crates/lariat-store/src/sqlite/writer.rs"]
mod writer;

pub(crate) mod scenarios;
