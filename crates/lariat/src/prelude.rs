//! Re-exports what most programs import: `use lariat::prelude::*;`.

#[cfg(feature = "models")]
pub use crate::model::FindModel;
pub use crate::{
    Agent, AgentError, AgentEvent, AgentMessage, AgentOutput, AllowAll, Cost, ExecutionLimits, Flow, Hooks,
    ModelConfig, PermissionDecision, RunOutcome, RunStream, Tool, ToolContext, ToolEffects, ToolError,
    ToolResult,
};
#[cfg(feature = "typed")]
pub use crate::{FunctionTool, schemars, schemars::JsonSchema};
