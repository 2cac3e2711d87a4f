//! Hosts sessions in this process: [`Local`] implements [`lariat_api::Sessions`] on a store.
//!
//! - [`Local`]: creates, lists and views sessions, reads their logs, and passes commands to their owners.
//! - [`AgentFactory`]: builds the agent of a session. What makes a project of a directory (settings, trust, tools) is behind
//!   it, so that a server can give a tenant something else than a home directory.
//! - `owner`: the one task that writes to a session. It records a command before it acknowledges it, and it owns the run,
//!   so that a client that detaches stops nothing.
//! - `fold`: the view of a session, computed from its journal.
//!
//! Invariants: the journal is the session, so a host can be killed at any moment and another process continues; a command
//! and what it does are one write; a command is applied at most once, however often a client sends it.

mod asks;
mod bounded_text;
mod factory;
mod fold;
mod host_state;
mod local;
mod log;
mod owner;
mod problems;
mod requests;
mod session;

pub use asks::plan_digest;
pub use bounded_text::bounded_text;
pub use factory::{
    AgentFactory, AgentRequest, FileHistory, HostedAgent, MessageModel, PermissionModes, RetryMessage,
    ShellOutput, UserShell,
};
pub use fold::ViewFold;
pub use host_state::HostOptions;
pub use local::Local;
