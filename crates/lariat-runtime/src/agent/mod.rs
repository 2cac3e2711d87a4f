//! The public API of agents: prompt, watch, steer and stop them.
//!
//! [`Agent`] keeps a session between prompts; [`agent_loop`] and its siblings are the same without keeping
//! state. Both use the same driver. This module handles identity, sessions and the ways to observe a run; the
//! logic of the loop is elsewhere.

mod answer;
mod builder;
mod compact;
mod context;
mod error;
mod farewell;
mod handle;
mod launch;
mod loops;
mod output;
mod plan;
mod pump;
mod stream;

#[cfg(feature = "typed")]
pub(crate) use answer::read as read_answer;
pub use builder::AgentBuilder;
pub use compact::CompactionReport;
pub use context::{AgentContext, AgentLoopConfig};
pub use error::{AgentError, BuildError, RunFailure};
pub use handle::{Agent, fresh_session};
pub use loops::{agent_loop, agent_loop_continue, agent_loop_recover};
pub use output::AgentOutput;
pub use plan::{Plan, PlanDecision, PlannedChange};
pub use pump::EventSender;
pub use stream::RunStream;
