//! Questions to the user, and their answers.

use serde::{Deserialize, Serialize};

/// A question of the model or of a tool to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserQuestion {
    /// The text of the question.
    pub text: String,
    /// Answers to choose from; the user may give another answer. Empty for a free answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl UserQuestion {
    /// Creates a question.
    pub fn new(text: impl Into<String>, options: Vec<String>) -> Self {
        Self { text: text.into(), options }
    }
}

/// What a tool receives that asked the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAnswer {
    /// The answer.
    Text(String),
    /// The user declined, or no user can answer.
    Declined {
        /// The reason that the model reads, if the user gave one.
        reason: Option<String>,
    },
    /// The run ended before an answer.
    Withdrawn,
}
