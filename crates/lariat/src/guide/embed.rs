//! Embed an agent in your program.
//!
//! An [`Agent`](crate::Agent) needs a model. Everything else has a default: no tools, a journal in memory,
//! limits on turns, tokens and time, and an approval request before every tool call that does more than read.
//! This program gives the agent one read-only tool and prints the model's text as it arrives.
//!
//! ```no_run
#![doc = include_str!("../../examples/embed.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! It is half past nine.
//! Completed after 2 turns, 30 tokens
//! ```
//!
//! Next steps:
//!
//! - Use a real model: give the builder a `ProviderRegistry` and a [`ModelConfig`](crate::ModelConfig) with a
//!   key.
//! - Make the session durable: set [`AgentBuilder::store`](crate::AgentBuilder::store) and
//!   [`session_id`](crate::AgentBuilder::session_id), and call [`Agent::recover`](crate::Agent::recover)
//!   before the first prompt.
//! - Run several agents: share the registry and the store; the agents are otherwise independent.
//! - Get the result as JSON: [`AgentOutput`](crate::AgentOutput) serialises, with usage, cost, changed files
//!   and the outcome.
