//! Tells events in plain sentences, for the story of a seed that fails.
//!
//! Tells what a reader needs to follow the run, and leaves out what repeats it: pieces of replies, counts and hooks.

use lariat_core::event::{AgentEvent, Event, QueueKind};

/// Returns the sentence for an event that an observer of `who` saw.
pub(super) fn sentence(who: &str, event: &Event) -> Option<String> {
    let what = match &event.event {
        AgentEvent::AgentStart(_) => "starts".to_owned(),
        AgentEvent::AgentEnd { outcome, .. } => format!("ends: {outcome:?}"),
        AgentEvent::TurnStart { turn_index, .. } => format!("begins turn {}", turn_index + 1),
        AgentEvent::TurnEnd { .. } => "ends the turn".to_owned(),
        AgentEvent::MessageEnd { message } => {
            format!("has message {} in its conversation", short(&message.id().to_string()))
        }
        AgentEvent::ToolExecutionStart { tool_call_id, tool_name, .. } => {
            format!("starts tool {tool_name} for call {tool_call_id}")
        }
        AgentEvent::ToolExecutionEnd { tool_call_id, is_error, .. } => {
            format!("has the result of call {tool_call_id}{}", if *is_error { ", an error" } else { "" })
        }
        AgentEvent::AbortRequested => "is cancelled".to_owned(),
        AgentEvent::HookStopped { reason } => format!("is stopped by a hook: {reason}"),
        AgentEvent::StopBlocked { .. } => "may not end yet, says a hook".to_owned(),
        AgentEvent::InputRejected { reason } => format!("rejects the prompt: {reason}"),
        AgentEvent::ParallelLoopStart { loop_ids, .. } => format!("splits into {} branches", loop_ids.len()),
        AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => {
            format!("continues with branch {selected_loop_id}")
        }
        AgentEvent::MessageQueued { queue, message } => {
            let queue = if *queue == QueueKind::Steering { "steering" } else { "follow-up" };
            format!("queues {queue} message {}", short(&message.id().to_string()))
        }
        AgentEvent::MessageUnqueued { message_id } => {
            format!("removes message {} from the queue", short(&message_id.to_string()))
        }
        AgentEvent::PermissionRequired { request } => {
            format!("asks whether to run call {}", request.tool_call_id)
        }
        AgentEvent::PermissionDecided { tool_call_id, decision, .. } => {
            format!("is answered about call {tool_call_id}: {decision:?}")
        }
        AgentEvent::ToolBlocked { tool_call_id, .. } => format!("does not run call {tool_call_id}"),
        AgentEvent::PlanChangeQueued { tool_call_id, .. } => format!("puts call {tool_call_id} on its plan"),
        AgentEvent::Compaction { cause, .. } => format!("compacts its conversation ({cause:?})"),
        AgentEvent::CompactionRefused { cause, .. } => format!("cannot compact its conversation ({cause:?})"),
        AgentEvent::Rewound { .. } => "is rewound".to_owned(),
        AgentEvent::CommandAccepted(_) => "accepts a command".to_owned(),
        AgentEvent::BudgetExtended { .. } => "gets more budget".to_owned(),
        AgentEvent::LimitReached { limit, .. } => format!("reaches the limit of {limit:?}"),
        AgentEvent::MessageWithdrawn { .. } => "withdraws part of a reply".to_owned(),
        AgentEvent::ModelRetry { error, .. } => format!("asks the model again after an error ({error})"),
        AgentEvent::ModelFallback { to, .. } => format!("falls back to the model {to}"),
        AgentEvent::SubAgentSpawned { tool_call_id, child_session_id, report, .. } => {
            let place = if report.is_some() { " in the background" } else { "" };
            format!("spawns {child_session_id}{place} for call {tool_call_id}")
        }
        AgentEvent::SubAgentCompleted { tool_call_id, outcome, usage, .. } => {
            format!(
                "records the end of the sub-agent of call {tool_call_id}: {outcome:?}, {} tokens",
                usage.total()
            )
        }
        AgentEvent::LoopRecovered { interrupted, .. } => {
            format!("is recovered, with {} interrupted calls", interrupted.len())
        }
        AgentEvent::JournalUnavailable { .. } => "waits for the store".to_owned(),
        AgentEvent::JournalRestored => "has its store back".to_owned(),
        _ => return None,
    };
    let place = if event.is_durable() { format!(" [{}]", event.seq) } else { String::new() };
    Some(format!("{who} {what}.{place}"))
}

/// The end of an id: enough to tell two messages apart.
fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(6)..).unwrap_or(id)
}
