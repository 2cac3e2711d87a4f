//! Rust types instead of JSON: typed answers, and tools made from functions.
//!
//! Derives the schema of a type ([`schemars::JsonSchema`]), converts it for the wire, validates the reply,
//! and reports mistakes to the model. Ask for a typed answer with [`Agent::run_typed`] or, if the schema is
//! data, with [`Agent::run_with_schema`]; create a tool with [`FunctionTool::new`].
//!
//! Invariant: a value that leaves here satisfies its whole schema, even if the provider received a simpler
//! one.
//!
//! [`Agent::run_typed`]: crate::Agent::run_typed
//! [`Agent::run_with_schema`]: crate::Agent::run_with_schema

mod answer;
mod answer_schema;
mod function;
mod wire;

pub use answer::{TypedAnswer, TypedError};
pub use answer_schema::{AnswerSchema, SchemaError};
pub use function::FunctionTool;
