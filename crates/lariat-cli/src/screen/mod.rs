//! Renders a run for a user at a terminal, with the parts of `lariat-terminal`. All untrusted text is neutralised here.
//!
//! Pure code: terminal features come in as a theme, the time as a value, and strings come out.
//!
//! - `status`, `queue`, `summary`: the status line, queued messages, the end. Tool calls, approval dialogs and notes are in
//!   `lariat-terminal`, because the terminal UI shows them too.
//! - `printer`: combines all of it, event by event; `piped`: the answer alone, for a pipe.

pub(crate) mod piped;
pub(crate) mod printer;
pub(crate) mod queue;
pub(crate) mod status;
pub(crate) mod summary;

#[cfg(test)]
pub(crate) mod test_data;
#[cfg(test)]
mod tests;
