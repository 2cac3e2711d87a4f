//! The schema of an answer: what is sent to the provider, and what the answer is validated against.
//!
//! The two differ: providers enforce only a part of JSON Schema, so they receive that part ([`super::wire`]),
//! and everything is validated here. Providers require an object at the top level; anything else (a list, an
//! enum) is wrapped in an object with a single field, and unwrapped again.

use std::sync::Arc;

use lariat_core::message::AgentMessage;
use lariat_core::model::OutputSchema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::wire;
use crate::agent::parse_json_answer;

/// The field that wraps an answer that is not an object.
const WRAPPER_FIELD: &str = "answer";

/// The section of notes about invalid answers.
const SECTION: &str = "answer";

/// Maximum number of mistakes to report to the model at a time.
const MAX_MISTAKES: usize = 5;

/// The schema that an answer must match. [`Agent::run_with_schema`](crate::Agent::run_with_schema) asks until
/// the answer matches. To drive runs yourself, send [`output_schema`](Self::output_schema), read the answer with
/// [`read`](Self::read), and report mistakes with [`retry_message`](Self::retry_message).
pub struct AnswerSchema {
    pub(super) sent: Arc<OutputSchema>,
    check: jsonschema::Validator,
    is_wrapped: bool,
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema for an answer: {0}")]
pub struct SchemaError(String);

impl std::fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form").field("sent", &self.sent).finish_non_exhaustive()
    }
}

impl AnswerSchema {
    /// Creates the schema of a type.
    pub(super) fn of<T: JsonSchema>() -> Result<Self, SchemaError> {
        let schema = schema_of::<T>();
        let is_wrapped = schema.get("type").is_none_or(|kind| kind != "object");
        let whole = if is_wrapped { wire::wrap_in_field(WRAPPER_FIELD, schema) } else { schema };
        let sent =
            OutputSchema { name: name(&T::schema_name()), schema: wire::to_enforceable(whole.clone()) };
        Ok(Self { sent: Arc::new(sent), check: validator(&whole)?, is_wrapped })
    }

    /// Creates a schema from data. It is sent unchanged. `$schema` selects the draft (4, 6, 7, 2019-09 or 2020-12); without it, the draft is
    /// 2020-12. References to other documents are not fetched.
    ///
    /// # Errors
    /// If it is not a JSON schema, or needs another document.
    pub fn from_value(schema: Value) -> Result<Self, SchemaError> {
        if !schema.is_object() {
            return Err(SchemaError("it is not a JSON object".to_owned()));
        }
        let title = schema.get("title").and_then(Value::as_str).unwrap_or(WRAPPER_FIELD);
        let (name, check) = (name(title), validator(&schema)?);
        Ok(Self { sent: Arc::new(OutputSchema { name, schema }), check, is_wrapped: false })
    }

    /// The schema that is sent to the provider.
    pub fn output_schema(&self) -> &OutputSchema {
        &self.sent
    }

    /// Creates the message that reports an invalid answer to the model.
    pub fn retry_message(&self, problem: &str) -> AgentMessage {
        AgentMessage::note(SECTION, invalid_answer_note(problem))
    }

    /// Parses and validates an answer.
    ///
    /// # Errors
    /// What is wrong with the answer, as a text for the model.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let mut value = parse_json_answer(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let mistakes: Vec<String> = self
            .check
            .iter_errors(&value)
            .take(MAX_MISTAKES)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("at `{path}`: {error}"),
            })
            .collect();
        if !mistakes.is_empty() {
            return Err(mistakes.join("; "));
        }
        if self.is_wrapped {
            value = value.get_mut(WRAPPER_FIELD).map(Value::take).unwrap_or_default();
        }
        Ok(value)
    }
}

/// Returns the schema of a type for deserialisation.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        // The dialect is useless to the model and would cost tokens in every request.
        fields.remove("$schema");
    }
    schema
}

/// Creates the validator for the draft that `$schema` names, or for 2020-12.
fn validator(schema: &Value) -> Result<jsonschema::Validator, SchemaError> {
    if jsonschema::Draft::default().detect(schema) == jsonschema::Draft::Unknown {
        let dialect = schema.get("$schema").unwrap_or(&Value::Null);
        return Err(SchemaError(format!(
            "unknown `$schema` {dialect}; hint: remove it, or use that of draft 4, 6, 7, 2019-09 or 2020-12"
        )));
    }
    let options = jsonschema::options().with_retriever(OwnDocumentOnly);
    options.build(schema).map_err(|error| SchemaError(error.to_string()))
}

/// Refuses references to other documents. The default would fetch them if any crate of a program enabled the features for it.
struct OwnDocumentOnly;

impl jsonschema::Retrieve for OwnDocumentOnly {
    fn retrieve(
        &self,
        _: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("other documents are not fetched; hint: copy the document into `$defs`".into())
    }
}

/// Converts a name to one that providers accept: letters, digits, `_` and `-`, at most 64.
fn name(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let fitted: String = name.chars().take(64).map(fit).collect();
    if fitted.is_empty() { WRAPPER_FIELD.to_owned() } else { fitted }
}

/// Writes the message that reports an invalid answer to the model.
fn invalid_answer_note(problem: &str) -> String {
    format!(
        "Your last answer is invalid: {problem}. Send the whole answer again, as JSON only, and match the requested \
         schema."
    )
}

#[cfg(test)]
#[path = "answer_schema_tests.rs"]
mod tests;
