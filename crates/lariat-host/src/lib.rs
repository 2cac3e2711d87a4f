//! What Lariat does to the world. The only crate that touches the operating system on behalf of an agent.
//!
//! - [`files`]: a [`Workspace`] is open directories; every path is resolved beneath one of them by the kernel.
//! - [`process`]: a [`Supervisor`] starts every process, owns its whole tree, and leaves nothing running.
//! - [`sandbox`]: a [`Policy`] says what a command may reach; a backend makes the kernel hold it to that.
//! - [`git`]: the one way git is run, with everything switched off that a repository could make it execute.
//! - [`undo`]: what files looked like before a tool changed them, and the way back.
//!
//! Deciding whether something may happen is not done here: that is the guard's. This crate does what it is told, inside
//! of what it was given, or says exactly why not.
//!
//! Linux is the platform these promises are tested on. [`sandbox`] says what is missing elsewhere.
//!
//! [`Workspace`]: files::Workspace
//! [`Supervisor`]: process::Supervisor
//! [`Policy`]: sandbox::Policy

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at the world from outside"))]

pub mod files;
pub mod git;
pub mod process;
pub mod sandbox;
mod sys;
pub mod undo;
