//! The driver: performs the effects that the state machine requests and feeds the results back.
//!
//! Runs in one task per run: effects in order, the durability barrier before every effect on the outside
//! world, the model's stream, running tools, timers. It knows models, tools and stores only by their traits
//! and uses no executor of its own, so that the same code runs under tokio and in the simulator.
//!
//! Invariant: an effect on the outside world is performed only after the store has acknowledged every durable
//! event recorded before it; observers see a durable event only after that.

pub(crate) mod approvals;
mod authorize;
mod batch;
mod command;
mod definitions;
mod driver;
mod finding_board;
mod group_snapshots;
mod handle;
mod journal;
mod journal_history;
mod lineage;
mod mailbox;
mod model_call;
mod output_limit;
mod parent_run;
mod ports;
mod preview;
pub(crate) mod redaction;
pub(crate) mod session_hooks;
mod shared_failures;
mod timers;
mod tool_call;

pub use approvals::MissingApprover;
pub use command::CommandEffect;
pub(crate) use command::{CommandReply, RunCommand};
pub(crate) use driver::findings::SHARE_FINDING;
pub use driver::{DriveError, Driver, FinishedRun};
pub use handle::RunHandle;
pub use journal::{Journal, JournalConfig};
pub use lineage::{Lineage, LineageSlot};
pub use output_limit::MAX_TOOL_OUTPUT;
pub use parent_run::ParentRun;
pub use ports::{Ports, RequestTemplate, TOOL_GRACE, ToolSet};
pub use preview::Preview;
