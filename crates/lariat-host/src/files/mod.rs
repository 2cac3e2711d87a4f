//! Reads and writes files by directory handle.
//!
//! A [`Workspace`] holds open directories ([`Root`]). The kernel resolves every path that a model wrote beneath one of
//! them (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`). The text of a path never decides whether a file is
//! inside a root; it only selects the root to resolve beneath.
//!
//! Invariant: no operation of this module opens, creates, changes or removes anything outside its roots, even if other
//! processes change the directories at the same time.
//!
//! - `path`: maps text to a root and a path relative to it.
//! - `resolve`: opens a handle for that path.
//! - `judge`: checks the handle's real path against the permissions of the tool call.
//! - `read`, `write`, `directory`: the operations. `folder`: walks directories. `temporary`: names of temporary files.
//! - `memory`: remembers what the agent has read. [`text`]: preserves encodings and line endings.
//!
//! ```
//! use lariat_host::files::{Workspace, WriteCondition};
//!
//! # let folder = std::env::temp_dir().join(format!("lariat-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let workspace = Workspace::open(&folder)?;
//! workspace.write("notes/a.txt", b"hello\n", &WriteCondition::Absent)?;
//! assert_eq!(workspace.read("notes/a.txt", 1024)?.bytes, b"hello\n");
//! assert!(workspace.read("../../etc/passwd", 1024).is_err());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), lariat_host::files::FileError>(())
//! ```

mod directory;
mod error;
mod folder;
mod judge;
mod memory;
mod path;
mod read;
mod resolve;
mod stamp;
pub(crate) mod temporary;
pub mod text;
mod workspace;
mod write;

pub use directory::{AsideFile, Entry, EntryKind};
pub use error::FileError;
pub use folder::Folder;
pub use memory::{FileMemory, FileVersion, ReadState};
pub use read::{FileContent, LineRange};
pub use stamp::{FileId, Stamp};
pub use workspace::{Access, Root, Sync, Workspace};
pub(crate) use write::PLAIN_MODE;
pub use write::{WriteCondition, WriteResult};

#[cfg(test)]
mod tests;
