//! Saves what files contained before a tool call changed them, and restores it.
//!
//! The undo store is outside the workspace: contents by hash, and a log of checkpoints. A checkpoint is the difference
//! between two scans of the workspace; a rewind undoes differences, newest first. Undo never touches the user's git,
//! and never scans `.git` or directories that git ignores.
//!
//! Invariants: nothing is removed or replaced unless its state was recorded just before; changes that no tool call
//! made are kept unless the caller explicitly overwrites exactly those changes; every step of a rewind works by handle
//! beneath the root and follows no link.
//!
//! - `entry`: what is recorded about a path. `handle`: single steps by handle. `rules`: what git ignores.
//! - `scan`: scans the workspace. `store`: contents. `log`: checkpoints on disk.
//! - `history`: checkpoints in memory. `plan`: what a rewind would do. `steps`: performs it. `checkpoints`: [`Undo`].

mod checkpoints;
pub(crate) mod entry;
mod error;
pub(crate) mod handle;
mod history;
mod log;
mod plan;
mod rules;
mod scan;
mod steps;
mod store;

pub use checkpoints::{Undo, UndoLimits, WeakUndo};
pub use entry::{RecordedKind, RelativePath};
pub use error::UndoError;
pub use history::{Change, ChangeAuthor, Summary};
pub use plan::{Conflicts, Item, Preview, Reason, RewindResult};

#[cfg(test)]
mod tests;
