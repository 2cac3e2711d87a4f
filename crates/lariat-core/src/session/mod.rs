//! Sessions, computed from their journals.
//!
//! [`SessionFold`] is the conversation tree, [`SessionMemory`] the state besides it that the agent needs, [`ClientState`]
//! what its clients need, and [`Session`] with [`LoopRecord`] a record of all loops. Everything is computed from events.

mod budget;
mod clients;
mod failures;
mod file_changes;
mod fold;
mod memory;
mod record;
mod rerun;
mod work;

pub use crate::event::{SessionFormation, Task};
pub use budget::SessionBudget;
pub use clients::{ChildRun, ChosenModel, ClientState, Question, UserCommand, WaitingMessage};
pub use failures::Failure;
pub use file_changes::{ChangeKind, FileChange, FileChanges};
pub(crate) use fold::FoldStart;
pub use fold::SessionFold;
pub use memory::{AnsweredRequest, QueuedChange, SessionMemory, TASK_LIST, approved_call_id};
pub use record::{ChildLoopRef, LoopRecord, LoopStatus, ParallelGroupRecord, Session};
pub use rerun::{RunStart, run_start};
pub use work::{CommandRun, FileState, TouchedFile, WorkLog};

#[cfg(test)]
mod tests;
