//! JSON for programs, as one document or one line per event, in the shape of Claude Code's `stream-json`.
//!
//! Pure: takes events and facts, returns values. `commands::run` writes them.
//!
//! - `messages`: replies and results in the shape of the Messages API. `tally`: counts for the result.
//! - `stream_json`: one line per event. `partial`: partial replies. `json`: the result.
//! - `sdk`: the lines of a controlling program.

pub(crate) mod json;
mod messages;
mod partial;
pub(crate) mod sdk;
pub(crate) mod stream_json;
mod tally;
