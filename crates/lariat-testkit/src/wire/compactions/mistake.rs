//! Mistakes that are made on purpose, to see that the rules notice them.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::context::{Accepted, Compacted};
use lariat_core::event::CompactionEdit;
use lariat_core::message::{AgentMessage, Message, Origin, SharedMessage};
use lariat_core::transcript::Transcript;

use super::scene::Scene;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A strategy takes a person's words, and nobody refuses that.
    DropsWords,
    /// A strategy takes a person's words, and the judgement must refuse that.
    ProposesWords,
    /// A result goes without its call.
    CutsPair,
    /// A signature of thinking is lost.
    LosesSignature,
    /// What saves nothing is laid all the same.
    LaysAnything,
    /// An undo forgets a message.
    UndoForgets,
    /// Another message is recalled than was asked for.
    RecallsWrong,
    /// Of two compactions only the newest is taken back.
    UndoesOnlyTheNewest,
    /// A summary of a summary does not name what the first one stood for.
    LosesEarlierRange,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 9] = [
        Self::DropsWords,
        Self::ProposesWords,
        Self::CutsPair,
        Self::LosesSignature,
        Self::LaysAnything,
        Self::UndoForgets,
        Self::RecallsWrong,
        Self::UndoesOnlyTheNewest,
        Self::LosesEarlierRange,
    ];

    /// Whether the judgement is left out.
    pub(super) const fn skips_judgement(self) -> bool {
        matches!(self, Self::DropsWords | Self::CutsPair | Self::LosesSignature | Self::LaysAnything)
    }

    pub(super) fn propose(self, scene: &Scene, compacted: &mut Compacted) {
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

    /// Lays what was proposed, with the mistake and without a judgement.
    pub(super) fn lay(self, scene: &Scene, compacted: &Compacted) -> Result<Accepted, String> {
        let nothing = || "there is nothing left to compact".to_owned();
        if self == Self::LaysAnything {
            return Ok(accepted(scene.transcript.clone()));
        }
        let overlaid = scene.transcript.overlaid(&compacted.edits).map_err(|_| nothing())?;
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
        Ok(accepted(Transcript::repaired(messages).0))
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

fn accepted(transcript: Transcript) -> Accepted {
    Accepted::new(transcript, 0, 0)
}
