//! The whole client, from keys to cells: a scripted session, the real loop, and vt100 as the terminal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers fail the test when something is missing"
)]

mod connection;
mod fake;
mod images;
mod kit;
mod linear;
mod pages;
mod story;
mod stress;
