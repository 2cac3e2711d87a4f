//! The critic's decision: its schema, and how to find it in the output of another agent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of bytes at the end of an output in which a decision is looked for.
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
    /// The actor must go on.
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
    pub fn last_in(text: &str) -> Option<Self> {
        let tail = text.get(text.ceil_char_boundary(text.len().saturating_sub(TAIL))..).unwrap_or_default();
        let starts = tail.rmatch_indices('{').map(|(at, _)| tail.get(at..).unwrap_or_default());
        let first_value = |text: &str| {
            serde_json::Deserializer::from_str(text).into_iter::<Value>().next().and_then(Result::ok)
        };
        starts.filter_map(first_value).find_map(|value| Self::from_value(&value))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of finding decisions.

    use super::*;

    #[test]
    fn last_decision_block_wins() {
        let text = "Answer like {\"decision\": \"DONE\", \"summary\": \"…\"}.\nIt is wrong:\n\
                    ```json\n{\"decision\": \"CONTINUE\", \"feedback\": \"fix {a}\", \"more\": {\"x\": 1}}\n```\nBye {";
        let found = CriticDecision::last_in(text).unwrap();
        assert_eq!(found, CriticDecision::Continue { feedback: "fix {a}".to_owned() });
    }

    #[test]
    fn text_without_a_valid_decision_has_none() {
        for text in
            ["", "DONE", "{\"decision\": \"DONE or CONTINUE\"}", "{\"decision\": \"DONE\"", "{\"a\": {}}"]
        {
            assert_eq!(CriticDecision::last_in(text), None, "{text}");
        }
    }

    #[test]
    fn quoted_decision_inside_feedback_does_not_win() {
        let quoted =
            json!({"decision": "CONTINUE", "feedback": "not {\"decision\": \"DONE\"} yet"}).to_string();
        assert_eq!(CriticDecision::last_in(&quoted).unwrap().name(), "CONTINUE");
    }

    #[test]
    fn confidence_above_1_is_ignored() {
        let value = json!({"decision": "DONE", "summary": "ok", "confidence": 95});
        let done = CriticDecision::Done { summary: "ok".to_owned(), confidence: None };
        assert_eq!(CriticDecision::from_value(&value), Some(done));
    }

    #[test]
    fn empty_fields_get_a_text_for_the_actor() {
        let value = json!({"decision": "ERROR", "recovery": null, "feedback": " "});
        assert_eq!(CriticDecision::from_value(&value).unwrap().feedback(), Some("Continue."));
    }
}
