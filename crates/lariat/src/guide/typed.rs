//! Ask for an answer of a type.
//!
//! [`Agent::run_typed`](crate::Agent::run_typed) gives the model the schema of a type for one run, checks the answer against all of it,
//! and when it does not fit, tells the model why and asks again: twice, unless
//! [`AgentBuilder::answer_retries`](crate::AgentBuilder::answer_retries) says otherwise.
//!
//! ```no_run
#![doc = include_str!("../../examples/typed.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! told: Review the last commit.
//! told: Your last answer cannot be used: at `/stars`: 9 is greater than the maximum of 5. Give the whole answer again, as JSON only, in the form that was asked for.
//! Merge with 5 stars after 2 tries: ["A test would be nice."]
//! ```
//!
//! - Services enforce a part of JSON Schema; what they do not (bounds, patterns) is said in descriptions and checked here.
//! - A list or an enum works, too: it is asked for inside of an object, and taken out again.
//! - A map with any keys is taken by fewer services than a list of pairs: none of the strict modes enforces it.
//! - A schema that comes as data: [`Agent::run_with_schema`](crate::Agent::run_with_schema).
//! - Tools can be used on the way to the answer. A run that a cap or a person ended has none:
//!   [`TypedError::Unfinished`](crate::TypedError).
