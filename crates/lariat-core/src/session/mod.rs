//! Sessions as folds over a journal.
//!
//! Owns the conversation tree ([`SessionFold`]: which messages a loop started from), what is remembered besides it
//! ([`SessionMemory`]) and the records of seed 002 ([`Session`], [`LoopRecord`]). Nothing here is stored: everything is
//! computed from events.

mod budget;
mod failures;
mod fold;
mod memory;
mod record;
mod snapshot;
#[cfg(test)]
mod tests;

pub use budget::SessionBudget;
pub use failures::Failure;
pub use fold::SessionFold;
pub use memory::{Answered, QueuedChange, SessionMemory, TASK_LIST, carried};
pub use record::{ChildLoopRef, LoopRecord, LoopStatus, ParallelGroupRecord, Session, SessionFormation};
pub use snapshot::{NamedStart, SessionSnapshot};
