//! Re-exports what the built-in tools need from the system: files by directory handle, supervised processes, the sandbox,
//! git, undo.

pub use lariat_host::{files, git, process, sandbox, undo};
