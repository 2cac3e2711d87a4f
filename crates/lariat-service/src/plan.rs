//! The changes that plan mode queued, as [`Session::plan`](crate::Session::plan) and
//! [`HostedSession::plan`](crate::HostedSession::plan) return them.

pub use lariat_runtime::{Plan, PlannedChange, Preview};
