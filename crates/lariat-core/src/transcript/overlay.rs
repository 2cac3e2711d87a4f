//! Laying compaction over a transcript.
//!
//! Owns what each edit does and the refusal of overlays that would break the conversation. The journal keeps every
//! message; only the model's view changes.

use std::sync::Arc;

use super::repair::with_content;
use super::{SharedMessage, Transcript};
use crate::content::Content;
use crate::event::CompactionEdit;
use crate::id::MessageId;

/// Why an overlay cannot be laid over a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// It names a message that is not in the conversation.
    #[error("message {0} is not in the conversation")]
    UnknownMessage(MessageId),
    /// The rest would not be a valid conversation, for example because a call lost its result.
    #[error("the overlay would leave an invalid conversation")]
    Invalid,
}

impl Transcript {
    /// The transcript with the edits applied in order.
    ///
    /// # Errors
    /// When an edit names an unknown message or the result would not be valid.
    pub fn overlaid(&self, edits: &[CompactionEdit]) -> Result<Self, OverlayError> {
        let mut messages: Vec<SharedMessage> = self.list.iter().cloned().collect();
        for edit in edits {
            apply(&mut messages, edit)?;
        }
        let (mut transcript, repairs) = Self::repaired(messages);
        // Ids stay taken: a model that counts its calls anew after a compaction must not reuse one (seen in the wild).
        transcript.call_ids.clone_from(&self.call_ids);
        if repairs.is_empty() && transcript.request().is_ok() == self.request().is_ok() {
            Ok(transcript)
        } else {
            Err(OverlayError::Invalid)
        }
    }
}

fn apply(messages: &mut Vec<SharedMessage>, edit: &CompactionEdit) -> Result<(), OverlayError> {
    let position = |id: &MessageId, messages: &[SharedMessage]| {
        messages.iter().position(|message| message.id() == *id).ok_or(OverlayError::UnknownMessage(*id))
    };
    match edit {
        CompactionEdit::ClearToolOutput { message } => {
            let at = position(message, messages)?;
            if messages.get(at).is_none_or(|message| message.as_tool_result().is_none()) {
                return Err(OverlayError::Invalid);
            }
            let note = format!("[Output cleared to save context. Recall it by id {message}.]");
            if let Some(slot) = messages.get_mut(at) {
                *slot = with_content(slot, vec![Content::text(note)]);
            }
        }
        CompactionEdit::Summarise { first, last, summary } => {
            let (from, to) = (position(first, messages)?, position(last, messages)?);
            if from > to || summary.as_user().is_none() {
                return Err(OverlayError::Invalid);
            }
            messages.splice(from..=to, [Arc::clone(summary)]);
        }
        CompactionEdit::Drop { first, last } => {
            let (from, to) = (position(first, messages)?, position(last, messages)?);
            if from > to {
                return Err(OverlayError::Invalid);
            }
            messages.drain(from..=to);
        }
    }
    Ok(())
}
