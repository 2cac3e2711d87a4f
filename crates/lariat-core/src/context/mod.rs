//! How full the window is, and how to make room.
//!
//! Owns the token estimate and the tracker that combines it with what providers report (`tokens.rs`, `tracker.rs`), the
//! compaction contract (`compaction.rs`), what it must leave as it is (`verbatim.rs`), what was done (`work.rs`) and the tiers
//! that need no model (`plan.rs`). Invariant: tracking costs the same per message at any length.

mod calibration;
mod classes;
mod compaction;
mod image;
mod judge;
mod notes;
mod plan;
mod recall;
mod summary;
mod tokens;
mod tracker;
mod verbatim;
mod work;

pub use compaction::{Compacted, CompactionQuery, CompactionStrategy, TieredCompaction, compact_messages};
pub use judge::Accepted;
pub use notes::{ContextSource, Note, NotesQuery, Told};
pub use plan::CompactionPlan;
pub use recall::{Recall, recalled_text};
pub use tokens::{
    CharacterClasses, ImageTokens, TokenCounter, count_message, estimate_tokens, message_tokens,
};
pub use tracker::{ContextTracker, TrackerState};
pub use verbatim::Verbatim;
pub(crate) use work::Ended;
pub use work::{CommandRun, FileState, FileTouched, Task, WorkLog};
