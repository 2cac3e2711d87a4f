//! Undo: what files looked like before a tool changed them, and the way back.
//!
//! Owns a store of its own, outside of the workspace: contents by their hash, and a log of checkpoints. A checkpoint is
//! the difference between two looks at the workspace; going back undoes differences from the newest on. The user's git is
//! never touched, and `.git` and what git ignores as a directory is never looked at.
//!
//! Invariants: nothing is removed or replaced that was not recorded the moment before; what somebody else than a call
//! changed is kept unless the caller says otherwise about exactly that change; every step of a way back is by handle,
//! beneath the root, through no link.
//!
//! - `entry`: what is remembered of a path. `reach`: single steps by handle. `rules`: what git ignores.
//! - `walk`: a look at the workspace. `store`: contents. `log`: checkpoints on the disk.
//! - `history`: checkpoints in memory. `plan`: what going back would do. `steps`: doing it. `checkpoints`: [`Undo`].

mod checkpoints;
mod entry;
mod error;
#[cfg(feature = "planted")]
mod flaw;
mod history;
mod log;
mod plan;
mod reach;
mod rules;
mod steps;
mod store;
mod walk;

pub use checkpoints::{Undo, UndoLimits};
pub use entry::{Look, RelativePath};
pub use error::UndoError;
#[cfg(feature = "planted")]
pub use flaw::Flaw;
pub use history::{By, Change, Summary};
pub use plan::{Conflicts, Item, Preview, Reason, Rewound};

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
