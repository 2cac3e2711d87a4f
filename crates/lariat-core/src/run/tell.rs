//! Calls the session's hooks before the run ends and after compaction.
//!
//! Limits how often hooks can keep a run from ending, and delivers their texts to the model. A block is
//! recorded before its message, so that after a crash the hook is called again and no block is counted twice.

use std::sync::Arc;

use super::effect::OpId;
use super::{Activity, Effect, Run};
use crate::content::{Content, joined_text};
use crate::event::{AgentEvent, CompactionCause, CompactionEdit, QueueKind};
use crate::hooks::{HookAnswer, Moment, MomentKind};
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
    let said = message.content.iter().filter_map(Content::as_text);
    let said = said.filter_map(|text| text.strip_prefix(NOTE_START)?.strip_suffix(NOTE_END));
    said.map(str::to_owned).collect()
}

impl Run {
    /// Returns whether to call hooks before the run ends.
    pub(super) fn asks_before_stop(&self) -> bool {
        self.config.moments.contains(&MomentKind::Stop)
            && !self.entry.may_stop
            && self.state.kept_going.count < MOST_BLOCKED_STOPS
    }

    pub(super) fn tell_stop(&mut self) {
        let window = self.state.transcript.window();
        let last = window.iter_back().find_map(|message| message.as_assistant());
        let last_message = last.map(|reply| joined_text(&reply.content)).unwrap_or_default();
        self.tell(Moment::Stop { continued: self.state.kept_going.count > 0, last_message });
    }

    /// Returns whether hooks want to know about compaction.
    pub(super) fn tells_compacted(&self) -> bool {
        let wanted = [MomentKind::PostCompact, MomentKind::SessionStart];
        wanted.iter().any(|kind| self.config.moments.contains(kind))
    }

    pub(super) fn tell_compacted(&mut self, cause: CompactionCause, edits: &[CompactionEdit]) {
        if !self.tells_compacted() {
            return;
        }
        let summary = |edit: &CompactionEdit| match edit {
            CompactionEdit::Summarise { summary, .. } => Some(joined_text(summary.as_llm()?.content())),
            _ => None,
        };
        let summary = edits.iter().filter_map(summary).collect::<Vec<_>>().join("\n");
        self.tell(Moment::PostCompact { cause, summary });
    }

    fn tell(&mut self, moment: Moment) {
        let op = self.op();
        self.activity = Activity::Telling { op, about: moment.kind() };
        self.out.push_back(Effect::Tell { op, moment });
    }

    pub(super) fn on_told(&mut self, op: OpId, answer: HookAnswer) {
        let Activity::Telling { op: waiting, about } = self.activity else { return };
        if waiting != op {
            return;
        }
        self.activity = Activity::None;
        match (about, answer) {
            (_, HookAnswer { stop: Some(reason), .. }) => self.on_halt(reason),
            (MomentKind::Stop, HookAnswer { block: Some(reason), .. }) => self.keep_going(reason),
            (MomentKind::Stop, _) => self.entry.may_stop = true,
            (_, HookAnswer { context, .. }) if !context.is_empty() => {
                let message = self.say_for_hooks(&context);
                self.record_message(Arc::new(message));
            }
            _ => {}
        }
    }

    /// Continues the run because a hook blocked its end. The model receives the reason as a follow-up
    /// message.
    fn keep_going(&mut self, reason: String) {
        let message = self.say_for_hooks(std::slice::from_ref(&reason));
        self.record(AgentEvent::StopBlocked { reason, message_id: message.id() });
        self.record(AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: Arc::new(message) });
    }

    /// Creates a message with the texts of hooks for the model.
    fn say_for_hooks(&mut self, words: &[String]) -> AgentMessage {
        let mut message = AgentMessage::note("hook", "");
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
        let turn_id = self.turn_id();
        if let AgentMessage::Llm(llm) = &mut message {
            llm.turn_id = turn_id;
            *llm.message.content_mut() = words.iter().map(|text| Content::text(hook_note(text))).collect();
        }
        message
    }
}
