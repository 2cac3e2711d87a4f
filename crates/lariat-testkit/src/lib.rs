//! Test support for Lariat: a strict scripted model, a journal that fails on purpose, a virtual clock,
//! reproducible randomness, tools that record their executions, and a simulated disk that loses power.
//!
//! For tests only; nothing here is part of the product.
//! Invariant: everything is a function of its script and its seed, so that every failure can be reproduced.

pub mod budgets;
pub mod clock;
pub mod conformance;
pub mod executor;
pub mod hooks;
pub mod journal;
pub mod model;
pub mod policy;
pub mod postgres;
pub mod power_loss;
pub mod proof;
pub mod random;
#[cfg(feature = "wire")]
pub mod server;
pub mod sim;
pub mod terminal;
pub mod tools;
#[cfg(feature = "wire")]
pub mod wire;

pub use clock::{EPOCH, VirtualClock};
pub use executor::{Executor, Halt, Step, TaskId, block_on};
pub use hooks::ScriptedHooks;
pub use journal::{Fault, FaultRates, FaultyStore};
pub use model::{Reply, ScriptedModel, StrictChecker};
pub use policy::{Answer, ScriptedApprover, ScriptedPolicy};
pub use random::{SeededEntropy, SeededRandom};
pub use tools::{Act, Ledger, LedgerTool};
