//! Sessions in the background: a host per user runs them, and every command here is a client of that host.
//!
//! - `serving`: the host itself. `client`: finds or starts it, and names sessions and commands.
//! - `ps`, `control`: list, stop, steer, answer. `lariat attach` is in `run`, because it shares the screen with it.
//!
//! Invariant: closing a terminal ends no session of the host.

mod client;
mod control;
mod ps;
mod serving;

pub(super) use client::{HostConnection, from_protocol, new_command, to_protocol};
pub(super) use control::{detach, session_command, stop};
pub(super) use ps::ps;
pub(super) use serving::host;
