//! A strict scripted model server that speaks seven protocols.
//!
//! `render` turns a scripted turn into the bytes of a protocol, `validate` rejects what the real API rejects,
//! and `Server` combines both on a socket. Official SDKs run against it (`cargo xtask sdk`), which shows that
//! it behaves like the real APIs.
//! Invariant: nothing here imports the clients that it tests, so that the two sides share no errors.

pub mod base64;
mod camel;
mod counting;
pub(crate) mod crc32;
mod host;
mod json;
pub mod render;
mod request_summary;
mod script;
mod tool_loop;
mod turn;
pub mod validate;
mod wire;

pub use host::Server;
pub use render::ApiError;
pub use script::{Answer, Frame, RawResponse, Request, Script};
pub use turn::{Stop, Turn, TurnBlock, TurnUsage, signature, signature_fits};
pub use wire::{Operation, Wire};

#[cfg(test)]
mod tests;
