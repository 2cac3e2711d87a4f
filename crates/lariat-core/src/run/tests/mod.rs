//! The machine, driven by a scripted world without clock, threads or I/O.
//!
//! [`story`] says what happens, [`harness`] makes it happen and keeps the log, [`catalogue`] lists the stories that the
//! tests of every point (cancel, deadline, steer, crash after each input or event) walk through.

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
