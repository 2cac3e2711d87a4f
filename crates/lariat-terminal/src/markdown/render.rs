//! Renders a block of Markdown as lines.
//!
//! All text comes from the parser and is neutralised when it becomes a [`Piece`], after entities are decoded, so `&#27;` is
//! as harmless as the character itself.

use std::rc::Rc;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code;
use super::grid::Grid;
use super::inline::{self, Piece};
use crate::text;
use crate::theme::{Style, Theme};

/// Width of a horizontal rule.
const RULE: usize = 40;
/// Bullets by list depth.
const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];

/// Renders a block as lines. `number` is the number of the first item of the outermost list.
pub(super) fn block(source: &str, number: Option<u64>, theme: &Theme) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { theme, number, ..Writer::new(theme) };
    for event in Parser::new_ext(source, options) {
        writer.event(event);
    }
    writer.flush();
    if writer.out.trim().is_empty() {
        // The parser drops some text, such as link definitions: show the source.
        let lines = text::lines(source.trim()).flat_map(|line| text::wrap(&line, theme.width));
        return lines.map(|line| format!("{line}\n")).collect();
    }
    writer.out
}

/// The prefix of the lines of a quote or list item.
#[derive(Debug)]
struct Bar {
    first: String,
    rest: String,
    width: usize,
    is_fresh: bool,
}

struct Writer<'a> {
    theme: &'a Theme,
    number: Option<u64>,
    out: String,
    bars: Vec<Bar>,
    inline: Vec<Piece>,
    styles: Vec<Style>,
    /// Open links: target, and position of their text.
    links: Vec<(String, usize)>,
    lists: Vec<Option<u64>>,
    /// Whether an empty line precedes the next block.
    gap: bool,
    grid: Option<Grid>,
    code: Option<(String, String)>,
}

impl<'a> Writer<'a> {
    const fn new(theme: &'a Theme) -> Self {
        Self {
            theme,
            number: None,
            out: String::new(),
            bars: Vec::new(),
            inline: Vec::new(),
            styles: Vec::new(),
            links: Vec::new(),
            lists: Vec::new(),
            gap: false,
            grid: None,
            code: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(self.style(), &text),
            },
            Event::Code(text) if self.theme.colour => self.text(Style::Code, &text),
            Event::Code(text) => self.text(Style::Code, &format!("`{text}`")),
            Event::SoftBreak => self.text(self.style(), " "),
            Event::HardBreak => self.inline.push(Piece::line_break()),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::Rule => {
                self.start_block();
                let rule = self.theme.mark("─", "-").repeat(RULE.min(self.room()));
                let rule = self.theme.paint(Style::Dim, &rule);
                self.put(&rule);
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                let mark =
                    if done { self.theme.mark("☑ ", "[x] ") } else { self.theme.mark("☐ ", "[ ] ") };
                self.text(Style::Plain, mark);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(self.style(), &text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.start_block(),
            Tag::Heading { level, .. } => {
                self.start_block();
                self.styles.push(Style::Heading);
                if !self.theme.colour {
                    self.text(Style::Heading, &format!("{} ", "#".repeat(depth(level))));
                }
            }
            Tag::BlockQuote(_) => {
                self.start_block();
                let bar = format!("{} ", self.theme.paint(Style::Dim, self.theme.mark("│", ">")));
                self.bars.push(Bar { first: bar.clone(), rest: bar, width: 2, is_fresh: true });
            }
            Tag::CodeBlock(kind) => {
                self.start_block();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::List(start) => {
                self.flush();
                let start = start.map(|start| self.number.take().unwrap_or(start));
                self.lists.push(start);
            }
            Tag::Item => {
                self.start_block();
                let marker = self.marker();
                let width = text::width(&marker);
                self.bars.push(Bar { first: marker, rest: " ".repeat(width), width, is_fresh: true });
            }
            Tag::Emphasis => self.styles.push(Style::Emphasis),
            Tag::Strong => self.styles.push(Style::Strong),
            Tag::Strikethrough => self.styles.push(Style::Struck),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.inline.len()));
                self.styles.push(Style::Link);
            }
            Tag::Table(alignments) => {
                self.start_block();
                self.grid = Some(Grid { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(grid) = &mut self.grid {
                    grid.rows.push(Vec::new());
                }
                if tag == Tag::TableHead {
                    self.styles.push(Style::Strong);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.bars.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    for line in code::render_block(&language, &code, self.theme).lines() {
                        self.put(line);
                    }
                }
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                if self.bars.last().is_some_and(|bar| bar.is_fresh) {
                    self.put("");
                }
                self.bars.pop();
                if let Some(Some(number)) = self.lists.last_mut() {
                    *number = number.saturating_add(1);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.grid.as_mut().and_then(|grid| grid.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::Table => {
                if let Some(grid) = self.grid.take() {
                    for line in grid.lines(self.room(), self.theme) {
                        self.put(&line);
                    }
                }
                self.gap = true;
            }
            _ => {}
        }
    }

    /// Prints the target after the text if the terminal cannot link, or if the text looks like another address.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, start)) = self.links.pop() else { return };
        let pieces = self.inline.get_mut(start..).unwrap_or_default();
        let shown: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let visible = text::line(&address);
        let is_same = shown == visible || visible.strip_prefix("mailto:") == Some(&shown);
        if self.theme.can_link(&address) && (is_same || !looks_like_address(&shown)) {
            let link: Rc<str> = address.into();
            for piece in pieces {
                piece.link = Some(Rc::clone(&link));
            }
        } else if !is_same && !address.is_empty() {
            self.text(self.style(), &format!(" ({address})"));
        }
    }

    fn marker(&self) -> String {
        match self.lists.last() {
            Some(Some(number)) => format!("{number}. "),
            _ if self.theme.unicode => {
                let depth = self.lists.len().saturating_sub(1) % BULLETS.len();
                BULLETS.get(depth).copied().unwrap_or("• ").to_owned()
            }
            _ => "- ".to_owned(),
        }
    }

    fn style(&self) -> Style {
        // Text in a heading keeps the heading's style.
        let heading = self.styles.first().filter(|style| **style == Style::Heading);
        heading.or(self.styles.last()).copied().unwrap_or_default()
    }

    fn text(&mut self, style: Style, untrusted: &str) {
        self.inline.push(Piece::new(style, untrusted));
    }

    fn html(&mut self, html: &str) {
        for (at, line) in html.trim_end_matches('\n').split('\n').enumerate() {
            if at > 0 {
                self.inline.push(Piece::line_break());
            }
            self.text(Style::Dim, line);
        }
        if html.ends_with('\n') {
            self.inline.push(Piece::line_break());
        }
    }

    /// Ends the current line, and adds an empty line if one is due.
    fn start_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) {
            self.put("");
        }
    }

    /// Writes the collected text.
    fn flush(&mut self) {
        let mut pieces = std::mem::take(&mut self.inline);
        while pieces.last().is_some_and(|piece| piece.text == "\n") {
            pieces.pop();
        }
        if pieces.is_empty() {
            return;
        }
        for line in inline::wrap(&pieces, self.room()) {
            let line = inline::paint(&line, self.theme);
            self.put(&line);
        }
    }

    /// Width left for text.
    fn room(&self) -> usize {
        let (mut used, most) = (0, self.theme.width / 2);
        for bar in &self.bars {
            if used + bar.width <= most {
                used += bar.width;
            }
        }
        self.theme.width.saturating_sub(used).max(1)
    }

    /// Writes a line after its prefixes, which take at most half of the width.
    fn put(&mut self, line: &str) {
        let (mut used, most) = (0, self.theme.width / 2);
        let mut shown = String::new();
        for bar in &mut self.bars {
            let is_fresh = std::mem::take(&mut bar.is_fresh);
            if used + bar.width <= most {
                used += bar.width;
                shown.push_str(if is_fresh { &bar.first } else { &bar.rest });
            }
        }
        shown.push_str(line);
        self.out.push_str(shown.trim_end());
        self.out.push('\n');
    }
}

fn looks_like_address(text: &str) -> bool {
    text.contains("://") || (text.contains('.') && !text.contains(' '))
}

const fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
