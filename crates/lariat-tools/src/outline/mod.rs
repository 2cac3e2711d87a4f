//! The outlines of source files: their definitions and mentions.
//!
//! - `language`: what a definition is in each language.
//! - `file`: the definitions and mentions of one file.
//! - `terms`: the words of a file, to compare it with a task.
//! - `cache`: caches outlines of files that did not change.

mod cache;
mod file;
pub(crate) mod language;
mod terms;

pub(crate) use cache::{Outlines, read_source};
pub(crate) use file::{FileDefinition, Outline, Outliner};
pub(crate) use terms::{PARTS, each_term};
