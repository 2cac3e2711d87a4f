//! A model that follows a script and is as picky as the real ones.
//!
//! [`Reply`] says what one request is answered with, [`ScriptedModel`] plays replies, [`strict`] knows what APIs
//! reject. Owns no wire format: this is the model behind the core's contract, not behind HTTP.

mod checker;
mod reply;
mod scripted;
mod stream;
pub mod strict;

pub use checker::StrictChecker;
pub use reply::{DEFAULT_USAGE, Reply};
pub use scripted::{Breach, ScriptedModel};
pub use strict::{Violation, ViolationKind, validate, validate_messages, validate_tools};
