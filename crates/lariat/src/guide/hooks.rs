//! Intercept an agent's actions with hooks.
//!
//! [`Hooks`](crate::Hooks) are functions that the loop calls at fixed points. The ones named `before_…` stop
//! the next step by returning `Flow::Stop`. An [`InputFilter`](crate::InputFilter) checks each prompt before the
//! model receives it.
//!
//! ```no_run
#![doc = include_str!("../../examples/hooks.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! hook: deploy {}
//! Then on Monday.
//! Rejected
//! ```
//!
//! - The run calls hooks in its own task, so keep them short. A hook that panics is treated as one that
//!   returned `Flow::Stop`.
//! - To decide which tool calls *may* run, use a [`PermissionPolicy`](crate::PermissionPolicy).
//!   [`Gate`](crate::Gate) is the built-in policy with permission rules, permission modes and external hook
//!   programs (docs/hooks.md).
//! - To watch without interfering, use an [`Observer`](crate::Observer), a callback or a subscription
//!   instead: they cannot slow the run.
