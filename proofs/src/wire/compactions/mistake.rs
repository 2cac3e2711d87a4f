//! Planted mistakes that the rules must notice.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::context::{AcceptedCompaction, CompactionProposal};
use lariat_core::event::CompactionEdit;
use lariat_core::message::{AgentMessage, Message, Origin, SharedMessage};
use lariat_core::transcript::Transcript;

use super::scene::Scene;

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A strategy drops a user's message, and the check is skipped.
    DropsWords,
    /// A strategy proposes to drop a user's message, and the check must reject that.
    ProposesWords,
    /// A result is dropped without its tool call.
    CutsPair,
    /// A thinking signature is lost.
    LosesSignature,
    /// A compaction that saves nothing is applied anyway.
    AppliesAnything,
    /// An undo forgets a message.
    UndoForgets,
    /// Recall returns another message.
    RecallsWrong,
    /// Of two compactions, only the newest is undone.
    UndoesOnlyTheNewest,
    /// A summary of a summary does not name the range of the first one.
    LosesEarlierRange,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 9] = [
        Self::DropsWords,
        Self::ProposesWords,
        Self::CutsPair,
        Self::LosesSignature,
        Self::AppliesAnything,
        Self::UndoForgets,
        Self::RecallsWrong,
        Self::UndoesOnlyTheNewest,
        Self::LosesEarlierRange,
    ];

    /// Whether the check is skipped.
    pub(super) const fn skips_judgement(self) -> bool {
        matches!(self, Self::DropsWords | Self::CutsPair | Self::LosesSignature | Self::AppliesAnything)
    }

    pub(super) fn propose(self, scene: &Scene, compacted: &mut CompactionProposal) {
        if !matches!(self, Self::DropsWords | Self::ProposesWords) || compacted.edits.is_empty() {
            return;
        }
        let person =
            |message: &&SharedMessage| message.as_user().is_some_and(|user| user.origin == Origin::Person);
        let window = scene.transcript.window();
        if let Some(word) = window.iter().find(person) {
            compacted.edits.push(CompactionEdit::Drop { first: word.id(), last: word.id() });
        }
    }

    /// Applies the proposal, with the mistake and without the check.
    pub(super) fn apply(
        self,
        scene: &Scene,
        compacted: &CompactionProposal,
    ) -> Result<AcceptedCompaction, String> {
        let nothing = || "there is nothing left to compact".to_owned();
        if self == Self::AppliesAnything {
            return Ok(accepted(scene.transcript.clone()));
        }
        let overlaid = scene.transcript.with_edits(&compacted.edits).map_err(|_| nothing())?;
        let mut messages: Vec<SharedMessage> = overlaid.window().iter().cloned().collect();
        match self {
            Self::CutsPair => {
                let at = messages.iter().position(|message| message.as_tool_result().is_some());
                messages.remove(at.ok_or_else(nothing)?);
            }
            Self::LosesSignature => {
                let unsigned = messages.iter_mut().find_map(|message| {
                    let lost = without_signature(message)?;
                    *message = lost;
                    Some(())
                });
                unsigned.ok_or_else(nothing)?;
            }
            _ => {}
        }
        Ok(accepted(Transcript::repair(messages).0))
    }
}

fn without_signature(message: &SharedMessage) -> Option<SharedMessage> {
    let mut changed = AgentMessage::clone(message);
    let AgentMessage::Llm(llm) = &mut changed else { return None };
    let Message::Assistant(reply) = &mut llm.message else { return None };
    let signature = reply.content.iter_mut().find_map(|block| match block {
        Content::Thinking { signature: signature @ Some(_), .. } => Some(signature),
        _ => None,
    })?;
    *signature = None;
    Some(Arc::new(changed))
}

fn accepted(transcript: Transcript) -> AcceptedCompaction {
    AcceptedCompaction::new(transcript, 0, 0)
}
