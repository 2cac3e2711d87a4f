//! The HTTP client of Lariat: everything that this process sends to another machine by HTTP goes through it.
//!
//! - `transport`: the interface, [`Transport`], which tests implement with scripts.
//! - `client`: [`HttpClient`], the real transport, with its pool of connections.
//! - `config`: [`ClientConfig`], its settings.
//! - `connect`: makes a connection, directly or through a proxy, to an address that an [`AddressCheck`] allows.
//! - `proxies`: which requests go through which proxy.
//! - `tls`: which certificates the client trusts.
//! - `body`: response bodies as they arrive, decompressed.
//! - `failure`: why a connection failed, without an address.
//!
//! This crate reads no environment variable and parses no address that a model wrote.

mod body;
mod client;
mod config;
mod connect;
mod failure;
mod proxies;
mod tls;
mod transport;

pub use client::HttpClient;
pub use config::ClientConfig;
pub use connect::AddressCheck;
pub use transport::{BodyStream, HttpResponse, Transport, TransportError};
