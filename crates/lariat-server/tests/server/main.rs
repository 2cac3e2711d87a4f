//! The wire over real sockets: a client sees what the host says, over lost connections, restarts and slow readers.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests inspect the server from outside"
)]

mod conformance;
mod double;
mod fixture;
mod http;
mod lost_connections;
mod other_users;
mod processes;
mod same_results;
mod silent_hosts;
mod starters;
mod streams;
