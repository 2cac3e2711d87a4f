//! A scripted model that is as strict as real ones.
//!
//! [`Reply`] describes the reply to one request, [`ScriptedModel`] plays replies, [`validate`] knows what APIs
//! reject. This is a model behind the core's trait, not behind HTTP, so it has no wire format.

mod checker;
mod reply;
mod scripted;
mod stream;
mod strict;

pub use checker::StrictChecker;
pub use reply::{DEFAULT_USAGE, Reply};
pub use scripted::{RequestViolation, ScriptedModel};
pub use strict::{Violation, ViolationKind, validate, validate_messages, validate_tools};
