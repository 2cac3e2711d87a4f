//! The built-in tools: what a coding agent needs to read, change, find and run things in a workspace.
//!
//! Every tool stands on a shared [`Workbench`] and implements [`lariat_core::tool::AgentTool`]. Names and argument
//! schemas are stable; descriptions are written for models; output is bounded and says what was cut and how to get the
//! rest.
//!
//! - [`arguments`]: one table per tool gives both its schema and the check of its arguments.
//! - [`output`]: text with a bound.
//! - one module per tool.

pub mod arguments;
pub mod output;
mod workbench;

pub use workbench::Workbench;
