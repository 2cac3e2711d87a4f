//! Renders text for terminals: Markdown, diffs, highlighted code, tables, numbers, and the events of a run.
//!
//! Pure code: terminal features come in as [`theme::Theme`], and strings come out. It is what front ends for a terminal share.
//!
//! - [`theme`]: terminal features and styles.
//! - [`text`]: neutralises, measures, cuts and wraps untrusted text; [`painted`]: wraps rows that have styles.
//! - [`human`]: formats numbers, times and money; [`table`]: rows in columns.
//! - [`markdown`]: a model's reply; [`diff`]: file changes; [`highlight`]: classifies the words of code.
//! - [`activity`], [`finished_call`], [`approval`]: tool calls: running, ended, and waiting for approval.
//! - [`notes`], [`outcome`]: other events of a run, and its end.
//!
//! Invariant: all untrusted text is neutralised with [`lariat_core::display`] before it is part of a result.

pub mod activity;
pub mod approval;
pub mod diff;
pub mod finished_call;
pub mod highlight;
pub mod human;
pub mod markdown;
pub mod notes;
pub mod outcome;
pub mod painted;
pub mod picture;
pub mod table;
pub mod text;
pub mod theme;
