//! Tests of the machine, driven by a script without clock, threads or I/O.
//!
//! [`story`] describes a scenario, [`harness`] plays it and keeps the log, and [`catalogue`] lists the
//! scenarios that the tests interrupt at every point (cancel, deadline, steering, crash after each input or
//! event).

mod approvals;
mod budget;
mod calls;
mod catalogue;
mod compaction;
mod cost;
mod every_point;
mod harness;
mod limits;
mod moments;
mod notes;
mod order;
#[cfg(feature = "planted")]
mod planted;
mod queues;
mod recovery;
mod replay;
mod replies;
mod story;
mod truths;
