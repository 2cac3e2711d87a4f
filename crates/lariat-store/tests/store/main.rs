//! Every store against one suite, and what is special about each.

mod jsonl;
#[cfg(feature = "sqlite")]
mod sqlite;
