//! Write a tool.
//!
//! The short way is an async function: its arguments' type gives the schema that the model sees, doc comments become
//! descriptions, and what it returns is told to the model. Arguments that do not fit never reach the function; the model
//! is told which one is wrong, and so it is about an `Err`. Neither ends the run.
//!
//! ```no_run
#![doc = include_str!("../../examples/tool.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! tool: The argument `km` does not fit: invalid type: string "ten", expected f64.
//! tool: A distance is not negative.
//! tool: 6.21 miles
//! model: Ten kilometres are 6.21 miles.
//! ```
//!
//! - Say what it does to the world with [`effects`](crate::FunctionTool::effects): one that says nothing is taken to do
//!   everything, and is asked about. One that only reads runs without a question and beside others.
//! - A tool that takes long watches [`ToolContext::cancel`](crate::ToolContext) and tells people what it does with
//!   [`progress`](crate::ToolContext::progress).
//! - Details that a program wants and the model does not need go into a [`ToolResult`](crate::ToolResult)'s `details`. A tool that
//!   changes files says `{"path": …, "change": "added" | "modified" | "deleted"}` there, and they are in
//!   [`AgentOutput::files_changed`](crate::AgentOutput).
//! - A tool with a preview, or one that is offered in plan mode though it changes something, implements
//!   [`AgentTool`](crate::AgentTool) itself.
