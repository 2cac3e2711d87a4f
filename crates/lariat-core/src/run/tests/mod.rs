//! Tests of the machine, driven by a script without clock, threads or I/O.
//!
//! [`scenario`] describes a scenario, [`harness`] plays it and keeps the log, and [`catalogue`] lists the
//! scenarios that the tests interrupt at every point (cancel, deadline, steering, crash after each input or
//! event).

mod approvals;
mod background_agents;
mod budget;
mod calls;
mod catalogue;
mod checkpoints;
mod compaction;
mod cost;
mod harness;
mod interruptions;
mod invariants;
mod limits;
mod notes;
mod order;
mod queues;
mod recovery;
mod replay;
mod replies;
mod scenario;
mod session_hooks;
mod sub_agents;
