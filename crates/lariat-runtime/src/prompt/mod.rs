//! What a model is told besides the conversation: named, bounded sections.
//!
//! Static and semi-static sections are the system prompt. It is put together when the first request of a session is made,
//! journaled (`PromptAssembled`) and never changed: a resumed session sends the same bytes, and a section that came out
//! differently is told as a difference. Dynamic sections are notes, appended to the conversation when they are new or have
//! changed. Owns sections, their assembly and our own ones; what is in files, in git and in stores comes in through
//! [`SectionSource`] and [`ContextSource`](lariat_core::context::ContextSource).
//! Invariant: what was sent stays, byte for byte, where it was.
//!
//! - `section`: a section and its bound. `source`: who knows sections, and their assembly.
//! - `telling`: notes, as differences where that is shorter. `session`: the prompt of one session, and what changed since.
//! - `base`, `mode`, `environment`, `recitation`, `evidence`, `learnings`: our sections.
//! - `report`: what is in the window.

mod base;
mod difference;
mod environment;
mod evidence;
mod learnings;
mod mode;
mod recitation;
mod report;
mod section;
mod session;
mod source;
mod telling;

pub(crate) use base::BaseSection;
pub use base::base_prompt;
pub use environment::Environment;
pub use evidence::FailureEvidence;
pub use lariat_core::model::Place;
pub use learnings::{LearnedIn, Learnings, LearningsSection};
pub use mode::ModeNotes;
pub use recitation::Recitation;
pub use report::{ContextPart, ContextReport, PartKind};
pub use section::Section;
pub(crate) use session::{PromptSlot, SessionPrompt};
pub use source::{SectionQuery, SectionSource, Sections};
pub use telling::{Notes, Teller};
