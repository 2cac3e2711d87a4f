//! Makes the system calls that no safe library offers: mostly the code between `fork` and `exec`.
//!
//! The only module of the workspace with `unsafe`. Everything that a child process does before its program starts is
//! prepared as plain data ([`child::Plan`]); after `fork` nothing allocates, locks or panics.

#![allow(unsafe_code, reason = "fork, seccomp, Landlock and mount attributes have no safe interface")]

pub(crate) mod child;
pub(crate) mod create;
mod landlock;
pub(crate) mod notify;
mod raw;
mod supervisor;

pub(crate) use raw::{Filter, Instruction, watch};
