//! Turns a key or a typed text into an answer, for each kind of question.

use lariat_api::{Answer, Ask, AskSubject};
use lariat_core::id::ToolCallId;
use lariat_core::permission::PermissionDecision;
use lariat_terminal::approval;
use serde_json::Value;

/// The meaning of a letter.
pub(super) enum LetterMeaning {
    /// It answers.
    Answer(Answer),
    /// The user wants to give a reason.
    Reason,
    /// Show the whole diff, or less again.
    Whole,
    /// Mark or unmark a change of the plan.
    Mark,
    /// It is not offered.
    None,
}

/// Whether the question is answered by text.
pub(super) fn is_text(ask: &Ask) -> bool {
    match &ask.subject {
        AskSubject::Question { .. } => ask.choices.is_empty(),
        AskSubject::Elicitation { schema, .. } => is_string(schema),
        _ => false,
    }
}

fn is_string(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("string")
}

/// The meaning of a letter for a question. `marked` are the changes of a plan that the user approves.
pub(super) fn letter(ask: &Ask, letter: char, marked: &[ToolCallId], is_confined: bool) -> LetterMeaning {
    let decline = || LetterMeaning::Answer(Answer::Decline { reason: None });
    let letter = letter.to_ascii_lowercase();
    match (&ask.subject, letter) {
        (AskSubject::Approval { request }, _) => {
            let question = approval::ApprovalDialog { request, arguments: None, is_confined };
            match question.answer(letter) {
                approval::ApprovalAnswer::Decided(decision) => {
                    LetterMeaning::Answer(Answer::Approval { decision })
                }
                approval::ApprovalAnswer::WantsReason => LetterMeaning::Reason,
                approval::ApprovalAnswer::WantsDiff => LetterMeaning::Whole,
                approval::ApprovalAnswer::Unclear => LetterMeaning::None,
            }
        }
        (AskSubject::Other(_), 'n') => decline(),
        (AskSubject::Other(_), _) => LetterMeaning::None,
        (_, '1'..='9') => chosen(ask, letter).map_or(LetterMeaning::None, LetterMeaning::Answer),
        (AskSubject::Plan { .. }, 'y') => {
            LetterMeaning::Answer(Answer::Plan { approved: marked.to_vec(), rejected: Vec::new() })
        }
        (AskSubject::Plan { changes }, 'n') => {
            LetterMeaning::Answer(Answer::Plan { approved: Vec::new(), rejected: changes.clone() })
        }
        (AskSubject::Plan { .. }, ' ') => LetterMeaning::Mark,
        (AskSubject::Budget { request }, 'y') => {
            LetterMeaning::Answer(Answer::Budget { limits: request.proposed })
        }
        (AskSubject::Login { .. }, 'y') => LetterMeaning::Answer(Answer::Value { value: Value::Bool(true) }),
        (AskSubject::Plan { .. }, 'e') => LetterMeaning::None,
        (_, 'n') => decline(),
        (_, 'e') => LetterMeaning::Reason,
        _ => LetterMeaning::None,
    }
}

/// The choice with this digit.
fn chosen(ask: &Ask, digit: char) -> Option<Answer> {
    let place = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
    ask.choices.get(place).map(|choice| choice.answer.clone())
}

/// The denial with a typed reason.
pub(super) fn denial(ask: &Ask, text: &str) -> Answer {
    let reason = (!text.is_empty()).then(|| text.to_owned());
    match &ask.subject {
        AskSubject::Approval { .. } => Answer::Approval { decision: PermissionDecision::Deny { reason } },
        _ => Answer::Decline { reason },
    }
}

/// The answer with a typed text: a JSON value where the question wants another type than text.
pub(super) fn value(ask: &Ask, text: &str) -> Answer {
    let value = match &ask.subject {
        AskSubject::Question { schema: Some(schema), .. } if !is_string(schema) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        }
        _ => Value::String(text.to_owned()),
    };
    Answer::Value { value }
}
