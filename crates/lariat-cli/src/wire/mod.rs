//! What programs read: JSON, one document or one line per event, in the shape of Claude Code's `stream-json`.
//!
//! Everything here is pure: events and facts come in, values go out. Who writes them is `commands::run`.
//!
//! - `messages`: replies and results in the shape of the Messages API. `tally`: what is counted on the way.
//! - `stream_json`: one line per event. `partial`: the pieces of a reply while it is written. `json`: how it ended.
//! - `sdk`: the lines that a program which holds a session sends. `compat`: the flags it starts us with.

pub(crate) mod compat;
pub(crate) mod json;
mod messages;
mod partial;
pub(crate) mod sdk;
pub(crate) mod stream_json;
mod tally;
