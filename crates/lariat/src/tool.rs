//! Tools: your own, made from functions (feature `typed`), and the built-in ones (feature `tools`).

pub use lariat_core::tool::{
    Access, AgentTool, EarlierMessages, RecordedSubAgent, Tool, ToolContext, ToolDefinition, ToolEffects,
    ToolError, ToolResult,
};
#[cfg(feature = "typed")]
pub use lariat_runtime::FunctionTool;
pub use lariat_runtime::{SubAgent, SubAgentTool};
#[cfg(feature = "tools")]
pub use lariat_tools::{
    Commands, DeniedReads, OutgoingHttp, Outputs, Question, UserPrompter, Workbench, command_tools,
    default_tools,
};
