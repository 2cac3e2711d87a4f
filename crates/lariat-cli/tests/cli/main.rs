//! The real program, from outside: its own home, a clean environment, a scripted model behind a real socket.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests look at the world from outside"
)]

mod ground;
mod repair;
mod run;
mod terminal;
mod wire;
