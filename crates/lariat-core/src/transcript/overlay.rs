//! Applies compaction edits to a transcript.
//!
//! Refuses edits that would make the conversation invalid or change a message that must stay unchanged. The
//! journal keeps every message; only the model's view changes.

use std::sync::Arc;

use super::repair::with_content;
use super::{SharedMessage, Transcript};
use crate::compaction::CompactionEdit;
use crate::content::Content;
use crate::id::MessageId;

/// Why edits cannot be applied to a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// An edit names a message that is not in the conversation.
    #[error("message {0} is not in the conversation")]
    UnknownMessage(MessageId),
    /// An edit changes a message that must stay unchanged: one of the user, a pinned one, or one of the first
    /// or newest messages.
    #[error("message {0} must stay as it is")]
    Verbatim(MessageId),
    /// The result would not be a valid conversation, for example because a tool call lost its result.
    #[error("the overlay would leave an invalid conversation")]
    Invalid,
}

impl Transcript {
    /// Returns the transcript with the edits applied in order.
    ///
    /// # Errors
    /// Fails if an edit names an unknown message or the result would be invalid.
    pub fn with_edits(&self, edits: &[CompactionEdit]) -> Result<Self, EditError> {
        self.with_edits_keeping(edits, |_| false)
    }

    /// Like [`with_edits`](Self::with_edits), for edits that are not accepted yet.
    ///
    /// # Errors
    /// Also fails if an edit changes a message that must stay unchanged.
    pub fn with_edits_keeping(
        &self,
        edits: &[CompactionEdit],
        stays: impl Fn(MessageId) -> bool,
    ) -> Result<Self, EditError> {
        let mut messages: Vec<SharedMessage> = self.list.iter().cloned().collect();
        for edit in edits {
            apply(&mut messages, edit, &stays)?;
        }
        let (mut transcript, repairs) = Self::repair(messages);
        // Ids stay reserved: some models restart their call numbering after a compaction and must not reuse
        // an id.
        transcript.removed_calls = self.removed_calls.clone();
        transcript.removed_calls.add(self.call_ids.difference(&transcript.call_ids).cloned().collect());
        transcript.lost_calls = self.lost_calls;
        if repairs.is_empty() && transcript.request().is_ok() == self.request().is_ok() {
            Ok(transcript)
        } else {
            Err(EditError::Invalid)
        }
    }
}

/// Returns whether a message must stay unchanged.
type IsVerbatim<'a> = &'a dyn Fn(MessageId) -> bool;

fn apply(
    messages: &mut Vec<SharedMessage>,
    edit: &CompactionEdit,
    stays: IsVerbatim<'_>,
) -> Result<(), EditError> {
    match edit {
        CompactionEdit::ClearToolOutput { message } => {
            let named = |other: &&mut SharedMessage| other.id() == *message;
            let mut found = messages.iter_mut().filter(named).peekable();
            if found.peek().is_none() {
                return Err(EditError::UnknownMessage(*message));
            }
            let result = found.find(|other| other.as_tool_result().is_some());
            let slot = result.ok_or(EditError::Invalid)?;
            check_changeable(slot, stays)?;
            *slot = with_content(slot, vec![Content::text(cleared_note(slot))]);
        }
        CompactionEdit::Summarise { first, last, summary } => {
            if summary.as_user().is_none() {
                return Err(EditError::Invalid);
            }
            let range = range(messages, first, last, stays)?;
            messages.splice(range, [Arc::clone(summary)]);
        }
        CompactionEdit::Drop { first, last } => {
            let range = range(messages, first, last, stays)?;
            messages.drain(range);
        }
    }
    Ok(())
}

/// Returns the positions of a range that may be removed. Synthetic results share the id of their reply, so
/// the last message is searched from the end.
fn range(
    messages: &[SharedMessage],
    first: &MessageId,
    last: &MessageId,
    stays: IsVerbatim<'_>,
) -> Result<std::ops::RangeInclusive<usize>, EditError> {
    let from = messages.iter().position(|message| message.id() == *first);
    let to = messages.iter().rposition(|message| message.id() == *last);
    let from = from.ok_or(EditError::UnknownMessage(*first))?;
    let to = to.ok_or(EditError::UnknownMessage(*last))?;
    let removed = messages.get(from..=to).filter(|removed| !removed.is_empty()).ok_or(EditError::Invalid)?;
    removed.iter().try_for_each(|message| check_changeable(message, stays))?;
    Ok(from..=to)
}

fn check_changeable(message: &SharedMessage, stays: IsVerbatim<'_>) -> Result<(), EditError> {
    if stays(message.id()) { Err(EditError::Verbatim(message.id())) } else { Ok(()) }
}

/// Returns the text that replaces the output of a tool.
fn cleared_note(message: &SharedMessage) -> String {
    let texts =
        message.as_llm().into_iter().flat_map(|message| message.content()).filter_map(Content::as_text);
    let lines: usize = texts.map(|text| text.lines().count()).sum();
    let id = message.id().short();
    format!("[Output cleared to save context ({lines} lines). Read it with `recall` and the id `{id}`.]")
}
