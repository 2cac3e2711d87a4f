//! Turns the events of a session into blocks, and blocks into rows.
//!
//! A block is finished when no later event changes its rows. Invariants: the blocks are a function of the durable
//! events, whatever live items came between; rows of a finished block depend on the width and on nothing else;
//! [`Transcript::take_finished`] returns every row of every finished block exactly once, in order.
//!
//! - `block`: the blocks; `fold`: durable events become blocks; `conversation`: the tree of messages.
//! - `live`: what live items add; `unfinished`: its rows.
//! - `render`, `reply`, `words`, `rows`: rows of a block.
//! - `printed`: which rows are printed next; `view`: the rows of everything, cached.

mod block;
mod conversation;
mod fold;
mod live;
mod printed;
mod render;
mod reply;
mod rows;
mod unfinished;
mod view;
mod words;

use lariat_core::event::Event;
use lariat_core::id::MessageId;
use lariat_core::time::Timestamp;
use lariat_terminal::painted;
use lariat_terminal::theme::Theme;

use block::{Block, Segment};
use fold::Fold;
use live::Live;
use printed::PrintedBlocks;
use reply::ReplyRenderer;
use rows::Rows;
use view::View;

/// The blocks of a session.
#[derive(Debug, Default)]
pub struct Transcript {
    fold: Fold,
    live: Live,
    printed: PrintedBlocks,
    folded: Option<View>,
    full: Option<View>,
}

/// How much of a block is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Tool calls and thinking in a line or a few.
    #[default]
    Folded,
    /// Everything that is known.
    Full,
}

impl Transcript {
    /// Creates an empty transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// Includes a durable event. References to earlier messages need not be resolved.
    pub fn apply(&mut self, event: &Event) {
        if !event.is_durable() {
            return self.apply_live(event);
        }
        if self.fold.is_shown(event) {
            self.live.replace(&event.event);
        }
        self.fold.apply(event);
    }

    /// Includes a live event: a delta of text, output of a running tool, a retry. Durable events are ignored.
    pub fn apply_live(&mut self, event: &Event) {
        if !event.is_durable() && self.fold.is_shown(event) {
            self.live.apply(event);
        }
    }

    /// Forgets what live items added: the client missed some of them.
    pub fn resync(&mut self) {
        self.live.lose();
    }

    /// Returns the finished rows that were not returned before. Text of a reply that still arrives is included as far
    /// as its rows cannot change any more.
    pub fn take_finished(&mut self, theme: &Theme) -> Vec<String> {
        self.printed.advance(&self.fold.blocks, self.live.reply.as_ref(), theme)
    }

    /// Renders what is not finished: the tail of the reply, running tools with the end of their output. At most
    /// `most` rows; the oldest are left out first. Continues after the rows of [`Transcript::take_finished`].
    pub fn live_rows(&self, theme: &Theme, now: Timestamp, most: usize) -> Vec<String> {
        let mut out = Rows { last: self.printed.last(), ..Rows::default() };
        let now = theme.motion.then_some(now);
        if let Some(live) = &self.live.reply {
            let fresh = ReplyRenderer::new(theme, Detail::Folded);
            let renderer = self.printed.renderer(live).unwrap_or(&fresh);
            unfinished::add_preview(&mut out, renderer, live, now, theme);
        }
        unfinished::add_calls(&mut out, &self.fold, &self.live, now, theme);
        render::fit(&mut out.rows, theme);
        let skipped = out.rows.len().saturating_sub(most);
        out.rows.split_off(skipped)
    }

    /// The tool calls that have no result yet, each in a line without its time and output.
    pub fn running(&self, theme: &Theme) -> Vec<String> {
        let rows = self
            .fold
            .open_calls
            .iter()
            .filter_map(|call| render::open_call(call, None, Vec::new(), None, theme).into_iter().next());
        rows.collect()
    }

    /// Renders everything, finished or not, for the pager and the full screen. Rendered blocks are cached for one
    /// theme: the next call renders new ones only.
    pub fn rows(&mut self, theme: &Theme, detail: Detail) -> &[String] {
        // A row that scrolls cannot draw.
        let theme = &Theme { pictures: None, ..*theme };
        let view = match detail {
            Detail::Folded => &mut self.folded,
            Detail::Full => &mut self.full,
        };
        if !view.as_ref().is_some_and(|view| view.is_for(theme)) {
            *view = None;
        }
        view.get_or_insert_with(|| View::new(theme, detail)).update(&self.fold, &self.live)
    }

    /// No words are in no row.
    pub fn search(&mut self, theme: &Theme, detail: Detail, words: &str) -> Vec<usize> {
        let words = words.trim().to_lowercase();
        if words.is_empty() {
            return Vec::new();
        }
        let rows = self.rows(theme, detail).iter().enumerate();
        rows.filter(|(_, row)| painted::plain(row).to_lowercase().contains(&words))
            .map(|(at, _)| at)
            .collect()
    }

    /// The text of the last reply, as the model wrote it, to copy it. It is not neutralised.
    pub fn last_reply(&self) -> Option<String> {
        let text = |segment: &Segment| match segment {
            Segment::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        self.fold.blocks.iter().rev().find_map(|block| match block {
            Block::Reply { segments, .. } => {
                let texts: Vec<String> = segments.iter().filter_map(text).collect();
                (!texts.is_empty()).then(|| texts.join("\n\n"))
            }
            _ => None,
        })
    }

    /// The messages of the user in the current conversation, oldest first. They are not neutralised.
    pub fn user_messages(&self) -> Vec<(MessageId, String)> {
        self.fold.conversation.user_messages()
    }

    /// The message before this one: the tip to rewind to in order to undo this message. `None` if it is the
    /// first.
    pub fn message_before(&self, id: MessageId) -> Option<MessageId> {
        self.fold.conversation.before(id)
    }
}

#[cfg(test)]
mod tests;
