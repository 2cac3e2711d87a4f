//! Let one agent work and another one judge, until the task is done.
//!
//! The critic answers with a Rust type ([`Agent::run_typed`](crate::Agent::run_typed)), and its feedback is the next prompt of the
//! actor. The actor keeps its conversation, so the feedback needs no context.
//!
//! ```no_run
#![doc = include_str!("../../examples/actor_critic.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! 1: 17 * 23 = 381
//!    7 * 3 is 21, so carry the 2.
//! 2: 17 * 23 = 391
//!    17 * 23 is 391.
//! ```
//!
//! - Always limit the iterations, and share one [`BudgetPool`](crate::budget::BudgetPool) between both agents to limit the cost.
//! - Give the critic tools that only read, so that it cannot do the work itself.
//! - Both agents have sessions of their own. After a crash, [`Agent::recover`](crate::Agent::recover) of each continues where it was.
//! - The critic of `lariat loop` also sees the difference in the files and the output of a check. Programs with the feature `service`
//!   can use that loop, with records, limits and other agents as actor and critic: `service::actor_critic`.
