//! Every store against one suite, and what is special about each.

#[cfg(feature = "sqlite")]
mod sqlite;
