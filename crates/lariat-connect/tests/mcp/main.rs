//! Tests the MCP client with a server that hangs, floods, dies, changes its tools and sends hostile text.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests check the system without going through the crate"
)]

mod adapter;
mod browser;
mod configuration;
mod connection;
mod documented_tests;
mod login;
mod measurements;
mod misbehaviour;
mod real_servers;
mod streamable_http;
mod support;
