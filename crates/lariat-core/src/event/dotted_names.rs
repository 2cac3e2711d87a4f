//! Maps events to dotted names such as `tool.start`, for consumers that use that naming scheme.
//!
//! For every name without an event of its own, the table says where to find the information instead. The
//! journal does not use these names.

use super::{AgentEvent, CompactionCause, MessageRef, RunOutcome};

/// How a dotted name is represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DottedNameSource {
    /// By an event of this kind.
    Event(&'static str),
    /// Not by an event of its own; the text says where to find the information.
    Elsewhere(&'static str),
}

/// Every dotted name and how it is represented.
pub const SEED_NAMES: &[(&str, DottedNameSource)] = &[
    ("iteration.before", DottedNameSource::Event("TurnStart")),
    ("llm.start", DottedNameSource::Event("MessageStart")),
    ("llm.complete", DottedNameSource::Event("MessageEnd")),
    ("tool.start", DottedNameSource::Event("ToolExecutionStart")),
    ("insight.tool", DottedNameSource::Elsewhere("in `tool.complete`: its timestamp and its result")),
    ("tool.complete", DottedNameSource::Event("ToolExecutionEnd")),
    (
        "insight.tokens",
        DottedNameSource::Elsewhere("in `iteration.after`: `TurnEnd` has the usage of the model call"),
    ),
    ("iteration.after", DottedNameSource::Event("TurnEnd")),
    ("agent.spawn", DottedNameSource::Event("SubAgentSpawned")),
    ("agent.complete", DottedNameSource::Event("SubAgentCompleted")),
    (
        "insight.context",
        DottedNameSource::Elsewhere("query it: it changes with every message, so there is no event"),
    ),
    ("compaction.warning", DottedNameSource::Event("CompactionWarning")),
    ("compaction.auto", DottedNameSource::Event("Compaction")),
    ("resilience.retry", DottedNameSource::Event("ModelRetry")),
    ("resilience.recovered", DottedNameSource::Event("LoopRecovered")),
    ("error", DottedNameSource::Event("AgentEnd")),
    ("plan.change.queued", DottedNameSource::Event("PlanChangeQueued")),
    ("approval.required", DottedNameSource::Event("PermissionRequired")),
    (
        "tool.blocked",
        DottedNameSource::Elsewhere("a tool result that is an error, without `tool.start` before it"),
    ),
    (
        "mode.changed",
        DottedNameSource::Elsewhere("a setting of the gate: the program that changes it knows the new mode"),
    ),
    (
        "task.start",
        DottedNameSource::Elsewhere("in `tool.complete` of the todo tool: its details list the tasks"),
    ),
    (
        "task.complete",
        DottedNameSource::Elsewhere("in `tool.complete` of the todo tool: its details list the tasks"),
    ),
];

/// Returns the dotted name of an event; `None` if it has none.
pub fn seed_name(event: &AgentEvent) -> Option<&'static str> {
    Some(match event {
        AgentEvent::TurnStart { .. } => "iteration.before",
        AgentEvent::MessageStart { message } if is_reply(message) => "llm.start",
        AgentEvent::MessageEnd { message } => {
            message.shared()?.as_assistant()?;
            "llm.complete"
        }
        AgentEvent::ToolExecutionStart { .. } => "tool.start",
        AgentEvent::ToolExecutionEnd { .. } => "tool.complete",
        AgentEvent::TurnEnd { .. } => "iteration.after",
        AgentEvent::SubAgentSpawned { .. } => "agent.spawn",
        AgentEvent::SubAgentCompleted { .. } => "agent.complete",
        AgentEvent::CompactionWarning { .. } => "compaction.warning",
        AgentEvent::Compaction { cause, .. } if *cause != CompactionCause::Manual => "compaction.auto",
        AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. } => "resilience.retry",
        AgentEvent::LoopRecovered { .. } | AgentEvent::JournalRestored => "resilience.recovered",
        AgentEvent::AgentEnd { outcome: RunOutcome::Failed { .. } | RunOutcome::ContextFull(_), .. }
        | AgentEvent::JournalUnavailable { .. } => "error",
        AgentEvent::PlanChangeQueued { .. } => "plan.change.queued",
        AgentEvent::PermissionRequired { .. } => "approval.required",
        _ => return None,
    })
}

fn is_reply(message: &MessageRef) -> bool {
    message.get().is_some_and(|message| message.as_assistant().is_some())
}
