//! Processes with an owner.
//!
//! - [`Launch`]: what to start, where, with which environment, for how long.
//! - [`Supervisor`]: starts it, and owns everything that comes of it.
//! - [`Process`]: one that runs or ran: its output, its input, its end.
//! - [`Keeper`]: a small process that starts programs in place of a large one.
//! - [`Captured`]: the start and the end of an output; the whole is in a file beside.
//!
//! Between us and every program sits a warden, a process that is told when we want an end and notices when we are gone.
//! Invariant: two seconds after a program ended, was stopped, ran out of time, or lost its supervisor, nothing that it
//! started is alive.

mod capture;
mod keeper;
mod launch;
mod lifeline;
mod order;
mod running;
mod supervisor;
mod terminal;

pub use capture::{CaptureLimits, Captured};
pub use keeper::Keeper;
pub use launch::{Environment, Input, Launch, Output, Size};
pub use running::{End, Exit, Finished, Process, ProcessId, Reading};
/// Keeps other processes of the same user from reading this one's memory and environment, and from tracing it. Programs
/// that are started are not affected.
pub fn keep_memory_private() {
    // A kernel that cannot is as before.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

pub use supervisor::{ProcessError, Summary, Supervisor};
