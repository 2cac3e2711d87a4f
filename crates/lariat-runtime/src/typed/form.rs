//! The form of an answer: what the service is sent, and what the answer is checked against.
//!
//! Owns both schemas. They differ: the services enforce a small part of JSON Schema, so they are sent that part
//! ([`super::wire`]), and everything is checked here. Services want an object at the top; what is none (a list, an
//! enum) is put into one with a single field, and taken out again.

use std::sync::Arc;

use lariat_core::message::AgentMessage;
use lariat_core::model::OutputSchema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::wire;
use crate::agent::read_answer;

/// The field that holds an answer which is no object.
const FIELD: &str = "answer";

/// The section of notes about answers that did not fit.
const SECTION: &str = "answer";

/// Mistakes that a model is told of at once.
const MOST_MISTAKES: usize = 5;

/// What an answer must look like. [`Agent::run_with_schema`](crate::Agent::run_with_schema) asks until it does; who drives runs by
/// hand sends [`sent`](Self::sent), reads the answer and tells the model what is wrong with it.
pub struct Form {
    pub(super) sent: Arc<OutputSchema>,
    check: jsonschema::Validator,
    in_field: bool,
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a schema an answer can have: {0}")]
pub struct SchemaError(String);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form").field("sent", &self.sent).finish_non_exhaustive()
    }
}

impl Form {
    /// The form of a type.
    pub(super) fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        let schema = schema_of::<T>();
        let in_field = schema.get("type").is_none_or(|kind| kind != "object");
        let whole = if in_field { wire::in_field(FIELD, schema) } else { schema };
        let sent = OutputSchema { name: name(&T::schema_name()), schema: wire::enforceable(whole.clone()) };
        Ok(Self { sent: Arc::new(sent), check: validator(&whole)?, in_field })
    }

    /// A form that comes as data. It is sent as it is.
    ///
    /// # Errors
    /// When it is no JSON schema.
    pub fn given(schema: Value) -> Result<Self, SchemaError> {
        if !schema.is_object() {
            return Err(SchemaError("it is not an object".to_owned()));
        }
        let title = schema.get("title").and_then(Value::as_str).unwrap_or(FIELD);
        let (name, check) = (name(title), validator(&schema)?);
        Ok(Self { sent: Arc::new(OutputSchema { name, schema }), check, in_field: false })
    }

    /// What the service is sent.
    pub fn sent(&self) -> &OutputSchema {
        &self.sent
    }

    /// What a model is told about an answer that does not fit.
    pub fn again(&self, problem: &str) -> AgentMessage {
        AgentMessage::note(SECTION, again(problem))
    }

    /// The value of an answer.
    ///
    /// # Errors
    /// What is wrong with it, in words for the model.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let mut value = read_answer(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let mistakes: Vec<String> = self
            .check
            .iter_errors(&value)
            .take(MOST_MISTAKES)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("at `{path}`: {error}"),
            })
            .collect();
        if !mistakes.is_empty() {
            return Err(mistakes.join("; "));
        }
        if self.in_field {
            value = value.get_mut(FIELD).map(Value::take).unwrap_or_default();
        }
        Ok(value)
    }
}

/// The schema of a type, as it is read.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        // A dialect, said in every request: tokens without a use.
        fields.remove("$schema");
    }
    schema
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, SchemaError> {
    // References to elsewhere do not resolve: nothing is fetched for a schema.
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    options.build(schema).map_err(|error| SchemaError(error.to_string()))
}

/// A name as services take it: letters, digits, `_` and `-`, up to 64.
fn name(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let fitted: String = name.chars().take(64).map(fit).collect();
    if fitted.is_empty() { FIELD.to_owned() } else { fitted }
}

/// What a model is told about an answer that does not fit.
fn again(problem: &str) -> String {
    format!(
        "Your last answer cannot be used: {problem}. Give the whole answer again, as JSON only, in the form that was \
         asked for."
    )
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
