//! `ask_user`: asks the user a question.
//!
//! Without a [`UserPrompter`](crate::UserPrompter), the tool tells the model that no user is available.

use lariat_core::BoxFuture;
use lariat_core::permission::UserQuestion;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::BenchTool;
use crate::output;
use crate::user_prompter::Question;

/// The tool `ask_user`.
pub(crate) struct AskUser;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    question: String,
    #[serde(default)]
    options: Option<Vec<String>>,
}

/// Reads the question out of a call of `ask_user`; `None` for other tools and for arguments without a question.
pub fn question_of(tool: &str, arguments: &Value) -> Option<UserQuestion> {
    if tool != AskUser::NAME {
        return None;
    }
    let Arguments { question, options } = Arguments::deserialize(arguments).ok()?;
    Some(UserQuestion::new(question, options.unwrap_or_default()))
}

impl BenchTool for AskUser {
    type Arguments = Arguments;
    const NAME: &'static str = "ask_user";
    const LABEL: &'static str = "Ask";
    const DESCRIPTION: &'static str = "Ask the user a question and wait for the answer. Use it only for decisions that belong to the user and that you cannot find out yourself. Ask one question per call.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "question",
            ArgumentKind::Text,
            "The question. It must be understandable without context.",
        ),
        Field::optional(
            "options",
            ArgumentKind::List(&ArgumentKind::Text, 2, 8),
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
