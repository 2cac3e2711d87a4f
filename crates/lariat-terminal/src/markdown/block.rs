//! Splits Markdown into blocks, line by line.
//!
//! A paragraph, quote or table ends at an empty line or where another block starts; a list item ends where the next one
//! starts; fenced code is complete line by line. Follows CommonMark where that is possible without lookahead. `render`
//! interprets the blocks.

/// Maximum bytes of a block; a longer one is printed incomplete.
const LIMIT: usize = 64 * 1024;
/// Indentation that makes a line code.
const INDENTED: usize = 4;

/// A part that can be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockPart {
    /// A block.
    Block {
        source: String,
        /// The number of an item in a numbered list.
        number: Option<u64>,
        /// Whether an empty line precedes it.
        gap: bool,
    },
    CodeStart {
        language: String,
    },
    CodeLine(String),
    CodeEnd,
}

/// An incomplete block.
#[derive(Clone, Debug)]
pub(super) struct OpenBlock {
    pub(super) source: String,
    pub(super) number: Option<u64>,
    pub(super) gap: bool,
}

/// The kind of the open block.
#[derive(Clone, Debug, Default)]
enum OpenKind {
    #[default]
    Nothing,
    Text,
    Item {
        /// The column of its content.
        content: usize,
        fence: Option<Fence>,
    },
    Code(Fence),
}

#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// A list item's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marker {
    /// `-`, `*`, `+`, `.` or `)`.
    kind: char,
    number: Option<u64>,
    content: usize,
    is_empty: bool,
}

/// The splitter, with its state between lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    open: OpenKind,
    source: String,
    /// Whether the last line was empty.
    blank: bool,
    /// The last item, if no other block followed it.
    last: Option<Marker>,
    /// The open item.
    marker: Option<Marker>,
    /// Whether an empty line precedes the open block.
    gap: bool,
}

impl Blocks {
    /// Adds a line, without its line ending.
    pub(super) fn line(&mut self, line: &str) -> Vec<BlockPart> {
        let mut parts = Vec::new();
        let is_blank = line.trim().is_empty();
        match std::mem::take(&mut self.open) {
            OpenKind::Code(fence) if closes(line, &fence) => parts.push(BlockPart::CodeEnd),
            OpenKind::Code(fence) => {
                parts.push(BlockPart::CodeLine(strip_indent(line, fence.indent).to_owned()));
                self.open = OpenKind::Code(fence);
            }
            OpenKind::Item { content, fence } => self.in_item(line, is_blank, (content, fence), &mut parts),
            OpenKind::Text => self.in_text(line, is_blank, &mut parts),
            OpenKind::Nothing if is_blank => {}
            OpenKind::Nothing => self.begin(line, &mut parts),
        }
        if self.source.len() > LIMIT {
            self.end(&mut parts);
            self.open = OpenKind::Nothing;
        }
        self.blank = is_blank;
        parts
    }

    /// The open block as it would be if `pending` were its last line; `None` if `pending` starts another block.
    pub(super) fn open(&self, pending: &str) -> Option<OpenBlock> {
        let mut copy = self.clone();
        let ended = if pending.is_empty() { Vec::new() } else { copy.line(pending) };
        if !ended.is_empty() || copy.source.is_empty() {
            return None;
        }
        let number = copy.marker.and_then(|item| item.number);
        Some(OpenBlock { source: copy.source, number, gap: copy.gap })
    }

    /// Bytes of the open block.
    pub(super) fn len(&self) -> usize {
        self.source.len()
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.open, OpenKind::Nothing) && self.source.is_empty()
    }

    /// Ends the input.
    pub(super) fn finish(&mut self) -> Vec<BlockPart> {
        let mut parts = Vec::new();
        if let OpenKind::Code(_) = self.open {
            parts.push(BlockPart::CodeEnd);
        }
        self.end(&mut parts);
        *self = Self::default();
        parts
    }

    fn in_item(
        &mut self,
        line: &str,
        is_blank: bool,
        (content, fence): (usize, Option<Fence>),
        parts: &mut Vec<BlockPart>,
    ) {
        let belongs = is_blank || indent(line) >= content;
        let is_lazy = !belongs && fence.is_none() && !self.blank && !begins_block(line);
        if !belongs && !is_lazy {
            self.end(parts);
            return self.begin(line, parts);
        }
        let inner = strip_indent(line, content);
        let fence = match fence {
            Some(fence) if closes(inner, &fence) => None,
            Some(fence) => Some(fence),
            None if is_lazy => None,
            // The item may contain others, whose fences are indented deeper.
            None => opens(inner.trim_start()).map(|(fence, _)| fence),
        };
        self.add(line);
        self.open = OpenKind::Item { content, fence };
    }

    fn in_text(&mut self, line: &str, is_blank: bool, parts: &mut Vec<BlockPart>) {
        let is_quote = is_quote(&self.source);
        if is_blank {
            return self.end(parts);
        }
        if !is_quote && is_underline(line) {
            self.add(line);
            return self.end(parts);
        }
        let interrupts = match marker(line) {
            Some(marker) => !marker.is_empty && marker.number.is_none_or(|number| number == 1),
            None => begins_block(line) && !(is_quote && self::is_quote(line)),
        };
        if interrupts {
            self.end(parts);
            return self.begin(line, parts);
        }
        self.add(line);
        self.open = OpenKind::Text;
    }

    /// Starts a block with a nonempty line.
    fn begin(&mut self, line: &str, parts: &mut Vec<BlockPart>) {
        self.gap = true;
        if let Some((fence, language)) = opens(line) {
            self.last = None;
            parts.push(BlockPart::CodeStart { language: language.to_owned() });
            self.open = OpenKind::Code(fence);
            return;
        }
        self.add(line);
        if is_heading(line) || is_rule(line) {
            return self.end(parts);
        }
        match marker(line) {
            Some(mut marker) => {
                if let (Some(last), Some(number)) = (self.last, marker.number.as_mut())
                    && last.kind == marker.kind
                {
                    *number = last.number.map_or(*number, |last| last.saturating_add(1));
                }
                self.gap = self.blank;
                let content = marker.content;
                self.marker = Some(marker);
                let inner = strip_indent(line, content);
                self.open = OpenKind::Item { content, fence: opens(inner).map(|(fence, _)| fence) };
            }
            None => self.open = OpenKind::Text,
        }
    }

    fn add(&mut self, line: &str) {
        self.source.push_str(line);
        self.source.push('\n');
    }

    /// Completes the open block.
    fn end(&mut self, parts: &mut Vec<BlockPart>) {
        let source = std::mem::take(&mut self.source);
        if source.is_empty() {
            return;
        }
        self.last = self.marker.take();
        parts.push(BlockPart::Block {
            source,
            number: self.last.and_then(|item| item.number),
            gap: self.gap,
        });
    }
}

/// The indentation in columns.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for letter in line.chars() {
        match letter {
            ' ' => columns += 1,
            '\t' => columns += INDENTED - columns % INDENTED,
            _ => break,
        }
    }
    columns
}

/// Removes up to `columns` columns of indentation.
fn strip_indent(line: &str, columns: usize) -> &str {
    let mut rest = line;
    let mut left = columns;
    while left > 0 {
        match (rest.strip_prefix(' '), rest.strip_prefix('\t')) {
            (Some(after), _) => (rest, left) = (after, left - 1),
            (_, Some(after)) => (rest, left) = (after, left.saturating_sub(INDENTED)),
            // An item's marker is part of the indentation.
            _ if columns <= INDENTED * 4 && marker(line).is_some_and(|marker| marker.content == columns) => {
                return line.get(columns.min(line.len())..).unwrap_or_default();
            }
            _ => break,
        }
    }
    rest
}

fn begins_block(line: &str) -> bool {
    opens(line).is_some() || is_heading(line) || is_rule(line) || is_quote(line) || marker(line).is_some()
}

/// The line without its indentation; `None` for indented code.
fn outer(line: &str) -> Option<&str> {
    (indent(line) < INDENTED).then(|| line.trim_start_matches([' ', '\t']))
}

fn is_quote(line: &str) -> bool {
    outer(line).is_some_and(|line| line.starts_with('>'))
}

fn is_heading(line: &str) -> bool {
    outer(line).is_some_and(|line| {
        let rest = line.trim_start_matches('#');
        (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

fn is_rule(line: &str) -> bool {
    outer(line).is_some_and(|line| {
        ['-', '*', '_'].iter().any(|mark| {
            line.chars().filter(|letter| letter == mark).count() >= 3
                && line.chars().all(|letter| letter == *mark || letter.is_whitespace())
        })
    })
}

/// Whether this line makes the previous one a heading.
fn is_underline(line: &str) -> bool {
    outer(line).map(str::trim_end).is_some_and(|line| {
        !line.is_empty()
            && (line.chars().all(|letter| letter == '=') || line.chars().all(|letter| letter == '-'))
    })
}

fn opens(line: &str) -> Option<(Fence, &str)> {
    let indent = indent(line);
    let line = outer(line)?;
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    if length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let language = info.split([' ', '\t', ',', '{']).find(|word| !word.is_empty()).unwrap_or_default();
    Some((Fence { mark, length, indent }, language))
}

fn closes(line: &str, fence: &Fence) -> bool {
    outer(line).is_some_and(|line| {
        let rest = line.trim_start_matches(fence.mark);
        line.len() - rest.len() >= fence.length && rest.trim().is_empty()
    })
}

fn marker(line: &str) -> Option<Marker> {
    /// Maximum digits of an item number.
    const DIGITS: usize = 9;
    let before = indent(line);
    let line = outer(line)?;
    if is_rule(line) {
        return None;
    }
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let rest = line.get(digits..)?;
    let kind = rest.chars().next()?;
    let number = match (digits, kind) {
        (0, '-' | '*' | '+') => None,
        (1..=DIGITS, '.' | ')') => line.get(..digits)?.parse().ok(),
        _ => return None,
    };
    let after = rest.get(1..)?;
    let is_empty = after.trim().is_empty();
    if !is_empty && !after.starts_with([' ', '\t']) {
        return None;
    }
    let spaces = match indent(after) {
        _ if is_empty => 1,
        spaces @ 1..=INDENTED => spaces,
        _ => 1,
    };
    Some(Marker { kind, number, content: before + digits + 1 + spaces, is_empty })
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
