//! Extends agents with tools of MCP servers and of OpenAPI documents, skills and commands.
//!
//! - [`commands`]: loads the `/` commands of a user or a project, which are prompts in files.
//! - [`mcp`]: starts or contacts MCP servers and gives their tools to agents.
//! - `openapi`, with the feature `openapi`: turns the operations of an OpenAPI document into tools.
//! - [`tool_change`]: compares tools with the ones that the user accepted.
//! - [`skills`]: loads directories of instructions in the Agent Skills format and lists them for a model, which reads them on
//!   demand.

pub mod commands;
pub mod mcp;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod skills;
pub mod tool_change;

pub use commands::{Command, CommandSet, CommandWarning};
pub use mcp::{McpClient, McpError, McpToolAdapter};
#[cfg(feature = "openapi")]
pub use openapi::{OpenApiAdapter, OpenApiAuth, OpenApiConfig, OpenApiError, OperationFilter};
pub use skills::{Skill, SkillSet, SkillWarning};
