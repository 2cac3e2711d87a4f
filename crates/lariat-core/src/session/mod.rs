//! Sessions, computed from their journals.
//!
//! [`SessionFold`] is the conversation tree, [`SessionMemory`] the state besides it that the agent needs, [`BranchGroup`] a group
//! of loops that run at the same time, [`ClientState`] what its clients need, and [`Session`] with [`LoopRecord`] a record of all loops. Everything is computed from events.

mod branch_memory;
mod budget;
mod clients;
mod failures;
mod file_changes;
mod fold;
mod groups;
mod memory;
mod record;
mod rerun;
mod tree_changes;
mod work;

pub use crate::event::{SessionFormation, Task};
pub use branch_memory::{QueuedChange, TASK_LIST, approved_call_id};
pub use budget::SessionBudget;
pub use clients::{
    ChildRun, ChosenModel, ClientState, OpenBudgetRequest, Question, UserCommand, WaitingMessage,
};
pub use failures::Failure;
pub use file_changes::{ChangeKind, FileChange, FileChanges};
pub use fold::SessionFold;
pub(crate) use fold::{BranchStart, FoldStart};
pub use groups::{Branch, BranchGroup};
pub use memory::{AnsweredRequest, SessionMemory};
pub use record::{ChildLoopRef, LoopRecord, LoopStatus, ParallelGroupRecord, Session};
pub use rerun::{RunStart, run_start};
pub use tree_changes::TreeChanges;
pub use work::{CommandRun, FileState, TouchedFile, WorkLog};

#[cfg(test)]
mod tests;
