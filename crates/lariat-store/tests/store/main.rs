//! Runs the conformance suite against every store, and tests specific to each store.

mod archive_file;
mod corrupt;
mod corrupt_files;
mod jsonl;
mod postgres;
mod regression;
mod sqlite;
mod versions;
