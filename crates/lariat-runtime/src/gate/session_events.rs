//! Maps the events of a session to the hook events and fields of the hook contract.
//!
//! Holds the table: which hook event an event is, what its matchers match, which fields it has. Sub-agents
//! report their start and end through the same function.

use lariat_core::BoxFuture;
use lariat_core::event::CompactionCause;
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks};
use lariat_core::id::{LoopId, SessionId};
use lariat_guard::hooks::{HookDecision, HookEvent, HookInput, Outcome};

use super::Gate;

const fn event(kind: LifecycleEventKind) -> Option<HookEvent> {
    Some(match kind {
        LifecycleEventKind::SessionStart => HookEvent::SessionStart,
        LifecycleEventKind::SessionEnd => HookEvent::SessionEnd,
        LifecycleEventKind::Prompt => HookEvent::UserPromptSubmit,
        LifecycleEventKind::Stop => HookEvent::Stop,
        LifecycleEventKind::StopFailure => HookEvent::StopFailure,
        LifecycleEventKind::PreCompact => HookEvent::PreCompact,
        LifecycleEventKind::PostCompact => HookEvent::PostCompact,
        LifecycleEventKind::Notification => HookEvent::Notification,
        LifecycleEventKind::SubagentStart => HookEvent::SubagentStart,
        LifecycleEventKind::SubagentStop => HookEvent::SubagentStop,
        _ => return None,
    })
}

const fn trigger(cause: CompactionCause) -> &'static str {
    match cause {
        CompactionCause::Manual => "manual",
        _ => "auto",
    }
}

/// Adds the fields of an event, and returns the name that matchers match.
fn with_fields(input: HookInput, moment: LifecycleEvent) -> (HookInput, Option<String>) {
    match moment {
        LifecycleEvent::SessionStart { source } => {
            (input.with("source", source.name()), Some(source.name().to_owned()))
        }
        LifecycleEvent::SessionEnd { reason } => (input.with("reason", reason.clone()), Some(reason)),
        LifecycleEvent::Prompt { prompt } => (input.with("prompt", prompt), None),
        LifecycleEvent::StopFailure { kind, error, last_message } => {
            let input = input
                .with("error", kind.clone())
                .with("error_details", error)
                .with("last_assistant_message", last_message);
            (input, Some(kind))
        }
        LifecycleEvent::Stop { continued, last_message } => {
            (with_stop_fields(input, continued, last_message), None)
        }
        LifecycleEvent::PreCompact { cause } => {
            let trigger = trigger(cause);
            (input.with("trigger", trigger).with("custom_instructions", ""), Some(trigger.to_owned()))
        }
        LifecycleEvent::PostCompact { cause, summary } => {
            let trigger = trigger(cause);
            (input.with("trigger", trigger).with("compact_summary", summary), Some(trigger.to_owned()))
        }
        LifecycleEvent::Notification { kind, message } => {
            (input.with("message", message).with("notification_type", kind.clone()), Some(kind))
        }
        LifecycleEvent::SubagentStart { agent_id, agent_type } => {
            (input.with("agent_id", agent_id).with("agent_type", agent_type.clone()), Some(agent_type))
        }
        LifecycleEvent::SubagentStop { agent_id, agent_type, continued, last_message } => {
            let input = with_stop_fields(input, continued, last_message);
            (input.with("agent_id", agent_id).with("agent_type", agent_type.clone()), Some(agent_type))
        }
        _ => (input, None),
    }
}

fn with_stop_fields(input: HookInput, continued: bool, last_message: String) -> HookInput {
    input.with("stop_hook_active", continued).with("last_assistant_message", last_message)
}

fn hook_answer(event: HookEvent, outcome: Outcome) -> HookAnswer {
    let reason = outcome.reason();
    let mut answer = HookAnswer::default();
    if event.can_block() && outcome.decision == Some(HookDecision::Deny) {
        answer.block = Some(reason.clone().unwrap_or_else(|| "a hook blocked it".to_owned()));
    }
    if outcome.stops {
        answer.stop = Some(reason.unwrap_or_else(|| "a hook stopped the run".to_owned()));
    }
    (answer.context, answer.messages) = (outcome.context, outcome.messages);
    answer
}

impl SessionHooks for Gate {
    fn wants(&self, kind: LifecycleEventKind) -> bool {
        event(kind).is_some_and(|event| self.hooks.wants(event))
    }

    fn notify<'a>(&'a self, session_id: &'a SessionId, moment: LifecycleEvent) -> BoxFuture<'a, HookAnswer> {
        let kind = moment.kind();
        let Some(event) = event(kind).filter(|event| self.hooks.wants(*event)) else {
            return Box::pin(std::future::ready(HookAnswer::default()));
        };
        Box::pin(async move {
            let (input, name) = with_fields(self.hooks.input_for(event, session_id, self.mode()), moment);
            let names: Vec<&str> = name.as_deref().into_iter().collect();
            let outcome = self.hooks.run_event(&input, &names, None, |_| false).await;
            if kind == LifecycleEventKind::SessionEnd {
                self.hooks.forget(session_id);
            }
            hook_answer(event, outcome)
        })
    }

    fn take_stop(&self, loop_id: &LoopId) -> Option<String> {
        self.hooks.take_stop(loop_id)
    }

    fn take_messages(&self, loop_id: &LoopId) -> Vec<String> {
        self.hooks.take_messages(loop_id)
    }
}
