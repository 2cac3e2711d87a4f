//! What a person sees: text rendered for a terminal. All untrusted text is neutralised here, by the guard's renderer.
//!
//! Pure code: what the terminal can do comes in as [`look::Look`], the time comes in as a value, and strings come out.
//!
//! - `look`: what the terminal can do, and how styles look on it.
//! - `text`: untrusted text made safe to read, measured, cut and wrapped.
//! - `human`: numbers, times and money for people; `table`: rows in columns.
//! - `markdown`: a model's reply; `diff`: what changes; `approval`: the question whether something may run.
//! - `activity`, `called`, `notes`, `status`, `summary`: what a run does, did, meets, waits for, and came to.
//! - `printer`: all of it together, event by event; `piped`: the answer alone, for another program.

pub(crate) mod activity;
pub(crate) mod approval;
pub(crate) mod called;
pub(crate) mod diff;
pub(crate) mod human;
pub(crate) mod look;
pub(crate) mod markdown;
pub(crate) mod notes;
pub(crate) mod piped;
pub(crate) mod printer;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;

#[cfg(test)]
pub(crate) mod samples;
