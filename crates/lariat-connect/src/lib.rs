//! Extends agents with tools of MCP servers, skills and commands.
//!
//! - [`commands`]: loads the `/` commands of a user or a project, which are prompts in files.
//! - [`mcp`]: starts or contacts MCP servers and gives their tools to agents.
//! - [`skills`]: loads directories of instructions in the Agent Skills format and lists them for a model, which reads them on
//!   demand.

pub mod commands;
pub mod mcp;
pub mod skills;

pub use commands::{Command, CommandSet, CommandWarning};
pub use mcp::{McpClient, McpError, McpToolAdapter};
pub use skills::{Skill, SkillSet, SkillWarning};
