//! Write a store, to keep sessions where you want them.
//!
//! A [`SessionStore`](crate::SessionStore) stores the journals of sessions. Seven functions are enough;
//! snapshots are optional. This one prints each append and leaves the storing to another store.
//!
//! ```no_run
#![doc = include_str!("../../examples/own_store.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! 3 events from 0
//! 3 events from 3
//! Saved.
//! ```
//!
//! The loop relies on these guarantees:
//!
//! - A store acknowledges an append only when it is durable to the level that the
//!   [`Ack`](crate::store::Ack) names.
//! - An append succeeds only at `expected_seq` (otherwise `Conflict`) and only for the last writer that
//!   claimed the session (otherwise `Fenced`). This keeps two processes from writing one session.
//! - A read returns acknowledged events unchanged and in order.
//! - The run waits and retries after `Unavailable`. Every other error ends the run, which can then be
//!   recovered.
//!
//! The crate `lariat-test` has the test suite that the stores of this project pass. Run it on yours with
//! `lariat_test::store_conformance!`.
