//! Extends agents with tools of MCP servers and of OpenAPI documents, skills and commands.
//!
//! - [`agents`]: loads the definitions of sub-agents of a user or a project.
//! - [`commands`]: loads the `/` commands of a user or a project, which are prompts in files.
//! - [`LinePipe`]: exchanges messages with a program, one per line. MCP servers and agents that speak ACP use it.
//! - [`mcp`]: starts or contacts MCP servers and gives their tools to agents.
//! - `openapi`, with the feature `openapi`: turns the operations of an OpenAPI document into tools.
//! - [`tool_change`]: compares tools with the ones that the user accepted.
//! - [`skills`]: loads directories of instructions in the Agent Skills format and lists them for a model, which reads them on
//!   demand.

pub mod agents;
pub mod commands;
mod line_pipe;
mod markdown_files;
pub mod mcp;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod skills;
pub mod tool_change;

pub use agents::{AgentDefinition, AgentSet};
pub use commands::{CommandFile, CommandSet, CommandWarning};
pub use line_pipe::{LineFault, LinePipe};
pub use mcp::{McpClient, McpError, McpToolAdapter};
#[cfg(feature = "openapi")]
pub use openapi::{OpenApiAdapter, OpenApiAuth, OpenApiConfig, OpenApiError, OperationFilter};
pub use skills::{Skill, SkillSet, SkillWarning};
