//! The HTTP wire of the session protocol: the routes, a Unix socket that serves them to one user, and a client.
//!
//! - [`routes`]: an HTTP router over a [`Host`], which gives every caller its [`Sessions`](lariat_api::Sessions).
//! - [`unix`]: serves the router on a Unix socket that only the same user can reach.
//! - [`remote`]: [`Remote`], a [`Sessions`](lariat_api::Sessions) over that socket.
//! - [`background`]: finds the host of a user, or starts it.
//!
//! Invariants: a request that fails returns the [`Problem`](lariat_api::Problem) of the host unchanged; a connection
//! that breaks ends its stream and nothing else; a client that repeats a request after a lost connection changes
//! nothing twice, because clients choose the ids of sessions and commands. This crate runs no agent and opens no store.

pub mod background;
mod host;
pub mod remote;
pub mod routes;
mod socket_files;
mod sse;
pub mod unix;
mod wire;

pub use host::{Host, HostStatus};
pub use remote::Remote;
