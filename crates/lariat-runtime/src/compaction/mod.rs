//! Compacts conversations with the help of a model, and lets the model read what was left out.
//!
//! [`SummarisingCompaction`] is the default strategy: the tiers of `lariat-core` in order of cost, with a model's
//! summary by topic before anything is dropped. `RecallTool` is the tool with which a model reads what it no
//! longer sees; it is added if no other tool has that name. The strategy only proposes edits; the state
//! machine validates them.

pub(crate) mod excerpt;
mod recall;
mod summarise;
mod summary_text;

pub(crate) use recall::RecallTool;
pub use summarise::SummarisingCompaction;
