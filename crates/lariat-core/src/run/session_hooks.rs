//! Calls the session's hooks before the run ends and after compaction.
//!
//! Limits how often hooks can keep a run from ending, and delivers their texts to the model. A block is
//! recorded before its message, so that after a crash the hook is called again and no block is counted twice.

use std::sync::Arc;

use super::effect::OpId;
use super::{Activity, Effect, Run};
use crate::content::{Content, joined_text};
use crate::event::{AgentEvent, CompactionCause, CompactionEdit, QueueKind, RunOutcome};
use crate::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind};
use crate::message::AgentMessage;

/// How often in a row hooks can keep a run from ending; then it ends. The same number as in Claude Code.
const MOST_BLOCKED_STOPS: u32 = 8;

const NOTE_START: &str = "[Hook: ";
const NOTE_END: &str = "]";

/// Marks a text as coming from a hook.
pub(crate) fn hook_note(text: &str) -> String {
    format!("{NOTE_START}{text}{NOTE_END}")
}

/// Returns the texts of hooks in a message.
pub(crate) fn hook_context(message: &AgentMessage) -> Vec<String> {
    let Some(message) = message.as_user() else { return Vec::new() };
    let texts = message.content.iter().filter_map(Content::as_text);
    let texts = texts.filter_map(|text| text.strip_prefix(NOTE_START)?.strip_suffix(NOTE_END));
    texts.map(str::to_owned).collect()
}

impl Run {
    /// Returns whether to call hooks before the run ends.
    pub(super) fn has_stop_hooks(&self) -> bool {
        self.config.moments.contains(&LifecycleEventKind::Stop)
            && !self.transient.may_stop
            && self.state.blocked_stops.count < MOST_BLOCKED_STOPS
    }

    pub(super) fn call_stop_hooks(&mut self) {
        let last_message = self.last_reply();
        self.call_hooks(LifecycleEvent::Stop { continued: self.state.blocked_stops.count > 0, last_message });
    }

    /// Returns the text of the model's last message.
    fn last_reply(&self) -> String {
        let window = self.state.transcript.window();
        let last = window.iter_back().find_map(|message| message.as_assistant());
        last.map(|reply| joined_text(&reply.content)).unwrap_or_default()
    }

    /// Calls the hooks for a run that ends with an error, once. Returns false if there are none.
    pub(super) fn call_failure_hooks(&mut self, outcome: &RunOutcome) -> bool {
        let (kind, error) = match outcome {
            RunOutcome::Failed { error } => ("unknown", error.clone()),
            RunOutcome::ContextFull(full) => ("invalid_request", full.to_string()),
            _ => return false,
        };
        let is_wanted = self.config.moments.contains(&LifecycleEventKind::StopFailure);
        if !is_wanted || std::mem::replace(&mut self.transient.failure_reported, true) {
            return false;
        }
        let last_message = self.last_reply();
        self.call_hooks(LifecycleEvent::StopFailure { kind: kind.to_owned(), error, last_message });
        true
    }

    /// Returns whether hooks want to know about compaction.
    pub(super) fn has_compaction_hooks(&self) -> bool {
        let wanted = [LifecycleEventKind::PostCompact, LifecycleEventKind::SessionStart];
        wanted.iter().any(|kind| self.config.moments.contains(kind))
    }

    pub(super) fn call_compaction_hooks(&mut self, cause: CompactionCause, edits: &[CompactionEdit]) {
        if !self.has_compaction_hooks() {
            return;
        }
        let summary = |edit: &CompactionEdit| match edit {
            CompactionEdit::Summarise { summary, .. } => Some(joined_text(summary.as_llm()?.content())),
            _ => None,
        };
        let summary = edits.iter().filter_map(summary).collect::<Vec<_>>().join("\n");
        self.call_hooks(LifecycleEvent::PostCompact { cause, summary });
    }

    fn call_hooks(&mut self, moment: LifecycleEvent) {
        let op = self.op();
        self.activity = Activity::CallingHooks { op, kind: moment.kind() };
        self.out.push_back(Effect::CallHooks { op, moment });
    }

    pub(super) fn on_hooks_answered(&mut self, op: OpId, answer: HookAnswer) {
        let Activity::CallingHooks { op: waiting, kind } = self.activity else { return };
        if waiting != op {
            return;
        }
        self.activity = Activity::None;
        match (kind, answer) {
            // The run has failed already; the hooks only learn about it.
            (LifecycleEventKind::StopFailure, _) => {}
            (_, HookAnswer { stop: Some(reason), .. }) => self.on_halt(reason),
            (LifecycleEventKind::Stop, HookAnswer { block: Some(reason), .. }) => self.block_stop(reason),
            (LifecycleEventKind::Stop, _) => self.transient.may_stop = true,
            (_, HookAnswer { context, .. }) if !context.is_empty() => {
                let message = self.hook_message(&context);
                self.record_message(Arc::new(message));
            }
            _ => {}
        }
    }

    /// Continues the run because a hook blocked its end. The model receives the reason as a follow-up
    /// message.
    fn block_stop(&mut self, reason: String) {
        let message = self.hook_message(std::slice::from_ref(&reason));
        self.record(AgentEvent::StopBlocked { reason, message_id: message.id() });
        self.record(AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: Arc::new(message) });
    }

    /// Creates a message with the texts of hooks for the model.
    fn hook_message(&mut self, texts: &[String]) -> AgentMessage {
        let mut message = AgentMessage::note("hook", "");
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
        let turn_id = self.turn_id();
        if let AgentMessage::Llm(llm) = &mut message {
            llm.turn_id = turn_id;
            *llm.message.content_mut() = texts.iter().map(|text| Content::text(hook_note(text))).collect();
        }
        message
    }
}
