//! The rows of the composer: prompt, draft, and below it a completion or a search.

use std::ops::Range;

use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{painted, text};
use unicode_segmentation::UnicodeSegmentation as _;

use super::buffer::{Unit, units};
use super::layout::{Layout, Row, shown};
use super::{Composer, Kind, VimMode};
use crate::frame::Caret;

/// The columns of the prompt.
const PROMPT: usize = 2;
/// How many items of a completion are shown.
const MAX_OFFERS: usize = 8;
/// What an empty draft shows.
const PLACEHOLDER: &str = "Type a message, / for commands, @ for files, ? for help";

impl Composer {
    pub(super) fn render(&mut self, theme: &Theme, most: usize) -> (Vec<String>, Caret) {
        let most = most.max(1);
        // One column at the edge is for the caret behind the last character.
        self.width = theme.width.saturating_sub(PROMPT + 1).max(1);
        if self.search.is_some() {
            return self.render_search(theme, most);
        }
        let below = self.below(theme, most.saturating_sub(1));
        let layout = Layout::new(self.buffer.units(), self.width);
        let (row, column) = layout.place(self.buffer.caret());
        let visible = self.scroll(row, layout.rows.len(), most - below.len());
        let mut rows = self.text_rows(&layout, visible.clone(), theme);
        if self.is_empty() {
            let hint = text::cut(PLACEHOLDER, self.width, theme);
            rows = vec![format!("{}{}", self.prompt(theme), theme.paint(Style::Dim, &hint))];
        }
        let last = theme.width.saturating_sub(1);
        let caret = Caret { row: row - visible.start, column: (PROMPT + column).min(last) };
        rows.extend(below);
        (rows, caret)
    }

    /// What a screen reader gets: the draft in one line, if there is one, and rows that are read when they change.
    pub fn spoken(&mut self, theme: &Theme) -> (Option<String>, Vec<String>) {
        if let Some(search) = &self.search {
            let found = search.found(&self.past).unwrap_or_default().to_owned();
            return (Some(format!("search history: {}", search.query())), vec![text::first_line(&found)]);
        }
        let unit = |unit: &Unit| match unit.is_break() {
            true => theme.mark(" ⏎ ", " / ").to_owned(),
            false => shown(unit, usize::MAX).into_owned(),
        };
        let draft: String = self.buffer.units().iter().map(unit).collect();
        // The selected completion only: a list would be read again after each letter.
        let offers = self.below(theme, 1);
        let offer = |row: &String| {
            let row = painted::plain(row);
            format!("offer: {}", row.trim_start_matches(['>', '❯', ' ']))
        };
        ((!draft.is_empty()).then_some(draft), offers.iter().map(offer).collect())
    }

    /// The rows of the draft to show, so that the caret is one of them and the others move as little as possible.
    fn scroll(&mut self, row: usize, count: usize, most: usize) -> Range<usize> {
        let most = most.max(1);
        self.top = self.top.min(row).max((row + 1).saturating_sub(most)).min(count.saturating_sub(most));
        self.top..(self.top + most).min(count)
    }

    fn text_rows(&self, layout: &Layout, visible: Range<usize>, theme: &Theme) -> Vec<String> {
        let row = |at: usize, row: &Row| {
            let prompt = if at == 0 { self.prompt(theme) } else { " ".repeat(PROMPT) };
            prompt + &paint(self.buffer.part(row.start..row.end), self.width, theme)
        };
        let rows = layout.rows.iter().enumerate().skip(visible.start).take(visible.len());
        rows.map(|(at, of)| row(at, of)).collect()
    }

    fn prompt(&self, theme: &Theme) -> String {
        let (mark, style) = match (self.vim_mode(), self.kind()) {
            (Some(VimMode::Normal), _) => ("N", Style::Warning),
            (_, Kind::Message) => (theme.mark("›", ">"), Style::Strong),
            (_, Kind::Shell) => ("$", Style::Warning),
            (_, Kind::Note) => (theme.mark("✎", "+"), Style::Good),
            (_, Kind::Command) => (theme.mark("»", "="), Style::Code),
        };
        format!("{} ", theme.paint(style, mark))
    }

    /// What is below the draft: a completion, or the arguments of the command that is typed.
    fn below(&self, theme: &Theme, most: usize) -> Vec<String> {
        let (items, selected) = self.completion.items();
        if items.is_empty() {
            let hint = self.completion.arguments_of(self.buffer.units(), self.buffer.caret());
            let hint = hint.filter(|hint| most > 0 && !hint.arguments.is_empty());
            let line = hint.map(|hint| {
                let line = format!("  /{} {}  {}", hint.name, hint.arguments, hint.summary);
                theme.paint(Style::Dim, &text::cut(&text::line(&line), theme.width, theme))
            });
            return line.into_iter().collect();
        }
        let count = items.len().min(MAX_OFFERS).min(most);
        let first = (selected + 1).saturating_sub(count).min(items.len() - count);
        let mark = self.completion.mark();
        let name = |offer: &super::completion::CompletionItem| {
            text::line(format!("{mark}{} {}", offer.name, offer.arguments).trim_end())
        };
        let visible: Vec<_> = items.iter().enumerate().skip(first).take(count).collect();
        let widest = visible.iter().map(|(_, offer)| text::width(&name(offer))).max().unwrap_or(0);
        let widest = widest.min(theme.width / 2);
        let row = |(at, offer): (usize, &super::completion::CompletionItem)| {
            let is_selected = at == selected;
            let arrow = if is_selected { theme.mark("❯ ", "> ") } else { "  " };
            let style = if is_selected { Style::Strong } else { Style::Plain };
            let name = name(offer);
            let name = if offer.summary.is_empty() { end_of(&name, theme) } else { name };
            let mut pieces = vec![(style, format!("{arrow}{name}"))];
            if !offer.summary.is_empty() {
                let gap = " ".repeat(widest.saturating_sub(text::width(&name)) + 2);
                pieces.push((Style::Dim, format!("{gap}{}", text::line(&offer.summary))));
            }
            text::paint_pieces(&pieces, theme.width, theme)
        };
        visible.into_iter().map(row).collect()
    }

    fn render_search(&mut self, theme: &Theme, most: usize) -> (Vec<String>, Caret) {
        let mut rows = Vec::new();
        let Some(search) = &self.search else { return (rows, Caret { row: 0, column: 0 }) };
        let found = search.found(&self.past).unwrap_or_default();
        let units =
            units(found.get(..found.floor_char_boundary(super::MAX_SHOWN_CHARACTERS)).unwrap_or_default());
        let layout = Layout::new(&units, self.width);
        for (at, row) in layout.rows.iter().take(most - 1).enumerate() {
            let prompt = if at == 0 { self.prompt(theme) } else { " ".repeat(PROMPT) };
            let units = units.get(row.start..row.end).unwrap_or_default();
            rows.push(prompt + &paint(units, self.width, theme));
        }
        let label = if search.has_failed() { "no match: " } else { "search history: " };
        let label = text::cut(label, theme.width / 2, theme);
        let mut query = text::line(search.query());
        let room = theme.width.saturating_sub(text::width(&label) + 1);
        while text::width(&query) > room {
            query = query.graphemes(true).skip(1).collect();
        }
        let column = (text::width(&label) + text::width(&query)).min(theme.width.saturating_sub(1));
        let caret = Caret { row: rows.len(), column };
        rows.push(format!("{}{query}", theme.paint(Style::Dim, &label)));
        (rows, caret)
    }
}

/// The end of a name that is too wide: the file matters more than the folders.
fn end_of(name: &str, theme: &Theme) -> String {
    let room = theme.width.saturating_sub(PROMPT);
    if text::width(name) <= room {
        return name.to_owned();
    }
    let mark = theme.mark("…", "...");
    let surplus = text::width(name) + text::width(mark) - room;
    let mut skipped = 0;
    let is_surplus = |grapheme: &&str| {
        let is_surplus = skipped < surplus;
        skipped += text::width(grapheme);
        is_surplus
    };
    format!("{mark}{}", name.graphemes(true).skip_while(is_surplus).collect::<String>())
}

/// The text of a row, neutralised, without what hangs over the edge.
fn paint(units: &[Unit], width: usize, theme: &Theme) -> String {
    let mut row = String::new();
    let mut used = 0;
    for unit in units.iter().filter(|unit| !unit.is_break()) {
        let shown = shown(unit, width);
        used += text::width(&shown);
        if used > width {
            break;
        }
        match unit {
            Unit::Grapheme(_) => row.push_str(&shown),
            Unit::Paste(_) => row.push_str(&theme.paint(Style::Code, &shown)),
        }
    }
    row
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
