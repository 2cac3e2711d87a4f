//! Drives another agent by the Agent Client Protocol, as its client: its tool calls become events of the loop, its requests for
//! permission pass the gate, and it reads and writes files through our workspace.
//!
//! - `turn`: one agent from its start to its end. - `access`: what it may do, and its files. - `event`: what it does, for users and
//!   for the journal.

mod access;
mod event;
mod turn;

pub(crate) use access::CallAccess;
pub(crate) use event::JournalWriter;
pub use event::{ExternalEvent, ReportedCall};
pub(crate) use turn::Turn;
