//! Caches the rows of all blocks for one theme and level of detail.
//!
//! Blocks only grow and do not change, so the rows of known blocks stay; only the rows of what is not finished are
//! rendered again.

use lariat_core::id::MessageId;
use lariat_terminal::theme::Theme;

use super::Detail;
use super::block::Block;
use super::fold::Fold;
use super::live::{Live, LiveReply};
use super::reply::ReplyRenderer;
use super::rows::{Kind, Rows, has_gap};
use super::{render, unfinished};

/// The rows of a transcript.
#[derive(Debug)]
pub(super) struct View {
    theme: Theme,
    detail: Detail,
    rows: Vec<String>,
    /// The number of blocks that are rendered, and of their rows.
    blocks: usize,
    finished: usize,
    last: Option<Kind>,
    /// The reply that arrives.
    reply: Option<(MessageId, ReplyRenderer)>,
}

impl View {
    pub(super) fn new(theme: &Theme, detail: Detail) -> Self {
        Self { theme: *theme, detail, rows: Vec::new(), blocks: 0, finished: 0, last: None, reply: None }
    }

    pub(super) fn is_for(&self, theme: &Theme) -> bool {
        self.theme == *theme
    }

    /// All rows, finished or not.
    pub(super) fn update(&mut self, fold: &Fold, live: &Live) -> &[String] {
        self.rows.truncate(self.finished);
        for block in fold.blocks.get(self.blocks..).unwrap_or_default() {
            self.add_block(block);
        }
        self.blocks = fold.blocks.len();
        self.finished = self.rows.len();
        let mut rest = Rows { last: self.last, ..Rows::default() };
        if let Some(reply) = &live.reply {
            self.add_reply(reply, &mut rest);
        } else {
            self.reply = None;
        }
        unfinished::add_calls(&mut rest, fold, live, None, &self.theme);
        render::fit(&mut rest.rows, &self.theme);
        self.rows.append(&mut rest.rows);
        &self.rows
    }

    fn add_block(&mut self, block: &Block) {
        let rows = render::block(block, &self.theme, self.detail);
        let Some(first) = rows.first else { return };
        if has_gap(self.last, first) {
            self.rows.push(String::new());
        }
        self.rows.extend(rows.rows);
        self.last = rows.last;
    }

    fn add_reply(&mut self, live: &LiveReply, rest: &mut Rows) {
        let known = self.reply.take().filter(|(id, _)| *id == live.id);
        let (_, mut renderer) =
            known.unwrap_or_else(|| (live.id, ReplyRenderer::new(&self.theme, self.detail)));
        renderer.advance(&live.segments);
        unfinished::add_reply(rest, renderer.rows().clone());
        unfinished::add_preview(rest, &renderer, live, None, &self.theme);
        self.reply = Some((live.id, renderer));
    }
}
