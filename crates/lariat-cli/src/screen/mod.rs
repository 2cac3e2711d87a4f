//! Renders everything for a user at a terminal. All untrusted text is neutralised here, with the guard's renderer.
//!
//! Pure code: terminal features come in as [`theme::Theme`], the time as a value, and strings come out.
//!
//! - `theme`: terminal features and styles.
//! - `text`: neutralises, measures, cuts and wraps untrusted text.
//! - `human`: formats numbers, times and money; `table`: rows in columns.
//! - `markdown`: a model's reply; `diff`: file changes; `approval`: approval dialogs.
//! - `activity`, `finished_call`, `notes`, `status`, `summary`: running and finished tool calls, other events, the status
//!   line, the end.
//! - `printer`: combines all of it, event by event; `piped`: the answer alone, for a pipe.

pub(crate) mod activity;
pub(crate) mod approval;
pub(crate) mod diff;
pub(crate) mod finished_call;
pub(crate) mod human;
pub(crate) mod markdown;
pub(crate) mod notes;
pub(crate) mod piped;
pub(crate) mod printer;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod theme;

#[cfg(test)]
pub(crate) mod test_data;
