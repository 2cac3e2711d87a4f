//! A strict scripted model server that speaks seven protocols, and its parts.
//!
//! `render` turns a scripted turn into the bytes of a protocol, `validate` refuses what the real API refuses, and
//! `Server` puts both on a socket. Official SDKs drive it (`cargo xtask sdk`), which is what makes it worth believing.
//! Invariant: nothing here imports the clients it tests; whatever the two sides agree on, they found independently.

pub mod base64;
mod camel;
mod counting;
pub(crate) mod crc32;
mod host;
mod json;
pub mod render;
mod script;
mod seen;
mod tool_loop;
mod turn;
pub mod validate;
mod wire;

pub use host::Server;
pub use render::ApiError;
pub use script::{Answer, Frame, RawAnswer, Request, Script};
pub use turn::{Stop, Turn, TurnBlock, TurnUsage, signature, signature_fits};
pub use wire::{Operation, Wire};

#[cfg(test)]
mod tests;
