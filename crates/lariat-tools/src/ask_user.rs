//! `ask_user`: a question to the person an agent works for.
//!
//! Owns the contract [`Asker`] that a front end fulfils. Without one, nobody can answer and the model is told so.

use std::fmt;

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::bench_tool::BenchTool;
use crate::output;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Answers to choose from; another one may be given all the same. Empty for a free answer.
    pub options: Vec<String>,
}

/// Who can put a question to a person.
pub trait Asker: Send + Sync {
    /// Asks and waits for the answer; `None` when the person does not want to answer. Dropping the future takes the
    /// question back.
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>>;
}

impl fmt::Debug for dyn Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}

/// The tool.
pub(crate) struct AskUser;

/// What a call says.
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
    const DESCRIPTION: &'static str = "Asks the user a question and waits for the answer. Only for decisions that are theirs and that you cannot find out yourself; one question per call.";
    const FIELDS: &'static [Field] = &[
        Field::required("question", Kind::Text, "The question, understandable by itself."),
        Field::optional(
            "options",
            Kind::List(&Kind::Text, 2, 8),
            "Answers to choose from. The user may answer otherwise.",
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
                    "Nobody is here to answer. Decide yourself, and say in your final answer what you assumed.".to_owned(),
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
                    None => Ok(ToolResult::text("The user did not want to answer. Decide yourself, or stop.")
                        .with_details(json!({ "answered": false }))),
                },
                () = context.cancel.cancelled() => Err(ToolError::Cancelled),
            }
        })
    }
}
