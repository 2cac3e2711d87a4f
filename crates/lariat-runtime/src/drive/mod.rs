//! The driver: performs what the machine wants, and tells it what came of it.
//!
//! Owns one run's task: effects in order, the durable barrier before everything that touches the world, the model's
//! stream, running tools, timers. Knows models, tools and stores only by their contracts and uses no executor of its
//! own, so the same code runs under tokio and in the simulator.
//! Invariant: an effect that touches the world is performed only after every durable event recorded before it is
//! acknowledged; observers see a durable event only after it is.

mod bounds;
mod changes;
mod definitions;
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
