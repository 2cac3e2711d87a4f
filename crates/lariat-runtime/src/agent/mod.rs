//! The public API of agents: prompt, watch, steer and stop them.
//!
//! [`Agent`] keeps a session between prompts; [`agent_loop`] and its siblings are the same without keeping
//! state. Both use the same driver. This module handles identity, sessions and the ways to observe a run; the
//! logic of the loop is elsewhere.

mod aliases;
mod approve_with;
mod branching;
mod builder;
mod command;
mod compact;
mod context;
mod error;
mod forward;
mod handle;
mod json_answer;
mod judge;
mod launch;
mod loop_config;
mod loops;
mod model;
mod output;
mod parallel;
mod plan;
mod session_end;
mod stream;
mod sub_agent;

pub use builder::AgentBuilder;
pub(crate) use builder::add_secrets;
pub use command::CommandRun;
pub use compact::CompactionReport;
pub use context::AgentContext;
pub use error::{AgentError, BuildError, RunFailure};
pub use forward::EventSender;
pub use handle::{Agent, new_session_id};
#[cfg(feature = "typed")]
pub(crate) use json_answer::parse_json_answer;
pub use judge::LlmJudgeEvaluation;
pub(crate) use launch::observer_sender;
pub use loop_config::AgentLoopConfig;
pub use loops::{agent_loop, agent_loop_continue, agent_loop_recover};
pub(crate) use model::ModelSlot;
pub use output::AgentOutput;
pub use parallel::{ParallelLoopResult, agent_loop_parallel, agent_loop_parallel_recover};
pub use plan::{Plan, PlanDecision, PlannedChange};
pub use stream::RunStream;
pub(crate) use sub_agent::{SubAgentEnd, SubAgentFailure, SubAgentStart, run_sub_agent};
