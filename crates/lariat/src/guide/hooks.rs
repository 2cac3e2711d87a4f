//! Intercept with hooks.
//!
//! [`Hooks`](crate::Hooks) are functions at fixed points of the loop; those named `before_…` stop what comes next by returning false.
//! An [`InputFilter`](crate::InputFilter) sees prompts before a model does.
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
//! - Hooks are called in the run's own task: keep them short. One that panics counts as false.
//! - Whether a call *may* run is the question of a [`PermissionPolicy`](crate::PermissionPolicy); [`Gate`](crate::Gate) is the one with rules,
//!   modes and hooks that are programs (docs/hooks.md).
//! - Who only wants to watch takes an [`Observer`](crate::Observer), a callback or a subscription instead: they cost the run nothing.
