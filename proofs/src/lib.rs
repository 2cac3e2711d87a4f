//! Proofs of Lariat and what they need: the simulator, the budgets proof, the scripted model server and the
//! proofs of the protocols, a disk that loses power, a PostgreSQL server for tests.
//!
//! The binaries are the proofs and benches that `cargo xtask` starts. Never published: what programs that
//! embed Lariat use in their tests is in `lariat-test`.
//! Invariant: a proof is a function of its seed, so that every failure can be reproduced.

pub mod agents;
pub mod budgets;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "tools")]
pub mod file_race;
#[cfg(feature = "store")]
pub mod golden;
#[cfg(feature = "parsers")]
pub mod parsers;
pub mod postgres;
pub mod power_loss;
pub mod proof;
#[cfg(feature = "wire")]
pub mod server;
#[cfg(feature = "simulate")]
pub mod sim;
#[cfg(feature = "suites")]
pub mod suites;
pub mod terminal;
#[cfg(feature = "wire")]
pub mod wire;
