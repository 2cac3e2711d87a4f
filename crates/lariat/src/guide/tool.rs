//! Write a tool that the model can call.
//!
//! The shortest way is an async function. The type of its arguments becomes the schema that the model
//! receives, doc comments become descriptions, and the return value becomes the result of the tool call.
//! Arguments that do not match the schema never reach the function: the model receives an error that names
//! the argument. An `Err` from the function reaches the model in the same way. Neither ends the run.
//!
//! ```no_run
#![doc = include_str!("../../examples/tool.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! tool: invalid argument `km`: invalid type: string "ten", expected f64
//! tool: a distance cannot be negative
//! tool: 6.21 miles
//! model: Ten kilometres are 6.21 miles.
//! ```
//!
//! - Declare what the tool does to the outside world with [`effects`](crate::FunctionTool::effects). A tool
//!   that declares nothing is assumed to do everything and requires approval. A read-only tool runs without
//!   approval and in parallel with others.
//! - A function that only computes needs neither `async` nor a declaration: [`pure`](crate::FunctionTool::pure).
//!   Arguments that need no description can be a tuple: `FunctionTool::pure("add", "Adds two numbers.",
//!   |(a, b): (i64, i64)| Ok::<_, String>(a + b)).names(["a", "b"])`.
//! - A long-running tool should watch [`ToolContext::cancel`](crate::ToolContext) and report its progress to
//!   the user with [`progress`](crate::ToolContext::progress).
//! - Put details for your program, which the model does not need, into the `details` of the
//!   [`ToolResult`](crate::ToolResult). A tool that changes files puts `{"path": …, "change": "added" |
//!   "modified" | "deleted"}` there; the run lists them in
//!   [`AgentOutput::files_changed`](crate::AgentOutput).
//! - Implement [`AgentTool`](crate::AgentTool) yourself for a tool with a preview, or for one that changes
//!   something and must still be offered in plan mode.
