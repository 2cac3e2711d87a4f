//! The session protocol: what a front end sends to a session and what it receives.
//!
//! A front end (terminal, HTTP server, editor, fleet) uses only this crate and [`Sessions`]. Three contracts carry
//! everything:
//!
//! 1. [`Sessions::log`]: the durable events in order, each with its position. The log first replays, then says
//!    [`LogItem::Synced`] once, then follows. Nothing durable travels on another channel.
//! 2. [`Sessions::live`]: text deltas and progress, tagged with the position they follow. A slow reader loses some
//!    and receives [`Live::Resync`]; it then reads the log.
//! 3. [`Sessions::view`]: the state at a position. To attach, a client reads a view and then the log after the view's
//!    cursor, so it misses nothing and sees nothing twice.
//!
//! [`TreeLog`] reads the logs of a session and of all sub-agents below it, with a cursor for each.
//!
//! [`SessionCommand`]s change a session. A host records a command before it acknowledges it with a [`Receipt`], and
//! applies a command at most once, however often a client sends it. A question that needs a user is an [`Ask`]; the
//! first valid answer wins and every client sees who gave it.
//!
//! Invariants: these are types and contracts only, without I/O; a value with an unknown variant survives being read
//! and written again; a variant that restricts or grants something and is unknown is refused, never ignored.

mod ask;
mod command;
mod cursor;
mod listing;
mod log;
mod problem;
#[cfg(feature = "schema")]
pub mod schema;
mod sessions;
mod text_ids;
mod tree;
mod view;

pub use ask::{Answer, AnswerOutcome, Ask, AskChoice, AskKind, AskPolicy, AskResolved, AskSubject};
pub use command::{Action, CheckpointParts, Delivery, Edit, PromptContent, Receipt, SessionCommand};
pub use cursor::{Cursor, CursorError, StoreGeneration};
pub use listing::{SessionFilter, SessionPage, SessionSummary};
pub use log::{Live, LiveItem, LogItem, SessionChange};
pub use problem::{Problem, ProblemCode};
pub use sessions::{
    ContextUse, CreateSession, FileChange, FileDiff, FileList, ItemStream, LogRequest, Sessions,
};
pub use text_ids::{AskDigest, AskId, ClientName, CommandId, Principal};
pub use tree::{TreeCursors, TreeItem, TreeLog};
pub use view::{
    AttachedClient, BudgetView, ChildSession, ModelView, PlanView, QueuedMessage, SessionStatus, SessionView,
    TokenUse,
};
