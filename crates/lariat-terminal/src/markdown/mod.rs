//! Renders a model's Markdown reply for a terminal, while it arrives.
//!
//! - `block`: splits the text into blocks, line by line.
//! - `render`: renders a block; `inline`, `grid` and `code` render its parts.
//!
//! Returned lines are complete and never change; the incomplete rest is available as a preview. The final output does not
//! depend on how the text was split into chunks. In a pipe, the text is unchanged except that it is neutralised. No control
//! character of the source is printed.

mod block;
mod code;
mod grid;
mod inline;
mod render;

use crate::text;
use crate::theme::Theme;
use block::{BlockPart, Blocks};
use code::Code;

/// Maximum bytes of a line; a longer one is split.
const LINE: usize = 64 * 1024;
/// Lines at the end of an open block that stay in the preview.
const OPEN: usize = 3;
/// Maximum bytes of an open block that is printed early; a longer one is not prose.
const PROSE: usize = 8 * 1024;

/// A text that arrives in chunks.
#[derive(Clone, Debug)]
pub struct Markdown {
    theme: Theme,
    /// The incomplete last line.
    pending: String,
    blocks: Blocks,
    code: Option<Code>,
    has_printed: bool,
    /// Lines of the open block that were already printed.
    settled: usize,
    /// Bytes of the open block when early printing was last tried.
    tried: usize,
}

impl Markdown {
    /// Creates an empty text.
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            pending: String::new(),
            blocks: Blocks::default(),
            code: None,
            has_printed: false,
            settled: 0,
            tried: 0,
        }
    }

    /// Renders a complete text.
    #[cfg(test)]
    pub fn whole(source: &str, theme: Theme) -> String {
        let mut markdown = Self::new(theme);
        let mut shown = markdown.push(source);
        shown.push_str(&markdown.finish());
        shown
    }

    /// Adds a chunk and returns the lines that are now complete.
    pub fn push(&mut self, delta: &str) -> String {
        self.pending.push_str(delta);
        let mut shown = String::new();
        let mut pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        while let Some((line, end, after)) = next_line(rest) {
            shown.push_str(&self.line(line, end));
            rest = after;
        }
        let taken = pending.len() - rest.len();
        pending.drain(..taken);
        self.pending = pending;
        shown.push_str(&self.settle());
        shown
    }

    /// The lines of the incomplete rest, as they would be if nothing followed.
    pub fn preview(&self) -> Vec<String> {
        if !self.theme.is_terminal
            || (self.pending.is_empty() && self.blocks.is_closed() && self.code.is_none())
        {
            return Vec::new();
        }
        self.clone().finish().lines().map(str::to_owned).collect()
    }

    /// Returns the lines of a long open block that later text cannot change.
    fn settle(&mut self) -> String {
        let length = self.blocks.len() + self.pending.len();
        let due = self.tried + self.theme.width / 2;
        if !self.theme.is_terminal || length < (self.theme.width * OPEN).max(due) || length > PROSE {
            return String::new();
        }
        self.tried = length;
        let open = self.blocks.open(&self.pending).filter(|open| inline::is_settled(&open.source));
        let Some(open) = open else { return String::new() };
        let rendered = render::block(&open.source, open.number, &self.theme);
        let settled = rendered.lines().count().saturating_sub(OPEN);
        if settled <= self.settled {
            return String::new();
        }
        let new = rendered.lines().take(settled).skip(self.settled).map(|line| format!("{line}\n")).collect();
        let is_first = self.settled == 0;
        self.settled = settled;
        if is_first { self.spaced(open.gap, new) } else { new }
    }

    /// Ends the text and returns the rest. A new text may start afterwards.
    pub fn finish(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        let mut shown = if pending.is_empty() { String::new() } else { self.line(&pending, "") };
        if self.theme.is_terminal {
            for part in self.blocks.finish() {
                shown.push_str(&self.part(part));
            }
        }
        *self = Self::new(self.theme);
        shown
    }

    fn line(&mut self, line: &str, end: &str) -> String {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if !self.theme.is_terminal {
            return format!("{}{end}", text::with_spacing(line));
        }
        let parts = self.blocks.line(line);
        parts.into_iter().map(|part| self.part(part)).collect()
    }

    fn part(&mut self, part: BlockPart) -> String {
        match part {
            BlockPart::Block { source, number, gap } => {
                let lines = render::block(&source, number, &self.theme);
                self.tried = 0;
                match std::mem::take(&mut self.settled) {
                    0 => self.spaced(gap, lines),
                    settled => lines.lines().skip(settled).map(|line| format!("{line}\n")).collect(),
                }
            }
            BlockPart::CodeStart { language } => {
                self.code = Some(Code::new(&language, self.theme));
                self.spaced(true, String::new())
            }
            BlockPart::CodeLine(line) => self.code.as_mut().map(|code| code.line(&line)).unwrap_or_default(),
            BlockPart::CodeEnd => self.code.take().map(|mut code| code.finish()).unwrap_or_default(),
        }
    }

    fn spaced(&mut self, gap: bool, lines: String) -> String {
        let gap = gap && self.has_printed;
        self.has_printed = true;
        if gap { format!("\n{lines}") } else { lines }
    }
}

/// The next complete line, its line ending, and the rest. Looks no further than the maximum line length, so that the result
/// does not depend on how much text follows.
fn next_line(text: &str) -> Option<(&str, &str, &str)> {
    let most = text.floor_char_boundary(LINE);
    let (start, rest) = text.split_at(most);
    match start.split_once('\n') {
        Some((line, _)) => Some((line, "\n", text.get(line.len() + 1..).unwrap_or_default())),
        None => (text.len() >= LINE).then_some((start, "", rest)),
    }
}

#[cfg(test)]
mod tests;
