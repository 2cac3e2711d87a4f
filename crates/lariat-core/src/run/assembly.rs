//! Assembles a reply from the events of a stream.
//!
//! Appends each part and never re-joins them, so the cost is proportional to the bytes that arrive.

use std::sync::Arc;

use crate::content::Content;
use crate::model::StreamEvent;

/// A partly received reply.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    blocks: Vec<(usize, Content)>,
}

impl Assembler {
    /// Adds one event.
    pub(super) fn push(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::TextDelta { index, delta } => {
                match self.block(*index, || Content::Text { text: String::new() }) {
                    Some(Content::Text { text }) => text.push_str(delta),
                    _ => self.blocks.push((*index, Content::text(delta))),
                }
            }
            StreamEvent::ThinkingDelta { index, delta } => {
                let fresh = || Content::Thinking { thinking: String::new(), signature: None };
                if let Some(Content::Thinking { thinking, .. }) = self.block(*index, fresh) {
                    thinking.push_str(delta);
                }
            }
            StreamEvent::ThinkingSignature { index, signature } => {
                let fresh = || Content::Thinking { thinking: String::new(), signature: None };
                if let Some(Content::Thinking { signature: slot, .. }) = self.block(*index, fresh) {
                    *slot = Some(signature.clone());
                }
            }
            StreamEvent::ToolCallEnd { index, call } => {
                self.blocks.push((*index, Content::ToolCall(Arc::new(call.clone()))));
            }
            StreamEvent::Block { index, content } => self.blocks.push((*index, content.clone())),
            StreamEvent::Start { .. } | StreamEvent::ToolCallDelta { .. } | StreamEvent::Done { .. } => {}
        }
    }

    /// Returns the block with this index and kind, or a new one. Searches from the newest, because streams
    /// grow at the end.
    fn block(&mut self, index: usize, fresh: impl FnOnce() -> Content) -> Option<&mut Content> {
        let fresh = fresh();
        let kind = std::mem::discriminant(&fresh);
        let at =
            self.blocks.iter().rposition(|(i, block)| *i == index && std::mem::discriminant(block) == kind);
        let at = at.unwrap_or_else(|| {
            self.blocks.push((index, fresh));
            self.blocks.len() - 1
        });
        self.blocks.get_mut(at).map(|(_, block)| block)
    }

    /// Returns the blocks in order, without empty ones.
    pub(super) fn finish(&mut self) -> Vec<Content> {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.sort_by_key(|(index, _)| *index);
        blocks.into_iter().map(|(_, block)| block).filter(|block| !block.is_empty()).collect()
    }
}
