//! The other side of the protocol: Lariat as the client of an agent that another program runs. Pure: lines in, lines out.
//!
//! [`Client`] writes our requests and reads what the agent sends. [`ToolCalls`] keeps what is known of the agent's tool calls
//! until they end. [`judged_calls`] says which tool calls of Lariat one of them corresponds to, so that the same permission
//! rules decide. The caller moves the lines, decides, and accesses files.
//!
//! Invariants: everything that an agent sends is untrusted and read leniently; what is kept of it has a maximum size; a
//! message about another session than ours changes nothing. We offer reading and writing files and no terminals.

mod judged;
mod messages;
mod requests;
mod tool_calls;

pub use judged::{JudgedCall, judged_calls};
pub use messages::{
    AgentError, AgentLine, AgentRequest, PermissionChoice, SessionUpdate, StopWord, ToolCallChange,
};
pub use requests::{Client, ModelChoice};
pub use tool_calls::{CallStatus, CallStep, ExternalCall, TooManyCalls, ToolCalls};

#[cfg(test)]
mod tests;
