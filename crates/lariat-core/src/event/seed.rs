//! The names that seed 003 gives to events.
//!
//! Owns the mapping from our one vocabulary to the seed's: which event is told under which name, and for every name
//! without an event of its own, where what it tells is found instead. A view for consumers that know those names; the
//! journal does not use them.

use super::{AgentEvent, CompactionCause, MessageRef, RunOutcome};

/// How a name of the seed is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedTold {
    /// By an event of this kind.
    By(&'static str),
    /// Not by an event of its own, for this reason.
    Elsewhere(&'static str),
}

/// Every name of the seed, and how it is told.
pub const SEED_NAMES: &[(&str, SeedTold)] = &[
    ("iteration.before", SeedTold::By("TurnStart")),
    ("llm.start", SeedTold::By("MessageStart")),
    ("llm.complete", SeedTold::By("MessageEnd")),
    ("tool.start", SeedTold::By("ToolExecutionStart")),
    ("insight.tool", SeedTold::Elsewhere("in `tool.complete`: its timestamp and its result")),
    ("tool.complete", SeedTold::By("ToolExecutionEnd")),
    (
        "insight.tokens",
        SeedTold::Elsewhere("in `iteration.after`: `TurnEnd` has the usage of the model call"),
    ),
    ("iteration.after", SeedTold::By("TurnEnd")),
    ("agent.spawn", SeedTold::By("SubAgentSpawned")),
    ("agent.complete", SeedTold::By("SubAgentCompleted")),
    ("insight.context", SeedTold::Elsewhere("asked for, not told: it changes with every message")),
    ("compaction.warning", SeedTold::Elsewhere("nobody has to act: compaction comes by itself")),
    ("compaction.auto", SeedTold::By("Compaction")),
    ("resilience.retry", SeedTold::By("ModelRetry")),
    ("resilience.recovered", SeedTold::By("LoopRecovered")),
    ("error", SeedTold::By("AgentEnd")),
    ("plan.change.queued", SeedTold::By("PlanChangeQueued")),
    ("approval.required", SeedTold::By("PermissionRequired")),
    ("tool.blocked", SeedTold::Elsewhere("a tool result that is an error, without `tool.start` before it")),
    ("mode.changed", SeedTold::Elsewhere("a setting of the gate that whoever changes it knows")),
    ("task.start", SeedTold::Elsewhere("in `tool.complete` of the todo tool: its details list the tasks")),
    ("task.complete", SeedTold::Elsewhere("in `tool.complete` of the todo tool: its details list the tasks")),
];

/// The seed's name for an event; `None` for events that the seed does not know.
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
        AgentEvent::Compaction { cause: CompactionCause::Threshold | CompactionCause::Overflow, .. } => {
            "compaction.auto"
        }
        AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. } => "resilience.retry",
        AgentEvent::LoopRecovered { .. } | AgentEvent::JournalRestored => "resilience.recovered",
        AgentEvent::AgentEnd { outcome: RunOutcome::Failed { .. }, .. }
        | AgentEvent::JournalUnavailable { .. } => "error",
        AgentEvent::PlanChangeQueued { .. } => "plan.change.queued",
        AgentEvent::PermissionRequired { .. } => "approval.required",
        _ => return None,
    })
}

fn is_reply(message: &MessageRef) -> bool {
    message.get().is_some_and(|message| message.as_assistant().is_some())
}
