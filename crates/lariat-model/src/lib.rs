//! Model APIs: everything between a [`StreamConfig`](lariat_core::model::StreamConfig) and a model's reply.
//!
//! Seven wire protocols, each a folder under [`protocol`] of pure code (bytes in, events out): request builder,
//! outgoing validator, stream interpreter, error classifier. What they have in common is in [`wire`]; the one driver
//! that moves bytes is in [`http`]; who is who and what it costs is in [`catalogue`].
//!
//! Does not retry and does not fall back: the machine in `lariat-core` does, where it is visible and recorded.
//! Invariant: a tool call leaves this crate only from a stream that ended cleanly, with arguments that parse.

pub mod catalogue;
pub mod http;
pub mod protocol;
pub mod registry;
#[cfg(feature = "tokenizer")]
pub mod tokenizer;
pub mod wire;

pub use protocol::{ApiProtocol, Protocol};
pub use registry::ProviderRegistry;
