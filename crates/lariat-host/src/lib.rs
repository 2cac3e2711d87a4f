//! Gives an agent access to the operating system: files, processes, the sandbox, git and undo.
//!
//! Only this crate touches the operating system on behalf of an agent.
//!
//! - [`files`]: a [`Workspace`] holds open directories; the kernel resolves every path beneath one of them.
//! - [`process`]: a [`Supervisor`] starts every process, owns its whole tree, and leaves nothing running.
//! - [`sandbox`]: a [`Policy`] says what a command may access; a backend makes the kernel enforce it.
//! - [`sandbox_probe`]: finds the backends that work on this machine, by trying them.
//! - [`git`]: runs git with every feature turned off that would let a repository execute code.
//! - [`undo`]: saves what files contained before a tool call changed them, and restores it.
//!
//! This crate does not decide whether an action is allowed: the guard does. It performs the action within the given
//! limits, or returns the exact reason why it did not.
//!
//! These guarantees are tested on Linux. [`sandbox`] lists what is missing on other platforms.
//!
//! [`Workspace`]: files::Workspace
//! [`Supervisor`]: process::Supervisor
//! [`Policy`]: sandbox::Policy

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests check the system without going through this crate")
)]

pub mod files;
pub mod git;
pub mod process;
pub mod sandbox;
pub mod sandbox_probe;
mod sys;
pub mod undo;
