//! The contract by which tools ask the user a question. A front end implements it.

use std::fmt;

use lariat_core::BoxFuture;

/// A question for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The text of the question.
    pub text: String,
    /// Answers to choose from; the user may give another answer. Empty for a free answer.
    pub options: Vec<String>,
}

/// Asks the user questions.
pub trait UserPrompter: Send + Sync {
    /// Asks and waits for the answer; `None` if the user declines to answer. Dropping the future withdraws the
    /// question.
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>>;
}

impl fmt::Debug for dyn UserPrompter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}
