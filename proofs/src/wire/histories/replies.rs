//! Replies of models: rendered by the scripted server and decoded by the protocols, so that every signature
//! in a history is valid for the text beside it.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::model::{StreamConfig, StreamEvent};
use lariat_core::transcript::Window;
use lariat_test::SeededRandom;

use super::model_config;
use super::requests::{AUTHORS, Author};
use crate::server::render;
use crate::wire::corpus::turn;
use crate::wire::protocol;
use crate::wire::splits::outcome;

/// Number of decoded replies per model.
const PER_AUTHOR: u64 = 80;

/// The blocks of replies, by model.
#[derive(Debug)]
pub(super) struct Replies(Vec<(Author, Vec<Vec<Content>>)>);

impl Replies {
    pub(super) fn decoded() -> Self {
        let of = |author: &Author| {
            let config = StreamConfig::new(Arc::new(model_config(author)), Window::default());
            let reply = |seed| {
                let body = render::stream(author.wire, &turn(seed)).concat();
                let decoder = protocol(author.wire).decoder(&config);
                let (events, failed) = outcome(decoder, std::iter::once(body.as_slice()));
                failed.is_none().then(|| assembled(&events))
            };
            (*author, (0..PER_AUTHOR).filter_map(reply).collect())
        };
        Self(AUTHORS.iter().map(of).collect())
    }

    /// A random reply of a model.
    pub(super) fn pick(&self, author: &Author, dice: &mut SeededRandom) -> Vec<Content> {
        let of = self.0.iter().find(|(of, _)| of.provider == author.provider && of.id == author.id);
        of.and_then(|(_, replies)| dice.pick(replies)).cloned().unwrap_or_default()
    }
}

/// Assembles the blocks from events, like the machine does.
fn assembled(events: &[StreamEvent]) -> Vec<Content> {
    let mut blocks: Vec<(usize, Content)> = Vec::new();
    for event in events {
        let (index, fresh) = match event {
            StreamEvent::TextDelta { index, .. } => (*index, Content::text("")),
            StreamEvent::ThinkingDelta { index, .. } | StreamEvent::ThinkingSignature { index, .. } => {
                (*index, Content::Thinking { thinking: String::new(), signature: None })
            }
            StreamEvent::ToolCallEnd { index, call } => {
                blocks.push((*index, Content::ToolCall(Arc::new(call.clone()))));
                continue;
            }
            StreamEvent::Block { index, content } => {
                blocks.push((*index, content.clone()));
                continue;
            }
            _ => continue,
        };
        let kind = std::mem::discriminant(&fresh);
        let same = |(at, block): &(usize, Content)| *at == index && std::mem::discriminant(block) == kind;
        if !blocks.iter().any(same) {
            blocks.push((index, fresh));
        }
        let Some((_, block)) = blocks.iter_mut().rfind(|block| same(block)) else { continue };
        match (event, block) {
            (StreamEvent::TextDelta { delta, .. }, Content::Text { text }) => text.push_str(delta),
            (StreamEvent::ThinkingDelta { delta, .. }, Content::Thinking { thinking, .. }) => {
                thinking.push_str(delta);
            }
            (StreamEvent::ThinkingSignature { signature, .. }, Content::Thinking { signature: slot, .. }) => {
                *slot = Some(signature.clone());
            }
            _ => {}
        }
    }
    blocks.sort_by_key(|(index, _)| *index);
    blocks.into_iter().map(|(_, block)| block).filter(|block| !block.is_empty()).collect()
}
