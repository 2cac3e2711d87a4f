//! Assembles what a model receives besides the conversation: named sections of limited size.
//!
//! Static and semi-static sections form the system prompt. It is assembled for the first request of a
//! session, journaled (`PromptAssembled`) and never changed: a resumed session sends the same bytes, and if a
//! section differs now, the model receives the difference in a note. Dynamic sections are notes, appended to
//! the conversation when they are new or have changed. This module contains sections, their assembly and the
//! built-in ones; content from files, git and stores comes from implementations of [`SectionSource`] and
//! [`ContextSource`](lariat_core::context::ContextSource).
//!
//! Invariant: what was sent stays where it was, byte for byte.
//!
//! - `section`: a section and its limit. `source`: sources of sections, and their assembly.
//! - `notes`: notes, as differences where that is shorter. `session`: the system prompt of one session, and
//!   what changed since.
//! - `base`, `mode`, `environment`, `open_task_notes`, `failures`, `learnings`: the built-in sections.
//! - `report`: what is in the context window.

mod base;
mod difference;
mod environment;
mod failures;
mod learnings;
mod mode;
mod notes;
mod open_task_notes;
mod report;
mod section;
mod session;
mod source;

pub(crate) use base::BaseSection;
pub use base::base_prompt;
pub use environment::Environment;
pub use failures::FailureNotes;
pub use lariat_core::model::SectionStability;
pub use learnings::{Learnings, LearningsSection, StoredLearning};
pub use mode::ModeNotes;
pub use notes::{NoteWriter, Notes};
pub use open_task_notes::OpenTaskNotes;
pub use report::{ContextPart, ContextReport, PartKind};
pub use section::Section;
pub(crate) use session::{PromptSlot, SessionPrompt};
pub use source::{SectionQuery, SectionSource, Sections};
