//! The kernel, where no safe library reaches: what runs between `fork` and `exec`, and a few calls besides.
//!
//! The only place of the workspace with `unsafe`. Everything that a child process does before its program starts is
//! prepared beforehand as plain data ([`child::Plan`]); after `fork` nothing allocates, locks or panics.

#![allow(unsafe_code, reason = "fork, seccomp, Landlock and mount attributes have no safe interface")]

pub(crate) mod child;
mod landlock;
pub(crate) mod maker;
pub(crate) mod notify;
mod raw;
mod warden;

pub(crate) use raw::{Filter, Instruction, watch};
