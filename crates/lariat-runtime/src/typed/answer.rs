//! Asks for a typed answer, and asks again if it does not match.
//!
//! Each attempt is an ordinary run of the session, with its own loop in the journal. The model learns what
//! was wrong from a note of the runtime, not from a user message. If another prompt arrives between two
//! attempts, the next attempt fails because the agent is busy.

use lariat_core::message::AgentMessage;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer_schema::{AnswerSchema, SchemaError};
use crate::agent::{Agent, AgentError, AgentOutput};

/// A typed answer, and the run that produced it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TypedAnswer<T> {
    /// The answer.
    pub value: T,
    /// The output of the last run, with the usage of all attempts.
    pub output: AgentOutput,
    /// Number of attempts, from 1.
    pub tries: u32,
}

/// Why there is no answer of the type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// The run could not be started, or stopped before its end.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The type or the schema cannot be used for an answer.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The run ended before the model answered; see its outcome.
    #[error("the run ended without an answer: {:?}", .0.outcome)]
    Unfinished(Box<AgentOutput>),
    /// The model's last answer does not match either; its text is in the output.
    #[error("the answer does not match the schema after {tries} attempts: {problem}")]
    Invalid {
        /// What is wrong with the last answer.
        problem: String,
        /// Number of attempts.
        tries: u32,
        /// The output of the last run, with the usage of all attempts.
        output: Box<AgentOutput>,
    },
}

impl TypedError {
    /// Returns the output of the run without an answer, if there was one.
    pub fn output(&self) -> Option<&AgentOutput> {
        match self {
            Self::Unfinished(output) | Self::Invalid { output, .. } => Some(output),
            Self::Agent(error) => error.failure().map(|failure| &failure.output),
            Self::Schema(_) => None,
        }
    }
}

impl Agent {
    /// Runs a prompt and returns the answer as a value of type `T`. The model receives the JSON schema of the
    /// type for this run. If its answer does not match, it receives the reason and is asked again
    /// ([`AgentBuilder::answer_retries`]).
    ///
    /// Doc comments of the type and its fields reach the model as descriptions.
    ///
    /// # Errors
    /// If the run produced no answer, or no answer matched.
    ///
    /// [`AgentBuilder::answer_retries`]: crate::AgentBuilder::answer_retries
    pub async fn run_typed<T: DeserializeOwned + JsonSchema>(
        &self,
        prompt: impl Into<AgentMessage>,
    ) -> Result<TypedAnswer<T>, TypedError> {
        let form = AnswerSchema::of::<T>()?;
        let parse = |value: &Value| {
            serde_path_to_error::deserialize(value)
                .map_err(|error| format!("at `{}`: {}", error.path(), error.inner()))
        };
        Box::pin(self.answer(prompt.into(), &form, parse)).await
    }

    /// Like [`run_typed`](Self::run_typed), with a schema as data: a JSON object, sent unchanged.
    ///
    /// # Errors
    /// If it is not a JSON schema, the run produced no answer, or no answer matched.
    pub async fn run_with_schema(
        &self,
        prompt: impl Into<AgentMessage>,
        schema: Value,
    ) -> Result<TypedAnswer<Value>, TypedError> {
        let form = AnswerSchema::from_value(schema)?;
        Box::pin(self.answer(prompt.into(), &form, |value| Ok(value.clone()))).await
    }

    async fn answer<T>(
        &self,
        mut prompt: AgentMessage,
        form: &AnswerSchema,
        parse: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<TypedAnswer<T>, TypedError> {
        let mut earlier: Option<AgentOutput> = None;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut ran = self.run_for_answer(prompt, &form.sent).await;
            if let (Some(earlier), Ok(output)) = (&earlier, &mut ran) {
                output.add_earlier(earlier);
            }
            if let (Some(earlier), Err(AgentError::Failed(failure))) = (&earlier, &mut ran) {
                failure.output.add_earlier(earlier);
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
                    return Ok(TypedAnswer { value, output, tries });
                }
                Err(problem) if tries > self.answer_retries() => {
                    return Err(TypedError::Invalid { problem, tries, output: Box::new(output) });
                }
                Err(problem) => {
                    prompt = form.retry_message(&problem);
                    earlier = Some(output);
                }
            }
        }
    }
}
