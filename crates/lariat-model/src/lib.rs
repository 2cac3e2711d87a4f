//! Talks to model providers: turns a [`StreamConfig`](lariat_core::model::StreamConfig) into an HTTP request
//! and the response into a model's reply.
//!
//! Each of the seven wire protocols is a directory under [`protocol`] with pure code (bytes in, events out):
//! a request builder, an outgoing validator, a stream decoder and an error classifier. [`wire`] holds what
//! the protocols share, [`http`] sends requests and reads responses, and [`catalogue`] lists models, their
//! limits and their prices.
//!
//! This crate neither retries nor falls back to another model: the state machine in `lariat-core` does, so
//! that every attempt is visible and recorded.
//! Invariant: a tool call leaves this crate only if its stream ended cleanly and its arguments parse.

pub mod catalogue;
pub mod http;
pub mod protocol;
pub mod registry;
#[cfg(feature = "tokenizer")]
pub mod tokenizer;
pub mod wire;

pub use protocol::{ApiProtocol, Protocol};
pub use registry::ProviderRegistry;
