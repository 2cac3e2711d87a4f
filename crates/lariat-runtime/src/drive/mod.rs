//! The driver: performs the effects that the state machine requests and feeds the results back.
//!
//! Runs in one task per run: effects in order, the durability barrier before every effect on the outside
//! world, the model's stream, running tools, timers. It knows models, tools and stores only by their traits
//! and uses no executor of its own, so that the same code runs under tokio and in the simulator.
//!
//! Invariant: an effect on the outside world is performed only after the store has acknowledged every durable
//! event recorded before it; observers see a durable event only after that.

mod bounds;
mod changes;
mod driver;
mod earlier;
mod gate;
mod handle;
mod journal;
mod mailbox;
mod model_call;
pub(crate) mod moments;
mod ports;
mod preview;
pub(crate) mod questions;
pub(crate) mod redaction;
mod timers;
mod tool_call;

pub use bounds::MAX_TOOL_OUTPUT;
pub(crate) use changes::Changes;
pub use changes::{ChangeKind, FileChange};
pub use driver::{DriveError, Driven, Driver};
pub use handle::RunHandle;
pub use journal::{Journal, JournalConfig};
pub use ports::{Ports, RequestTemplate, TOOL_GRACE, ToolSet};
pub use preview::Preview;
