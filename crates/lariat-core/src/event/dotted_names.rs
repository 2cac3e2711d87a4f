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
    (
        "insight.tool",
        DottedNameSource::Elsewhere("computed: `InsightFold` gives duration and bytes at `tool.complete`"),
    ),
    ("tool.complete", DottedNameSource::Event("ToolExecutionEnd")),
    (
        "insight.tokens",
        DottedNameSource::Elsewhere("computed: `InsightFold` gives the usage at `iteration.after`"),
    ),
    ("iteration.after", DottedNameSource::Event("TurnEnd")),
    ("agent.spawn", DottedNameSource::Event("SubAgentSpawned")),
    ("agent.complete", DottedNameSource::Event("SubAgentCompleted")),
    (
        "insight.context",
        DottedNameSource::Elsewhere(
            "computed: `InsightFold` gives used tokens and window at `iteration.after`",
        ),
    ),
    ("compaction.warning", DottedNameSource::Event("CompactionWarning")),
    ("compaction.auto", DottedNameSource::Event("Compaction")),
    ("resilience.retry", DottedNameSource::Event("ModelRetry")),
    ("resilience.recovered", DottedNameSource::Event("LoopRecovered")),
    ("error", DottedNameSource::Event("AgentEnd")),
    ("plan.change.queued", DottedNameSource::Event("PlanChangeQueued")),
    ("approval.required", DottedNameSource::Event("PermissionRequired")),
    ("tool.blocked", DottedNameSource::Event("ToolBlocked")),
    ("mode.changed", DottedNameSource::Event("ModeChanged")),
    ("task.start", DottedNameSource::Event("TasksChanged")),
    ("task.complete", DottedNameSource::Event("TasksChanged")),
];

/// Returns the dotted name of an event; `None` if it has none. A change of the task list that completes a task and
/// starts the next one is `task.complete`.
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
        AgentEvent::ToolBlocked { .. } => "tool.blocked",
        AgentEvent::ModeChanged { .. } => "mode.changed",
        AgentEvent::TasksChanged { completed, .. } if !completed.is_empty() => "task.complete",
        AgentEvent::TasksChanged { started, .. } if !started.is_empty() => "task.start",
        _ => return None,
    })
}

fn is_reply(message: &MessageRef) -> bool {
    message.get().is_some_and(|message| message.as_assistant().is_some())
}
