//! Words the lines about events that are neither messages nor tool calls.
//!
//! Adds to the notes of `lariat-terminal` what a run in a script does not need. Returns raw text; the renderer
//! neutralises it.

use lariat_core::event::{AUTOMATIC_CHECKPOINT, AgentEvent, GoalStatus};
use lariat_core::message::StopReason;
use lariat_terminal::notes;
use lariat_terminal::theme::Style;

/// Describes a durable event; `None` if it needs no line.
pub(super) fn note(event: &AgentEvent) -> Option<(Style, String)> {
    let (style, words) = match event {
        AgentEvent::ModeChanged { mode } => (Style::Dim, format!("mode: {mode}")),
        AgentEvent::ModelChanged { model, effort } => match effort {
            Some(effort) => (Style::Dim, format!("model: {model}, effort {effort}")),
            None => (Style::Dim, format!("model: {model}")),
        },
        // Every run ends with one of its own.
        AgentEvent::Checkpoint { label, .. } if label.starts_with(AUTOMATIC_CHECKPOINT) => return None,
        AgentEvent::Checkpoint { label, .. } if label.trim().is_empty() => {
            (Style::Dim, "checkpoint".to_owned())
        }
        AgentEvent::Checkpoint { label, .. } => (Style::Dim, format!("checkpoint: {label}")),
        AgentEvent::MessageRemoved { .. } => {
            (Style::Dim, "a message was removed from the conversation".to_owned())
        }
        AgentEvent::PlanDecided { approved, rejected } => {
            (Style::Dim, format!("plan: {} approved, {} rejected", approved.len(), rejected.len()))
        }
        AgentEvent::SessionImported(import) => {
            (Style::Dim, format!("imported from a file ({})", import.format))
        }
        AgentEvent::UserCommandStarted { command, .. } => (Style::Dim, format!("$ {command}")),
        AgentEvent::FileRestoreEnded(result) => match &result.problem {
            Some(problem) => (Style::Bad, format!("could not restore files: {problem}")),
            None => {
                let mut words = match result.restored.as_slice() {
                    [] => "no file had to be restored".to_owned(),
                    files => format!("restored {}", files.join(", ")),
                };
                for (path, reason) in &result.kept {
                    words.push_str(&format!("\nkept {path}: {reason}"));
                }
                if !result.not_restorable.is_empty() {
                    words.push_str(&format!("\nnot restorable: {}", result.not_restorable.join(", ")));
                }
                (Style::Dim, words)
            }
        },
        AgentEvent::SessionTakenOver { .. } => (Style::Dim, "the imported session continues here".to_owned()),
        AgentEvent::Learned(learning) => (Style::Dim, format!("learned: {}", learning.text)),
        AgentEvent::Unlearned { .. } => (Style::Dim, "a learning was deleted".to_owned()),
        AgentEvent::GoalChanged(goal) => {
            let status = match goal.status {
                GoalStatus::Done => "goal reached",
                GoalStatus::Dropped => "goal dropped",
                _ => "goal",
            };
            (Style::Dim, format!("{status}: {}", goal.text))
        }
        AgentEvent::EventLost { note } => (Style::Bad, format!("an event of the session is lost: {note}")),
        AgentEvent::BudgetExtensionRequested { .. } => {
            (Style::Warning, "the budget is used up; the run asks for more".to_owned())
        }
        event => return notes::note(event),
    };
    Some((style, words))
}

/// Describes why a reply is not what the model wanted to say; `None` if it is.
pub(super) fn cut_off(reason: StopReason) -> Option<(Style, &'static str)> {
    match reason {
        StopReason::Length => Some((Style::Warning, "the reply reached the output limit")),
        StopReason::Refusal => Some((Style::Warning, "the model refused to continue")),
        StopReason::ContextExceeded => {
            Some((Style::Warning, "the reply stopped because the context window is full"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_checkpoints_need_no_line() {
        let checkpoint = |label: &str| AgentEvent::Checkpoint { label: label.to_owned(), message_id: None };
        assert_eq!(note(&checkpoint(&format!("{AUTOMATIC_CHECKPOINT}run-0"))), None);
        assert_eq!(note(&checkpoint("before")), Some((Style::Dim, "checkpoint: before".to_owned())));
    }
}
