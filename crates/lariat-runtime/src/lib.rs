//! The runtime of Lariat: agents, the driver that runs their loops, observers, the in-memory journal.
//!
//! - [`Agent`] is what most programs use: prompt, watch, steer, stop, resume.
//! - [`agent_loop`] and its siblings are the same without keeping anything between calls.
//! - [`compaction`] makes room with the help of a model and lets models recall what was left out.
//! - [`gate::Gate`] decides about every tool call: plan mode, hooks, rules, mode, what was approved.
//! - [`budget`] holds what runs may spend together: a pool, a day.
//! - [`prompt`] is what a model is told besides the conversation: sections of its system prompt, and notes.
//! - `typed`, behind its feature, gives answers as Rust types and makes tools of functions; [`trace`] writes down what
//!   happened.
//! - [`drive`] is the driver underneath, [`observe`] the way events reach observers, [`memory`] the in-memory store.
//!
//! Models, tools and stores come in through the contracts of `lariat-core`.

pub mod agent;
pub mod budget;
pub mod compaction;
pub mod drive;
pub mod gate;
pub mod memory;
pub mod observe;
pub mod prompt;
pub mod system;
pub mod trace;
#[cfg(feature = "typed")]
pub mod typed;

pub use agent::{
    Agent, AgentBuilder, AgentContext, AgentError, AgentLoopConfig, AgentOutput, BuildError,
    CompactionReport, EventSender, Plan, PlanDecision, PlannedChange, RunFailure, RunStream, agent_loop,
    agent_loop_continue, agent_loop_recover, fresh_session,
};
pub use budget::{BudgetPool, DailyBudget, MemorySpending};
pub use drive::{ChangeKind, FileChange, Preview};
pub use gate::Gate;
pub use memory::MemoryStore;
pub use observe::Observer;
#[cfg(feature = "typed")]
pub use typed::{FunctionTool, Typed, TypedError};
