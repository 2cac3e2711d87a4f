//! A strict scripted model server that speaks seven protocols, and its parts.
//!
//! `render` turns a scripted turn into the bytes of a protocol, `validate` refuses what the real API refuses, and
//! `Server` puts both on a socket. Official SDKs drive it (`cargo xtask sdk`), which is what makes it worth believing.
//! Invariant: nothing here imports the clients it tests; whatever the two sides agree on, they found independently.

pub mod base64;
mod crc32;
mod json;
pub mod render;
mod turn;
mod wire;

pub use render::ApiError;
pub use turn::{Stop, Turn, TurnBlock, TurnUsage, signature, signature_fits};
pub use wire::{Operation, Wire};
