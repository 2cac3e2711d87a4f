//! Tests the tools from outside: what a model sends, what it gets, and what the files are afterwards.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot create its files has failed; helpers outside `#[test]` are tests too"
)]

mod commands;
mod conversation;
#[cfg(feature = "fetch")]
mod fetch;
mod file_permissions;
mod fixture;
mod regression;
mod repo_map;
mod scenarios;
mod search;
mod sessions;
mod unsaved_files;
