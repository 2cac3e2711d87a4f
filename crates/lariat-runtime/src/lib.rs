//! The runtime of Lariat: agents, the driver that runs their loops, observers, the in-memory store.
//!
//! - [`Agent`] is what most programs use: prompt, watch, steer, stop, resume.
//! - [`agent_loop`] and its siblings do the same without keeping state between calls.
//! - [`compaction`] shortens conversations with the help of a model and lets models recall what was left out.
//! - `Gate`, behind the feature `gate`, checks every tool call: plan mode, hooks, permission rules and mode, approvals.
//! - [`budget`] contains budgets that several runs share: a pool, a day.
//! - [`sub_agent`] runs agents for tool calls of other agents.
//! - [`prompt`] provides what a model receives besides the conversation: sections of the system prompt, and
//!   notes.
//! - `typed`, behind its feature, provides typed answers and tools made from functions; [`trace`] records
//!   what happened.
//! - [`drive`] is the driver of a run, [`observe`] passes events to observers, [`memory`] is the in-memory
//!   store.
//!
//! Models, tools and stores are plugged in through the traits of `lariat-core`.

pub mod agent;
pub mod budget;
pub mod compaction;
pub mod drive;
#[cfg(feature = "gate")]
pub mod gate;
pub mod memory;
pub mod observe;
mod one_reply;
pub mod prompt;
mod proposal;
pub mod redact;
pub mod sub_agent;
pub mod system;
pub mod trace;
#[cfg(feature = "typed")]
pub mod typed;

pub use agent::{
    Agent, AgentBuilder, AgentContext, AgentError, AgentLoopConfig, AgentOutput, BuildError, CommandRun,
    CompactionReport, EventSender, LlmJudgeEvaluation, ParallelLoopResult, Plan, PlanDecision, PlannedChange,
    RunFailure, RunStream, agent_loop, agent_loop_continue, agent_loop_parallel, agent_loop_parallel_recover,
    agent_loop_recover, new_session_id,
};
pub use budget::{BudgetPool, DailyBudget, MemorySpending};
pub use drive::{CommandEffect, Preview};
#[cfg(feature = "gate")]
pub use gate::{Gate, QuestionReader};
pub use lariat_core::session::{ChangeKind, FileChange};
pub use memory::MemoryStore;
pub use observe::Observer;
pub use sub_agent::{NarrowedPolicy, SubAgent, SubAgentTool};
#[cfg(feature = "typed")]
pub use typed::{FunctionTool, TypedAnswer, TypedError};
