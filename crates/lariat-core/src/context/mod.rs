//! Tracks how full the context window is, and compacts the conversation.
//!
//! - `tokens.rs`, `tracker.rs`: the token estimate, and its combination with what providers report
//! - `compaction.rs`: the contract for strategies
//! - `verbatim.rs`: the messages that compaction must not change
//! - `plan.rs`: the compaction tiers that need no model
//!
//! Invariant: tracking a message costs the same at any length of the conversation.

mod acceptance;
mod calibration;
mod classes;
mod compaction;
mod image;
mod notes;
mod plan;
mod recall;
mod summary;
mod tokens;
mod tracker;
mod verbatim;

pub use crate::session::{CommandRun, FileState, Task, TouchedFile, WorkLog};
pub use acceptance::AcceptedCompaction;
pub use compaction::{
    CompactionProposal, CompactionQuery, CompactionStrategy, TieredCompaction, compact_messages,
};
pub use notes::{ContextSource, NewestNotes, Note, NotesQuery};
pub use plan::CompactionPlan;
pub use recall::{Recall, recalled_text};
pub use tokens::{
    CharacterClasses, ImageTokens, TokenCounter, count_message, estimate_tokens, message_tokens,
};
pub use tracker::{ContextTracker, TrackerState};
pub use verbatim::VerbatimMessages;
