//! Decides which rows are printed next. Every finished row is printed once.
//!
//! A reply is printed as far as its rows cannot change. When its durable event arrives, printing continues after the
//! rows that were printed. A reply keeps the theme with which its first row was printed: after a resize, its rows are
//! split where they are too wide. Other blocks wait while a part of a reply is printed.

use lariat_core::id::MessageId;
use lariat_terminal::painted;
use lariat_terminal::theme::{Style, Theme};

use super::Detail;
use super::block::{Block, Segment};
use super::live::LiveReply;
use super::render;
use super::reply::{self, ReplyRenderer};
use super::rows::{Kind, Rows, has_gap};

/// Printed where a reply that is printed in part does not continue as it began.
const CHANGED: &str = "the reply changed while it arrived; the whole reply:";
const CUT_OFF: &str = "the reply was cut off and discarded";

/// What is printed.
#[derive(Debug, Default)]
pub(super) struct PrintedBlocks {
    /// The number of blocks that are printed.
    blocks: usize,
    /// The kind of the last row.
    last: Option<Kind>,
    reply: Option<PrintedReply>,
}

/// The reply that is printed in part.
#[derive(Debug)]
struct PrintedReply {
    id: MessageId,
    renderer: ReplyRenderer,
    /// The number of rows of the renderer that are printed.
    rows: usize,
}

impl PrintedBlocks {
    /// The rows to print now.
    pub(super) fn advance(
        &mut self,
        blocks: &[Block],
        live: Option<&LiveReply>,
        theme: &Theme,
    ) -> Vec<String> {
        let mut out = Vec::new();
        let new = blocks.get(self.blocks..).unwrap_or_default();
        let begun = self.reply.as_ref().filter(|reply| reply.rows > 0).map(|reply| reply.id);
        if begun.is_some() && begun == live.map(|live| live.id) {
            self.advance_reply(live, theme, &mut out);
            return out;
        }
        let is_begun = |block: &&Block| matches!(block, Block::Reply { id, .. } if Some(*id) == begun);
        match (new.iter().find(is_begun), begun) {
            (Some(Block::Reply { segments, .. }), Some(_)) => self.finish_reply(segments, theme, &mut out),
            (None, Some(_)) => self.add_note(CUT_OFF, theme, &mut out),
            _ => {}
        }
        self.reply = self.reply.take().filter(|_| begun.is_none());
        for block in new.iter().filter(|block| !is_begun(block)) {
            let rows = render::block(block, theme, Detail::Folded);
            self.add(rows, &mut out);
        }
        self.blocks = blocks.len();
        self.advance_reply(live, theme, &mut out);
        out
    }

    /// The kind of the last printed row.
    pub(super) const fn last(&self) -> Option<Kind> {
        self.last
    }

    /// The renderer of a reply, after the rows that are printed of it.
    pub(super) fn renderer(&self, live: &LiveReply) -> Option<&ReplyRenderer> {
        self.reply.as_ref().filter(|reply| reply.id == live.id).map(|reply| &reply.renderer)
    }

    fn add(&mut self, rows: Rows, out: &mut Vec<String>) {
        let Some(first) = rows.first else { return };
        if has_gap(self.last, first) {
            out.push(String::new());
        }
        out.extend(rows.rows);
        self.last = rows.last;
    }

    fn add_note(&mut self, words: &str, theme: &Theme, out: &mut Vec<String>) {
        let mut rows = Rows::default();
        rows.add(Kind::Work, render::note(Style::Warning, words, theme));
        self.add(rows, out);
    }

    /// Prints what cannot change of a reply that arrives.
    fn advance_reply(&mut self, live: Option<&LiveReply>, theme: &Theme, out: &mut Vec<String>) {
        let Some(live) = live.filter(|live| live.is_whole) else { return };
        let known = self
            .reply
            .take()
            .filter(|reply| reply.id == live.id && (reply.rows > 0 || reply.renderer.theme() == theme));
        let mut reply = known.unwrap_or_else(|| PrintedReply {
            id: live.id,
            renderer: ReplyRenderer::new(theme, Detail::Folded),
            rows: 0,
        });
        reply.renderer.advance(&live.segments);
        let rows = reply.renderer.rows();
        self.print_reply(rows, &mut reply.rows, theme, out);
        self.reply = Some(reply);
    }

    /// Prints the rest of a reply whose durable event arrived.
    fn finish_reply(&mut self, segments: &[Segment], theme: &Theme, out: &mut Vec<String>) {
        let Some(mut reply) = self.reply.take() else { return };
        let whole = reply::render(segments, reply.renderer.theme(), Detail::Folded);
        let printed = reply.renderer.rows().rows.get(..reply.rows).unwrap_or_default();
        if whole.rows.starts_with(printed) {
            self.print_reply(&whole, &mut reply.rows, theme, out);
        } else {
            self.add_note(CHANGED, theme, out);
            let mut whole = reply::render(segments, theme, Detail::Folded);
            render::fit(&mut whole.rows, theme);
            self.add(whole, out);
        }
    }

    /// Prints the rows of a reply after those that are printed.
    fn print_reply(&mut self, rows: &Rows, printed: &mut usize, theme: &Theme, out: &mut Vec<String>) {
        let new = rows.rows.get(*printed..).unwrap_or_default();
        let Some(first) = rows.first.filter(|_| !new.is_empty()) else { return };
        if *printed == 0 && has_gap(self.last, first) {
            out.push(String::new());
        }
        out.extend(new.iter().flat_map(|row| painted::wrap(row, theme.width)));
        *printed = rows.rows.len();
        self.last = rows.last;
    }
}
