//! Re-exports what the model receives besides the conversation, and what keeps a conversation within the context window.

pub use lariat_core::config::{ContextConfig, Fullness};
pub use lariat_core::context::{
    CompactionProposal, CompactionQuery, CompactionStrategy, ContextSource, Note, NotesQuery,
    TieredCompaction, TokenCounter,
};
pub use lariat_core::model::{PromptSection, SectionStability, SystemPrompt};
pub use lariat_runtime::CompactionReport;
pub use lariat_runtime::compaction::SummarisingCompaction;
pub use lariat_runtime::prompt::{
    ContextPart, ContextReport, Environment, FailureNotes, Learnings, LearningsSection, ModeNotes, Notes,
    OpenTaskNotes, PartKind, Section, SectionQuery, SectionSource, Sections, StoredLearning, base_prompt,
};
#[cfg(feature = "service")]
pub use lariat_service::StoredLearnings;
