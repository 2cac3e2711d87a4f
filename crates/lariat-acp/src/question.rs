//! Turns a question of a session into a request for approval, and the editor's choice into an answer.

use std::path::Path;

use lariat_api::{Answer, Ask, AskChoice, AskSubject};
use lariat_core::content::ToolCall as Call;
use lariat_core::display;
use lariat_core::id::ToolCallId;
use lariat_core::permission::{DangerLevel, PermissionDecision, PermissionRequest};
use serde_json::{Value, json};

use crate::tool_call::{self, paragraph};
use crate::wire::{
    PermissionOption, PermissionOptionKind, PermissionOutcome, ToolCall, ToolContent, ToolKind, ToolStatus,
};

/// The name of the field in which the user answers with text.
const TEXT_FIELD: &str = "answer";

/// A question as the editor shows it.
#[derive(Debug)]
pub(crate) struct PermissionForm {
    /// What the question is about.
    pub(crate) tool_call: ToolCall,
    /// What the user can choose, in order.
    pub(crate) options: Vec<PermissionOption>,
    /// The answer of each option.
    answers: Vec<Answer>,
}

/// What the editor's answer means.
#[derive(Debug, PartialEq)]
pub(crate) enum QuestionReply {
    /// It answers the question.
    Answer(Answer),
    /// The user cancelled the prompt.
    Cancel,
}

/// The form of a question; `None` if an editor cannot answer it. `call` is the tool call that it is about, `plan` the
/// changes that wait, with their descriptions.
pub(crate) fn form(
    ask: &Ask,
    call: Option<&Call>,
    plan: &[(ToolCallId, String)],
    directory: &Path,
) -> Option<PermissionForm> {
    let about = |title: String, kind, content| ToolCall {
        tool_call_id: call.map_or(ask.id.as_str(), |call| call.id.as_str()).to_owned(),
        title: Some(title),
        kind: Some(kind),
        status: Some(ToolStatus::Pending),
        content: Some(content),
        ..ToolCall::default()
    };
    let tool_call = match &ask.subject {
        AskSubject::Approval { request } => approval(request, call, directory),
        AskSubject::Question { text, .. } => {
            about(display::line(text).into_owned(), ToolKind::Other, Vec::new())
        }
        AskSubject::Plan { changes } => {
            let waits = plan.iter().filter(|(id, _)| changes.contains(id));
            let content = waits.map(|(_, summary)| paragraph(&format!("- {summary}"))).collect();
            about(format!("Make the planned changes ({})", changes.len()), ToolKind::SwitchMode, content)
        }
        AskSubject::Budget { .. } => {
            about("A budget is used up. Continue?".to_owned(), ToolKind::Other, Vec::new())
        }
        _ => return None,
    };
    let options = ask.choices.iter().enumerate().map(|(at, choice)| option(at, choice)).collect();
    let answers = ask.choices.iter().map(|choice| choice.answer.clone()).collect();
    Some(PermissionForm { tool_call, options, answers })
}

/// The tool call that needs approval, with everything that the approval grants.
fn approval(request: &PermissionRequest, call: Option<&Call>, directory: &Path) -> ToolCall {
    let id = request.tool_call_id.as_str();
    let arguments = request.args.as_deref().or(call.map(|call| &call.arguments));
    let mut tool_call =
        tool_call::described(id, &request.tool_name, arguments.unwrap_or(&Value::Null), directory);
    // The summary says exactly what will run.
    tool_call.title = Some(display::line(&request.summary).into_owned());
    tool_call.status = Some(ToolStatus::Pending);
    tool_call.raw_input = arguments.cloned();
    let mut content: Vec<ToolContent> = Vec::new();
    if let Some(preview) = &request.preview {
        let changes = crate::diff::changes(preview, directory);
        if changes.is_empty() {
            content.push(paragraph(preview));
        }
        content.extend(changes.into_iter().map(|(change, _)| change));
    }
    let mut facts = Vec::new();
    facts.extend(request.agent_path().map(|path| format!("Asked by the sub-agent {path}.")));
    if request.danger == DangerLevel::Critical {
        facts.push("This could destroy data permanently.".to_owned());
    }
    facts.extend(request.reason.as_ref().map(|reason| format!("Requires approval: {reason}")));
    facts.extend(request.openings.iter().map(|opening| format!("An approval lets the command {opening}.")));
    facts.extend(request.remember.as_ref().map(|rule| format!("A lasting approval adds the rule {rule}")));
    content.extend(facts.iter().map(|fact| paragraph(fact)));
    tool_call.content = (!content.is_empty()).then_some(content);
    tool_call
}

fn option(at: usize, choice: &AskChoice) -> PermissionOption {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};

    let named = |id: &str, kind| (id.to_owned(), kind);
    let (option_id, kind) = match &choice.answer {
        Answer::Approval { decision: PermissionDecision::Allow } => named("allow_once", AllowOnce),
        Answer::Approval { decision: PermissionDecision::AllowSession } => {
            named("allow_session", AllowAlways)
        }
        Answer::Approval { decision: PermissionDecision::AllowAlways } => named("allow_always", AllowAlways),
        Answer::Approval { .. } => named("reject_once", RejectOnce),
        Answer::Decline { .. } => named("decline", RejectOnce),
        Answer::Plan { approved, .. } if approved.is_empty() => named("reject_plan", RejectOnce),
        Answer::Plan { .. } => named("approve_plan", AllowOnce),
        _ => (format!("choice_{at}"), AllowOnce),
    };
    let mut name = display::line(&choice.label).into_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    PermissionOption { option_id, name, kind }
}

impl PermissionForm {
    /// Reads the response of the editor. A response that is not valid answers nothing: the call is declined.
    pub(crate) fn reply(&self, response: &Value) -> QuestionReply {
        let outcome = response.get("outcome").cloned().unwrap_or_default();
        match serde_json::from_value(outcome) {
            Ok(PermissionOutcome::Cancelled) => QuestionReply::Cancel,
            Ok(PermissionOutcome::Selected { option_id }) => {
                let chosen = self.options.iter().position(|option| option.option_id == option_id);
                let answer = chosen.and_then(|at| self.answers.get(at)).cloned();
                QuestionReply::Answer(
                    answer.unwrap_or_else(|| {
                        declined(&format!("the editor chose an unknown option: {option_id}"))
                    }),
                )
            }
            Err(error) => QuestionReply::Answer(declined(&format!("the editor did not answer: {error}"))),
        }
    }
}

/// Declines for a reason that the model receives.
pub(crate) fn declined(reason: &str) -> Answer {
    Answer::Decline { reason: Some(reason.to_owned()) }
}

/// Whether the user answers with text and not by a choice.
pub(crate) fn wants_text(ask: &Ask) -> bool {
    let has_choice = ask.choices.iter().any(|choice| matches!(choice.answer, Answer::Value { .. }));
    matches!(ask.subject, AskSubject::Question { .. }) && !has_choice
}

/// The parameters of an elicitation with one text field.
pub(crate) fn text_form(session_id: &str, ask: &Ask) -> Value {
    let AskSubject::Question { text, .. } = &ask.subject else { return Value::Null };
    json!({
        "sessionId": session_id,
        "mode": "form",
        "message": display::block(text),
        "requestedSchema": {
            "type": "object",
            "properties": { (TEXT_FIELD): { "type": "string", "title": "Answer" } },
            "required": [TEXT_FIELD],
        },
    })
}

/// Reads the response to [`text_form`].
pub(crate) fn text_reply(response: &Value) -> QuestionReply {
    let text = response.get("content").and_then(|content| content.get(TEXT_FIELD));
    match (response.get("action").and_then(Value::as_str), text) {
        (Some("accept"), Some(value)) => QuestionReply::Answer(Answer::Value { value: value.clone() }),
        (Some("cancel"), _) => QuestionReply::Cancel,
        _ => QuestionReply::Answer(Answer::Decline { reason: None }),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
