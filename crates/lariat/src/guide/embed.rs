//! Embed an agent in your program.
//!
//! An [`Agent`](crate::Agent) needs a model. Everything else has a default: no tools, a journal in memory,
//! limits on turns, tokens and time, and approval before every tool call that does more than read.
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
//! - Use a real model: `.model("anthropic/claude-sonnet-4-5")`, with the key in `ANTHROPIC_API_KEY`.
//! - Make the session durable: set [`AgentBuilder::store`](crate::AgentBuilder::store) and
//!   [`session_id`](crate::AgentBuilder::session_id), and call [`Agent::recover`](crate::Agent::recover)
//!   before the first prompt.
//! - Run several agents: share a provider (`.provider(…)`) and the store; the agents are otherwise independent.
//! - Get the result as JSON: [`AgentOutput`](crate::AgentOutput) serialises, with usage, cost, changed files
//!   and the outcome.
