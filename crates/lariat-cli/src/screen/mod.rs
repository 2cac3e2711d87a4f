//! Renders a run for a user at a terminal, with the parts of `lariat-terminal`. All untrusted text is neutralised here.
//!
//! Pure code: terminal features come in as a theme, the time as a value, and strings come out.
//!
//! - `approval`: approval dialogs.
//! - `activity`, `finished_call`, `notes`, `status`, `queue`, `summary`: running and finished tool calls, other events, the
//!   status line, queued messages, the end.
//! - `printer`: combines all of it, event by event; `piped`: the answer alone, for a pipe.

pub(crate) mod activity;
pub(crate) mod approval;
pub(crate) mod finished_call;
pub(crate) mod notes;
pub(crate) mod piped;
pub(crate) mod printer;
pub(crate) mod queue;
pub(crate) mod status;
pub(crate) mod summary;

#[cfg(test)]
pub(crate) mod test_data;
