//! Ask for an answer as a Rust type.
//!
//! [`Agent::run_typed`](crate::Agent::run_typed) sends the JSON schema of a type with one run and validates
//! the answer against it. If the answer does not match, the agent tells the model why and asks again: twice,
//! unless [`AgentBuilder::answer_retries`](crate::AgentBuilder::answer_retries) sets another number.
//!
//! ```no_run
#![doc = include_str!("../../examples/typed.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! user: Review the last commit.
//! user: Your last answer is invalid: at `/stars`: 9 is greater than the maximum of 5. Send the whole answer again, as JSON only, and match the requested schema.
//! Merge with 5 stars after 2 attempts: ["A test would be nice."]
//! ```
//!
//! - Providers enforce only a part of JSON Schema. The rest (bounds, patterns) goes into descriptions, and
//!   Lariat validates it.
//! - Lists and enums work, too: Lariat asks for them inside an object and unwraps the result.
//! - Prefer a list of pairs to a map with arbitrary keys: fewer providers accept such a map, and no strict
//!   mode enforces it.
//! - If the schema is data rather than a type, use [`Agent::run_with_schema`](crate::Agent::run_with_schema).
//! - The model can use tools before it answers. A run that a limit or the user ended has no answer:
//!   [`TypedError::Unfinished`](crate::run::TypedError).
