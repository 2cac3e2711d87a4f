//! The loop without an [`Agent`](crate::Agent): your program keeps the conversation and calls the loop for each
//! prompt. Also branches that run at the same time with the strategies that select one, and the settings of a run that few
//! programs change.

pub use lariat_core::clock::{Clock, EntropySource};
pub use lariat_core::config::{QueueMode, ToolExecutionStrategy};
pub use lariat_core::evaluation::{
    CheckEvaluation, CheckResult, ElaborateEvaluation, EvaluationDecision, EvaluationError,
    EvaluationProgress, EvaluationResult, EvaluationStrategy, FirstFinishedEvaluation, ParallelLoopOutcome,
    PickFirstEvaluation, TokenEfficientEvaluation, TransparentEvaluation,
};
pub use lariat_core::run::RunConfig;
pub use lariat_runtime::drive::{JournalConfig, MissingApprover, Ports, RequestTemplate, ToolSet};
pub use lariat_runtime::{
    AgentContext, AgentLoopConfig, ChangeKind, FileChange, LlmJudgeEvaluation, ParallelLoopResult,
    RunFailure, agent_loop, agent_loop_continue, agent_loop_parallel, agent_loop_parallel_recover,
    agent_loop_recover,
};
#[cfg(feature = "typed")]
pub use lariat_runtime::{TypedAnswer, TypedError};
