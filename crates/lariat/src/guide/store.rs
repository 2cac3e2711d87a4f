//! Write a store.
//!
//! A [`SessionStore`](crate::SessionStore) keeps journals. Six functions are enough; snapshots are optional. This one prints what it
//! is given and lets another one keep it.
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
//! Kept.
//! ```
//!
//! What a store promises, and the loop relies on:
//!
//! - An append is acknowledged when it is durable to the level that the [`Ack`](crate::core::store::Ack) names, never before.
//! - It happens only at `expected_seq`, else `Conflict`; and only by who claimed the session last, else `Fenced`. That is
//!   what keeps two processes from writing one session.
//! - What was acknowledged is read back as it was, in order.
//! - `Unavailable` is tried again while the run waits; every other error ends the run, which can then be recovered.
//!
//! `lariat_testkit::conformance` is the suite that the stores of this project pass; give it yours.
