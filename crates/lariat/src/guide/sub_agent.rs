//! Let an agent delegate tasks to sub-agents.
//!
//! A [`SubAgentTool`](crate::tool::SubAgentTool) is a tool whose argument `task` goes to another agent, which works in a conversation
//! of its own and returns its last message. Several calls in one reply run at the same time.
//!
//! ```no_run
#![doc = include_str!("../../examples/sub_agent.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! agent: A lariat is rope, and older than the word.
//! sub-agent: When was the first lariat made? (8 events)
//! sub-agent: What is a lariat made of? (8 events)
//! ```
//!
//! - A sub-agent has a session of its own in the store of its parent. After a crash,
//!   [`recover`](crate::Agent::recover) of the parent resumes its sub-agents too: none starts twice, and none of their tools
//!   runs twice.
//! - The permission policy of the parent checks every tool call of a sub-agent. Its approval requests reach the parent's
//!   approver or stream, with the path to the sub-agent in
//!   [`PermissionRequest::agents`](crate::PermissionRequest). A
//!   [`restriction`](crate::tool::SubAgent::with_restriction) or a [list of tools](crate::tool::SubAgent::with_tools_of_parent) can only
//!   narrow what the parent may do.
//! - A sub-agent spends from the budget of its parent: its [`budget`](crate::tool::SubAgent::with_budget) is reserved there, and
//!   what it does not spend goes back. The limits of the parent's run cover its sub-agents.
//! - It ends when its parent is cancelled or its [time](crate::tool::SubAgent::with_timeout) is over; before that, it receives a
//!   message to finish and report.
//! - Sub-agents with [`with_findings`](crate::tool::SubAgent::with_findings) share what they find with the other agents of their tree, and the program
//!   sees it as [`AgentEvent::FindingShared`](crate::AgentEvent::FindingShared).
//! - Depth and number are limited: [`with_max_depth`](crate::tool::SubAgent::with_max_depth),
//!   [`with_max_running`](crate::tool::SubAgent::with_max_running).
