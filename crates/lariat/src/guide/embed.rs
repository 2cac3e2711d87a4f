//! Embed an agent.
//!
//! An [`Agent`](crate::Agent) needs a model; everything else has a default: no tools, a journal in memory, caps on turns, tokens
//! and time, and a question before every tool call that does more than read. This program gives it one tool that only reads,
//! and prints the model's words as they come.
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
//! What to do next:
//!
//! - A real model: give the builder a `ProviderRegistry` and a [`ModelConfig`](crate::ModelConfig) with a key.
//! - A session that survives: [`AgentBuilder::store`](crate::AgentBuilder::store) and
//!   [`session_id`](crate::AgentBuilder::session_id), and [`Agent::recover`](crate::Agent::recover) as the first call.
//! - Several agents: clone nothing but the registry and the store; agents are independent.
//! - The whole outcome as JSON: [`AgentOutput`](crate::AgentOutput) serialises, with usage, cost, files changed and stop reason.
