//! Sessions, computed from their journals.
//!
//! [`SessionFold`] is the conversation tree, [`SessionMemory`] the state besides it, and [`Session`] with
//! [`LoopRecord`] a record of all loops. None of them is stored: everything is computed from events.

mod budget;
mod failures;
mod fold;
mod memory;
mod record;
mod work;

pub use budget::SessionBudget;
pub use failures::Failure;
pub(crate) use fold::FoldStart;
pub use fold::SessionFold;
pub use memory::{AnsweredRequest, QueuedChange, SessionMemory, TASK_LIST, approved_call_id};
pub use record::{ChildLoopRef, LoopRecord, LoopStatus, ParallelGroupRecord, Session, SessionFormation};
pub use work::{CommandRun, FileState, Task, TouchedFile, WorkLog};

#[cfg(test)]
mod tests;
