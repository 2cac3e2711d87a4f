//! The critic's decision: its schema, and how to find it in the output of another agent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of bytes at the end of an output to search for a decision. It bounds the work: an object can begin at each
/// brace, and serde_json reads at most 128 levels of objects from each.
const TAIL: usize = 64 * 1024;
/// The feedback of a critic that gives none.
const NO_FEEDBACK: &str = "Continue.";

/// What a critic decides about an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum CriticDecision {
    /// The task is done.
    Done {
        /// What was done.
        summary: String,
        /// How sure the critic is, from 0 to 1.
        confidence: Option<f64>,
    },
    /// The actor must continue.
    Continue {
        /// What is missing or wrong.
        feedback: String,
    },
    /// Something prevents the work or its review.
    Error {
        /// What the actor should do about it.
        recovery: String,
    },
}

impl CriticDecision {
    /// The name of the decision, as session files have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done { .. } => "DONE",
            Self::Continue { .. } => "CONTINUE",
            Self::Error { .. } => "ERROR",
        }
    }

    /// What the actor receives; `None` after the last iteration.
    pub fn feedback(&self) -> Option<&str> {
        match self {
            Self::Done { .. } => None,
            Self::Continue { feedback } => Some(feedback),
            Self::Error { recovery } => Some(recovery),
        }
    }

    /// The schema of a decision. All fields are required, because some providers require that.
    pub(crate) fn schema() -> Value {
        let text = |words: &str| json!({ "type": ["string", "null"], "description": words });
        json!({
            "title": "decision",
            "type": "object",
            "properties": {
                "decision": { "type": "string", "enum": ["DONE", "CONTINUE", "ERROR"] },
                "summary": text("With DONE: what was done, in one or two sentences."),
                "confidence": {
                    "type": ["number", "null"], "minimum": 0, "maximum": 1,
                    "description": "With DONE: how sure you are, from 0 to 1."
                },
                "feedback": text("With CONTINUE: what is missing or wrong, and how to see it."),
                "recovery": text("With ERROR: what prevents the work, and what the agent should do about it.")
            },
            "required": ["decision", "summary", "confidence", "feedback", "recovery"],
            "additionalProperties": false
        })
    }

    /// Reads a decision. Fields that do not belong to it are ignored.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let text = |name: &str| {
            let text = value.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let feedback = || NO_FEEDBACK.to_owned();
        match value.get("decision").and_then(Value::as_str)? {
            "DONE" => {
                let confidence = value.get("confidence").and_then(Value::as_f64);
                let confidence = confidence.filter(|share| (0.0..=1.0).contains(share));
                Some(Self::Done { summary: text("summary").unwrap_or_default(), confidence })
            }
            "CONTINUE" => Some(Self::Continue { feedback: text("feedback").unwrap_or_else(feedback) }),
            "ERROR" => {
                let recovery = text("recovery").or_else(|| text("feedback"));
                Some(Self::Error { recovery: recovery.unwrap_or_else(feedback) })
            }
            _ => None,
        }
    }

    /// Returns the last decision in a text: a JSON object with the field `decision`. An earlier one may be an echo of the prompt.
    ///
    /// An object inside a decision does not count. One inside another object does, because some agents wrap their answers.
    pub fn last_in(text: &str) -> Option<Self> {
        let start = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
        let mut rest = text.get(start..).unwrap_or_default();
        let mut last = None;
        while let Some(object) = rest.find('{').and_then(|at| rest.get(at..)) {
            let mut values = serde_json::Deserializer::from_str(object).into_iter::<Value>();
            let value = values.next().and_then(Result::ok);
            let value = value.filter(|value| value.get("decision").is_some_and(Value::is_string));
            let length = if value.is_some() { values.byte_offset() } else { 1 };
            last = value.and_then(|value| Self::from_value(&value)).or(last);
            rest = object.get(length..).unwrap_or_default();
        }
        last
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
