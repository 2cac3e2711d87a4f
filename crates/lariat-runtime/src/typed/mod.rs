//! Rust types where a model speaks JSON: answers that are values, tools that are functions.
//!
//! Owns the schema that a type derives ([`schemars::JsonSchema`]), the form it has on the wire, the check of what comes
//! back, and the words a model is told when that does not fit. An answer is asked for with [`Agent::run_typed`] or, when
//! the schema is data, with [`Agent::run_with_schema`]; a tool is made with [`FunctionTool::new`].
//! Invariant: a value that leaves here satisfies its whole schema, also where the service was sent a simpler one.
//!
//! [`Agent::run_typed`]: crate::Agent::run_typed
//! [`Agent::run_with_schema`]: crate::Agent::run_with_schema

mod answer;
mod form;
mod function;
mod wire;

pub use answer::{Typed, TypedError};
pub use form::{Form, SchemaError};
pub use function::FunctionTool;

/// How often a model is asked again for an answer that does not have its form.
pub(crate) const ANSWER_RETRIES: u32 = 2;
