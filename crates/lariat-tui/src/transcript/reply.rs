//! Renders a reply, also while it arrives.
//!
//! Invariant: what [`ReplyRenderer::advance`] returns is a prefix of what [`render`] returns for the complete reply,
//! however the text was split, because Markdown returns only lines that cannot change.

use lariat_core::time::Timestamp;
use lariat_terminal::markdown::Markdown;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, text};

use super::Detail;
use super::block::Segment;
use super::rows::{Kind, Rows};

/// Renders the segments of a reply one after the other.
#[derive(Clone, Debug)]
pub(super) struct ReplyRenderer {
    theme: Theme,
    detail: Detail,
    markdown: Markdown,
    /// The segment that is rendered now, and the bytes of its text that were.
    segment: usize,
    bytes: usize,
    /// Whether the segment has rows.
    is_begun: bool,
    out: Rows,
}

/// Whether more of a reply may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

/// Renders a complete reply.
pub(super) fn render(segments: &[Segment], theme: &Theme, detail: Detail) -> Rows {
    let mut renderer = ReplyRenderer::new(theme, detail);
    renderer.run(segments, End::Closed);
    renderer.out
}

impl ReplyRenderer {
    pub(super) fn new(theme: &Theme, detail: Detail) -> Self {
        Self {
            theme: *theme,
            detail,
            markdown: Markdown::new(*theme),
            segment: 0,
            bytes: 0,
            is_begun: false,
            out: Rows::default(),
        }
    }

    pub(super) const fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Renders what arrived. The rows of [`ReplyRenderer::rows`] do not change any more.
    pub(super) fn advance(&mut self, segments: &[Segment]) {
        self.run(segments, End::Open);
    }

    /// The rows that do not change any more.
    pub(super) const fn rows(&self) -> &Rows {
        &self.out
    }

    /// The rest as it would be if nothing followed: rows after those of [`ReplyRenderer::rows`].
    pub(super) fn preview(&self, segments: &[Segment], thinking: Option<(Timestamp, Timestamp)>) -> Rows {
        let mut copy = self.clone();
        copy.run(segments, End::Open);
        if let Some(Segment::Thinking(pieces)) = segments.get(copy.segment) {
            let rows = copy.live_thought(pieces, thinking);
            copy.out.add(Kind::Work, rows);
        } else {
            let rows = copy.markdown.preview();
            copy.add_text(rows);
        }
        let mut rows = copy.out;
        rows.rows.drain(..self.out.rows.len());
        rows
    }

    fn run(&mut self, segments: &[Segment], end: End) {
        while let Some(segment) = segments.get(self.segment) {
            let is_open = end == End::Open && self.segment + 1 == segments.len();
            match segment {
                Segment::Thinking(_) if is_open => return,
                Segment::Thinking(pieces) => {
                    let rows = self.thought(pieces);
                    self.out.add(Kind::Work, rows);
                }
                Segment::Text(text) => {
                    let new = text.get(self.bytes..).unwrap_or_default();
                    self.bytes = text.len();
                    let mut lines = self.markdown.push(new);
                    if !is_open {
                        lines.push_str(&self.markdown.finish());
                    }
                    self.add_text(lines.lines().map(str::to_owned).collect());
                    if is_open {
                        return;
                    }
                }
            }
            (self.segment, self.bytes, self.is_begun) = (self.segment + 1, 0, false);
        }
    }

    fn add_text(&mut self, rows: Vec<String>) {
        if self.is_begun {
            self.out.extend(rows);
        } else {
            self.is_begun = !rows.is_empty();
            self.out.add(Kind::Text, rows);
        }
    }

    fn thought(&self, pieces: &[String]) -> Vec<String> {
        let theme = &self.theme;
        if self.detail == Detail::Folded {
            let first = text::first_line(&pieces.concat());
            let words = format!("{} thought  {}", theme.mark("∴", "~"), first.trim_matches('*'));
            return vec![theme.paint(Style::Dim, text::cut(words.trim_end(), theme.width, theme).trim_end())];
        }
        let mut rows = vec![theme.paint(Style::Dim, &format!("{} thought", theme.mark("∴", "~")))];
        rows.extend(self.thought_lines(&pieces.join("\n\n")));
        rows
    }

    fn thought_lines(&self, thought: &str) -> Vec<String> {
        let room = self.theme.width.saturating_sub(2);
        let lines = text::lines(thought.trim()).flat_map(|line| text::wrap(&line, room));
        lines.map(|line| self.theme.paint(Style::Dim, format!("  {line}").trim_end())).collect()
    }

    /// Thinking that still arrives: how long it takes, and its last line.
    fn live_thought(&self, pieces: &[String], times: Option<(Timestamp, Timestamp)>) -> Vec<String> {
        let theme = &self.theme;
        let thought = pieces.concat();
        let took = times.map(|(since, now)| format!(" {}", human::elapsed(now.since(since))));
        let words = format!("{} thinking{}", theme.mark("∴", "~"), took.unwrap_or_default());
        if self.detail == Detail::Full {
            let mut rows = vec![theme.paint(Style::Dim, &words)];
            rows.extend(self.thought_lines(&thought));
            return rows;
        }
        let last = thought.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let words = format!("{words}  {}", text::line(last).trim_matches('*'));
        vec![theme.paint(Style::Dim, text::cut(words.trim_end(), theme.width, theme).trim_end())]
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
