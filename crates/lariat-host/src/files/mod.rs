//! Files by directory handle.
//!
//! Owns how a path that a model wrote becomes a file: [`Workspace`] holds open directories ([`Root`]), and every
//! operation resolves beneath one of them in the kernel (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`).
//! Text of paths is never compared to decide whether something is inside; it only chooses the root to ask.
//!
//! Invariant: no operation of this module opens, creates, changes or removes anything outside of its roots, whatever
//! other processes do to the directories meanwhile.
//!
//! - `path`: from text to a root and a path relative to it.
//! - `resolve`: from there to an open handle.
//! - `judged`: the handle's real path, judged for the call that opens it.
//! - `read`, `write`, `directory`: what is done with it. `folder`: walking on from it. `temporary`: names for a moment.
//! - `memory`: what the agent has read. [`text`]: encodings and line endings, kept.
//!
//! ```
//! use lariat_host::files::{Expected, Workspace};
//!
//! # let folder = std::env::temp_dir().join(format!("lariat-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let workspace = Workspace::open(&folder)?;
//! workspace.write("notes/a.txt", b"hello\n", &Expected::Absent)?;
//! assert_eq!(workspace.read("notes/a.txt", 1024)?.bytes, b"hello\n");
//! assert!(workspace.read("../../etc/passwd", 1024).is_err());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), lariat_host::files::FileError>(())
//! ```

mod directory;
mod error;
mod folder;
#[cfg(feature = "planted")]
mod hole;
mod judged;
mod memory;
mod path;
mod read;
mod resolve;
mod stamp;
pub(crate) mod temporary;
pub mod text;
mod workspace;
mod write;

pub use directory::{Entry, Kind, SetAside};
pub use error::FileError;
pub use folder::Folder;
#[cfg(feature = "planted")]
pub use hole::Hole;
pub use memory::{FileMemory, Known, Standing};
pub use read::{FileContent, LineRange};
pub use stamp::{FileId, Stamp};
pub use workspace::{Access, Root, Sync, Workspace};
pub(crate) use write::PLAIN_MODE;
pub use write::{Expected, Written};

#[cfg(test)]
mod tests;
