//! Let several agents answer at the same time, and continue with the best answer.
//!
//! [`Agent::run_branches`](crate::Agent::run_branches) runs one branch per agent, all from the same conversation. A strategy selects
//! one of them.
//!
//! ```no_run
#![doc = include_str!("../../examples/branches.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! 17 * 23 = 391 (from 7c3a….careful.1)
//! The conversation continues with 2 messages.
//! ```
//!
//! - [`CheckEvaluation`](crate::run::CheckEvaluation) selects the smallest change among the branches that pass your check. The other
//!   strategies compare tokens, or let a model judge ([`LlmJudgeEvaluation`](crate::run::LlmJudgeEvaluation)).
//! - All branches write to the journal of one session and share its budget. After a crash,
//!   [`Agent::recover`](crate::Agent::recover) resumes every branch.
//! - Branches that change files should work in directories of their own.
//! - [`agent_loop_parallel`](crate::run::agent_loop_parallel) does the same without an [`Agent`](crate::Agent), and returns every
//!   outcome.
