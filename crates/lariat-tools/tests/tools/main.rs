//! The tools from outside: what a model sends, what it gets back, what the files are afterwards.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot make its files has failed; helpers outside of `#[test]` are tests too"
)]

mod commands;
#[cfg(feature = "fetch")]
mod fetching;
mod finding;
mod ground;
mod judged;
mod mapping;
mod scenarios;
mod talking;
