//! Sub-agents: agents that a tool call of another agent starts.
//!
//! A sub-agent has a session and a journal of its own, in the store of its parent, and the two journals name each other.
//! The parent records it before the tool call starts, so that after a crash the parent resumes the same sub-agent.
//!
//! Invariants: a sub-agent may do nothing that its parent may not ([`NarrowedPolicy`]); it spends from the budget of its
//! parent; it ends when its parent does; its approval requests are requests of the parent's session.

mod child;
mod narrowed_policy;
mod relay;
mod settings;
mod share_finding;
mod status;
mod tool;

pub use narrowed_policy::NarrowedPolicy;
pub use settings::SubAgent;
pub use tool::SubAgentTool;
