//! Asking for an answer of a type, and asking again when it does not fit.
//!
//! Owns the tries. Each is a run of the session like any other, with its own loop in the journal; what was wrong is told
//! to the model as a note of the runtime, not as words of the user. Another prompt may come between two tries; then the
//! next one finds the agent busy and says so.

use lariat_core::message::AgentMessage;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::form::{Form, SchemaError};
use crate::agent::{Agent, AgentError, AgentOutput};

/// An answer of a type, and the run that gave it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The answer.
    pub value: T,
    /// What it took: the last run, with what all tries used.
    pub output: AgentOutput,
    /// Runs it took, from 1.
    pub tries: u32,
}

/// Why there is no answer of the type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// The run could not be started or driven to its end.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The type or the schema is none that an answer can have.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The run ended before the model was done: see its outcome.
    #[error("the run ended without an answer: {:?}", .0.outcome)]
    Unfinished(Box<AgentOutput>),
    /// The model's last answer does not fit either; its text is in the output.
    #[error("no answer of the form that was asked for after {tries} tries: {problem}")]
    Invalid {
        /// What is wrong with the last one.
        problem: String,
        /// Runs that were made.
        tries: u32,
        /// The last run, with what all tries used.
        output: Box<AgentOutput>,
    },
}

impl TypedError {
    /// The run that gave no answer, if there was one.
    pub fn output(&self) -> Option<&AgentOutput> {
        match self {
            Self::Unfinished(output) | Self::Invalid { output, .. } => Some(output),
            Self::Agent(error) => error.failure().map(|failure| &failure.output),
            Self::Schema(_) => None,
        }
    }
}

impl Agent {
    /// Runs a prompt to an answer of a type. The model is given the type's schema for this run, and when its answer
    /// does not fit, it is told why and asked again ([`AgentBuilder::answer_retries`]).
    ///
    /// Doc comments of the type and its fields reach the model as descriptions.
    ///
    /// # Errors
    /// When the run did not come to an answer, or none of the answers fits.
    ///
    /// [`AgentBuilder::answer_retries`]: crate::AgentBuilder::answer_retries
    pub async fn run_typed<T: DeserializeOwned + JsonSchema>(
        &self,
        prompt: impl Into<AgentMessage>,
    ) -> Result<Typed<T>, TypedError> {
        let form = Form::of::<T>()?;
        let parse = |value: &Value| {
            serde_path_to_error::deserialize(value)
                .map_err(|error| format!("at `{}`: {}", error.path(), error.inner()))
        };
        Box::pin(self.answer(prompt.into(), &form, parse)).await
    }

    /// As [`run_typed`](Self::run_typed), with a schema that comes as data: an object, sent as it is.
    ///
    /// # Errors
    /// When it is not a JSON schema, the run did not come to an answer, or none of the answers fits.
    pub async fn run_with_schema(
        &self,
        prompt: impl Into<AgentMessage>,
        schema: Value,
    ) -> Result<Typed<Value>, TypedError> {
        let form = Form::given(schema)?;
        Box::pin(self.answer(prompt.into(), &form, |value| Ok(value.clone()))).await
    }

    async fn answer<T>(
        &self,
        mut prompt: AgentMessage,
        form: &Form,
        parse: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Typed<T>, TypedError> {
        let mut earlier: Option<AgentOutput> = None;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut ran = self.run_for_answer(prompt, &form.sent).await;
            if let (Some(earlier), Ok(output)) = (&earlier, &mut ran) {
                output.after(earlier);
            }
            if let (Some(earlier), Err(AgentError::Failed(failure))) = (&earlier, &mut ran) {
                failure.output.after(earlier);
            }
            let mut output = ran?;
            output.structured = None;
            if !output.outcome.is_completed() {
                return Err(TypedError::Unfinished(Box::new(output)));
            }
            let read = form.read(&output.text).and_then(|value| Ok((parse(&value)?, value)));
            match read {
                Ok((value, structured)) => {
                    output.structured = Some(structured);
                    return Ok(Typed { value, output, tries });
                }
                Err(problem) if tries > self.answer_retries() => {
                    return Err(TypedError::Invalid { problem, tries, output: Box::new(output) });
                }
                Err(problem) => {
                    prompt = form.again(&problem);
                    earlier = Some(output);
                }
            }
        }
    }
}
