//! Renders text for terminals: Markdown, diffs, highlighted code, tables, numbers.
//!
//! Pure code: terminal features come in as [`theme::Theme`], and strings come out. It is what front ends for a terminal share.
//!
//! - [`theme`]: terminal features and styles.
//! - [`text`]: neutralises, measures, cuts and wraps untrusted text.
//! - [`human`]: formats numbers, times and money; [`table`]: rows in columns.
//! - [`markdown`]: a model's reply; [`diff`]: file changes; [`highlight`]: classifies the words of code.
//!
//! Invariant: all untrusted text is neutralised with [`lariat_core::display`] before it is part of a result.

pub mod diff;
pub mod highlight;
pub mod human;
pub mod markdown;
pub mod table;
pub mod text;
pub mod theme;
