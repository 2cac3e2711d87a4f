//! Starts processes and ends everything they started.
//!
//! - [`Launch`]: what to start, where, with which environment and time limit.
//! - [`Supervisor`]: starts programs and owns their process trees.
//! - [`Process`]: a program that runs or ran: its output, its input, how it ended.
//! - [`LaunchHelper`]: the launch helper, a small process that starts programs on behalf of a large one.
//! - [`CapturedOutput`]: the start and the end of an output; the whole output may be in a file.
//!
//! Every program runs beneath a supervisor process (see `sys`) that ends its process tree when we ask, or when this
//! process dies. Invariant: two seconds after a program ended, was stopped, timed out, or lost its [`Supervisor`],
//! nothing that it started is alive.

mod capture;
mod control;
mod launch;
mod launch_helper;
mod order;
mod programs;
mod running;
mod supervisor;
mod terminal;

pub use capture::{CaptureLimits, CapturedOutput};
pub use launch::{Environment, Input, Launch, Output, Size};
pub use launch_helper::LaunchHelper;
pub use running::{End, Exit, Process, ProcessId, ProcessResult, Reading};
/// Prevents other processes of the same user from tracing this process and from reading its memory and environment.
/// Does not affect programs that are started later.
pub fn keep_memory_private() {
    // If the kernel does not support this, the process runs as before.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

pub use supervisor::{ProcessError, Summary, Supervisor};
