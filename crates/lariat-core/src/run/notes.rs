//! Asks the context source for notes before each reply.
//!
//! Once per turn, after its prompts and before compaction. Notes are recorded as messages, so after a crash
//! the run asks again and the source finds the notes already sent.

use std::sync::Arc;

use super::effect::OpId;
use super::{Activity, Effect, Run};
use crate::context::Note;
use crate::message::AgentMessage;

impl Run {
    pub(super) fn wants_notes(&self) -> bool {
        self.config.has_notes && !self.transient.notes_requested
    }

    pub(super) fn request_notes(&mut self) {
        let op = self.op();
        self.activity = Activity::RequestingNotes { op };
        let turn_index = self.state.turn.as_ref().map_or(0, |turn| turn.index);
        let (window, told) = (self.state.transcript.window(), self.state.notes.clone());
        let memory = Arc::clone(&self.memory);
        self.out.push_back(Effect::Consult { op, window, told, memory, turn_index });
    }

    pub(super) fn on_notes(&mut self, op: OpId, notes: Vec<Note>) {
        if !matches!(self.activity, Activity::RequestingNotes { op: waiting } if waiting == op) {
            return;
        }
        self.activity = Activity::None;
        self.transient.notes_requested = true;
        for Note { section, text, images } in notes.into_iter().filter(|note| !note.text.trim().is_empty()) {
            let mut message = AgentMessage::note(section, text);
            message.assign_id(|| self.message_id());
            self.stamp_message(&mut message);
            if let AgentMessage::Llm(llm) = &mut message {
                llm.message.content_mut().extend(images);
                llm.turn_id = self.turn_id();
            }
            self.record_message(Arc::new(message));
        }
    }
}
