//! The host on the real kernel.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at the world from outside")]

mod folder;
mod git;
mod keeper;
mod killed;
mod processes;
mod sandbox;
