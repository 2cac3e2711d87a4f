//! The outlines of source files: their definitions and mentions.
//!
//! - `language`: what a definition is in each language.
//! - `file`: the definitions and mentions of one file.
//! - `cache`: caches outlines of files that did not change.

mod cache;
mod file;
pub(crate) mod language;

pub(crate) use cache::Outlines;
pub(crate) use file::{FileDefinition, Outline, Outliner};
