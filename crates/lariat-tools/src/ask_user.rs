//! `ask_user`: asks the user a question.
//!
//! A front end implements [`UserPrompter`]. Without one, the tool tells the model that no user is available.

use std::fmt;

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::bench_tool::BenchTool;
use crate::output;

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

/// The tool `ask_user`.
pub(crate) struct AskUser;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    question: String,
    #[serde(default)]
    options: Option<Vec<String>>,
}

impl BenchTool for AskUser {
    type Arguments = Arguments;
    const NAME: &'static str = "ask_user";
    const LABEL: &'static str = "Ask";
    const DESCRIPTION: &'static str = "Ask the user a question and wait for the answer. Use it only for decisions that belong to the user and that you cannot find out yourself. Ask one question per call.";
    const FIELDS: &'static [Field] = &[
        Field::required("question", Kind::Text, "The question. It must be understandable without context."),
        Field::optional(
            "options",
            Kind::List(&Kind::Text, 2, 8),
            "Answers to choose from. The user may give another answer.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::NONE;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let Some(asker) = bench.asker() else {
                return Err(ToolError::Failed(
                    "No user is available to answer. Decide yourself, and state your assumptions in your final answer.".to_owned(),
                ));
            };
            let options = arguments.options.unwrap_or_default();
            let answer = asker.ask(Question { text: arguments.question, options });
            tokio::select! {
                answer = answer => match answer {
                    Some(answer) => {
                        let text = output::cut(&answer, output::LIMIT, "The answer was too long.");
                        Ok(ToolResult::text(text).with_details(json!({ "answered": true })))
                    }
                    None => Ok(ToolResult::text("The user declined to answer. Decide yourself, or stop.")
                        .with_details(json!({ "answered": false }))),
                },
                () = context.cancel.cancelled() => Err(ToolError::Cancelled),
            }
        })
    }
}
