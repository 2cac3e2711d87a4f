//! Making room with the help of a model, and reading what was left out.
//!
//! [`Summarising`] is the default strategy: the tiers of `lariat-core` in order of cost, with a model's summary by topic
//! before anything is dropped. `Recall` is the tool by which a model reads what it does not see any more, where no other
//! tool of that name is offered. Owns no decision: what is proposed here is judged by the machine.

mod answer;
mod excerpt;
mod recall;
mod summarise;

pub(crate) use recall::Recall;
pub use summarise::Summarising;
