//! Renders a unified diff with colors, line numbers and changed words marked.
//!
//! Tools create the diff; text that is not a diff is shown unchanged. For reading, lines are cut at the width; for approval,
//! they are shown exactly and wrap. Omitted lines are counted. A wide terminal shows the old and the new lines beside each
//! other.

mod columns;

use std::collections::VecDeque;

use lariat_core::display;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::theme::{Style, Theme};
use crate::{human, text};

/// Maximum words of a line to compare; a longer line is marked as a whole.
const MOST_WORDS: usize = 400;
/// Lines that share less than one part in this many are different lines.
const IN_COMMON: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    File(String),
    Hunk,
    /// With its number in the old and in the new file.
    Same(usize, usize, String),
    Removed(usize, String),
    Added(usize, String),
    Other(String),
}

/// Why a diff is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffPurpose {
    /// Lines may be cut.
    Reading,
    /// Every line is complete, and nothing in it is hidden.
    Approving,
}

impl DiffPurpose {
    fn show(self, line: &str) -> String {
        match self {
            Self::Reading => text::line(line),
            Self::Approving => display::block(line).replace('\t', "    "),
        }
    }
}

/// Renders a diff for reading. Shows at most `most` lines and counts the rest.
pub fn unified(diff: &str, most: usize, theme: &Theme) -> String {
    render(diff, most, theme, DiffPurpose::Reading)
}

/// Renders a diff for approval: every line shown is complete.
pub fn exact(diff: &str, most: usize, theme: &Theme) -> String {
    render(diff, most, theme, DiffPurpose::Approving)
}

fn render(diff: &str, most: usize, theme: &Theme, purpose: DiffPurpose) -> String {
    let lines = parse(diff, purpose);
    let numbers = lines.iter().filter_map(|line| match line {
        Line::Same(old, new, _) => Some(*old.max(new)),
        Line::Removed(number, _) | Line::Added(number, _) => Some(*number),
        _ => None,
    });
    let digits = numbers.max().unwrap_or_default().to_string().len();
    let mut out = DiffOutput {
        shown: String::new(),
        written: 0,
        most,
        layout: layout(&lines, theme),
        digits,
        theme,
        purpose,
    };
    let mut left = lines.len();
    let mut lines = VecDeque::from(lines);
    while out.written < most
        && let Some(line) = lines.pop_front()
    {
        left -= match line {
            Line::Removed(number, removed) => {
                let (olds, news) = change((number, removed), &mut lines);
                out.change(pair_lines(&olds, &news))
            }
            Line::Added(number, words) => out.change((
                Vec::new(),
                vec![NumberedPieces { sign: '+', number, pieces: vec![(Style::Added, words)] }],
            )),
            Line::Same(old, new, words) => out.same(old, new, words),
            Line::File(path) => out.line(Style::Strong, &path),
            Line::Hunk => out.line(Style::Dim, theme.mark("⋮", ":")),
            Line::Other(words) => out.line(Style::Dim, &words),
        };
    }
    if left > 0 {
        let more = human::counted(left, "more line", "more lines");
        let more = format!("  {} {more}", theme.mark("…", "..."));
        out.shown.push_str(&theme.paint(Style::Dim, &more));
        out.shown.push('\n');
    }
    out.shown
}

/// Where the two sides of a change are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Removed lines above added ones.
    Unified,
    /// Removed lines beside added ones.
    SideBySide,
}

/// Beside each other in a wide terminal, if there are two sides.
fn layout(lines: &[Line], theme: &Theme) -> Layout {
    let has_both = lines.iter().any(|line| matches!(line, Line::Removed(..)))
        && lines.iter().any(|line| matches!(line, Line::Added(..)));
    if theme.is_terminal && theme.width >= columns::MIN_WIDTH && has_both {
        Layout::SideBySide
    } else {
        Layout::Unified
    }
}

/// The rendered lines. Each method returns how many lines of the diff it has shown.
struct DiffOutput<'a> {
    shown: String,
    written: usize,
    most: usize,
    layout: Layout,
    digits: usize,
    theme: &'a Theme,
    purpose: DiffPurpose,
}

impl DiffOutput<'_> {
    fn line(&mut self, style: Style, words: &str) -> usize {
        let pieces = vec![(style, format!("  {words}"))];
        self.shown.push_str(&written_line(&[], &pieces, self.theme, self.purpose));
        self.written += 1;
        1
    }

    fn same(&mut self, old: usize, new: usize, words: String) -> usize {
        let side = |number| NumberedPieces { sign: ' ', number, pieces: vec![(Style::Plain, words.clone())] };
        match self.layout {
            Layout::Unified => self.numbered(side(new)),
            Layout::SideBySide => self.beside(Some(&side(old)), Some(&side(new))),
        }
        1
    }

    fn change(&mut self, (removed, added): (Vec<NumberedPieces>, Vec<NumberedPieces>)) -> usize {
        let mut count = 0;
        match self.layout {
            Layout::Unified => {
                for line in removed.into_iter().chain(added).take(self.most - self.written) {
                    self.numbered(line);
                    count += 1;
                }
            }
            Layout::SideBySide => {
                for at in 0..removed.len().max(added.len()).min(self.most - self.written) {
                    let (old, new) = (removed.get(at), added.get(at));
                    self.beside(old, new);
                    count += usize::from(old.is_some()) + usize::from(new.is_some());
                }
            }
        }
        count
    }

    fn numbered(&mut self, line: NumberedPieces) {
        let gutter = gutter(&line, self.digits);
        self.shown.push_str(&written_line(&gutter, &line.pieces, self.theme, self.purpose));
        self.written += 1;
    }

    fn beside(&mut self, old: Option<&NumberedPieces>, new: Option<&NumberedPieces>) {
        self.shown.push_str(&columns::rows(old, new, self.digits, self.theme, self.purpose));
        self.written += 1;
    }
}

type NumberedLine = (usize, String);

/// Takes the rest of a change: the removed lines and the lines that replace them.
fn change(first: NumberedLine, lines: &mut VecDeque<Line>) -> (Vec<NumberedLine>, Vec<NumberedLine>) {
    let (mut olds, mut news) = (vec![first], Vec::new());
    while let Some(Line::Removed(..)) = lines.front()
        && let Some(Line::Removed(number, words)) = lines.pop_front()
    {
        olds.push((number, words));
    }
    while let Some(Line::Added(..)) = lines.front()
        && let Some(Line::Added(number, words)) = lines.pop_front()
    {
        news.push((number, words));
    }
    (olds, news)
}

type Pieces = Vec<(Style, String)>;

/// A line with its sign and number.
struct NumberedPieces {
    sign: char,
    number: usize,
    pieces: Pieces,
}

/// The removed and the added lines of a change; lines at the same position are compared word by word.
fn pair_lines(olds: &[NumberedLine], news: &[NumberedLine]) -> (Vec<NumberedPieces>, Vec<NumberedPieces>) {
    let side = |sign, style, lines: &[NumberedLine]| -> Vec<NumberedPieces> {
        let line = |(number, words): &NumberedLine| NumberedPieces {
            sign,
            number: *number,
            pieces: vec![(style, words.clone())],
        };
        lines.iter().map(line).collect()
    };
    let mut removed = side('-', Style::Removed, olds);
    let mut added = side('+', Style::Added, news);
    for ((before, after), ((_, old), (_, new))) in
        removed.iter_mut().zip(&mut added).zip(olds.iter().zip(news))
    {
        if let Some((old, new)) = changed_words(old, new) {
            before.pieces = old;
            after.pieces = new;
        }
    }
    (removed, added)
}

/// Marks the changed words of two lines; `None` if the lines have too little in common.
fn changed_words(old: &str, new: &str) -> Option<(Pieces, Pieces)> {
    let (old, new) = (words(old), words(new));
    if old.len().max(new.len()) > MOST_WORDS {
        return None;
    }
    let (mut before, mut after) = (Pieces::new(), Pieces::new());
    let mut same = 0;
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let olds = old.get(op.old_range()).unwrap_or_default().concat();
        let news = new.get(op.new_range()).unwrap_or_default().concat();
        if op.tag() == DiffTag::Equal {
            same += olds.trim().len();
            before.push((Style::Removed, olds));
            after.push((Style::Added, news));
        } else {
            before.push((Style::RemovedWord, olds));
            after.push((Style::AddedWord, news));
        }
    }
    let longest = old.concat().len().max(new.concat().len());
    (same * IN_COMMON >= longest).then_some((before, after))
}

/// Splits a line into words and single other characters.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut inside = false;
    for (at, letter) in line.char_indices() {
        let is_word = letter.is_alphanumeric() || letter == '_';
        if !(is_word && inside) && at > start {
            words.extend(line.get(start..at));
            start = at;
        }
        inside = is_word;
    }
    words.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    words
}

/// The number and the sign of a line.
fn gutter(line: &NumberedPieces, digits: usize) -> [(Style, String); 2] {
    let style = match line.sign {
        '+' => Style::Added,
        '-' => Style::Removed,
        _ => Style::Plain,
    };
    [(Style::Dim, format!("  {:>digits$} ", line.number)), (style, format!("{} ", line.sign))]
}

/// A line after its gutter: cut, or continued after an empty gutter.
fn written_line(gutter: &[(Style, String)], pieces: &Pieces, theme: &Theme, purpose: DiffPurpose) -> String {
    if purpose == DiffPurpose::Reading {
        let pieces: Pieces = gutter.iter().chain(pieces).cloned().collect();
        let line = text::paint_pieces(&pieces, theme.width, theme);
        return format!("{}\n", line.trim_end());
    }
    let indent = gutter.iter().map(|(_, text)| text::width(text)).sum::<usize>();
    let mut shown = String::new();
    for (at, row) in text::rows(pieces, theme.width.saturating_sub(indent)).iter().enumerate() {
        if at == 0 {
            shown.extend(gutter.iter().map(|(style, text)| theme.paint(*style, text)));
        } else {
            shown.push_str(&" ".repeat(indent));
        }
        shown.extend(row.iter().map(|(style, text)| theme.paint(*style, text)));
        shown.push('\n');
    }
    shown
}

/// Parses a diff. The counts in a hunk's header say how long it is, so that a removed line that starts with `--` is not taken
/// for a file header.
fn parse(diff: &str, purpose: DiffPurpose) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (0, 0);
    let (mut old_left, mut new_left) = (0_usize, 0_usize);
    let mut old_path = "";
    for line in diff.lines() {
        let inside = old_left > 0 || new_left > 0;
        let (sign, words) = line.split_at_checked(1).unwrap_or((" ", ""));
        match sign {
            "-" if inside && old_left > 0 => {
                lines.push(Line::Removed(old, purpose.show(words)));
                (old, old_left) = (old + 1, old_left - 1);
            }
            "+" if inside && new_left > 0 => {
                lines.push(Line::Added(new, purpose.show(words)));
                (new, new_left) = (new + 1, new_left - 1);
            }
            " " if inside => {
                lines.push(Line::Same(old, new, purpose.show(words)));
                (old, old_left) = (old + 1, old_left.saturating_sub(1));
                (new, new_left) = (new + 1, new_left.saturating_sub(1));
            }
            _ if line.starts_with("\\ ") => {}
            _ => {
                if let Some(path) = line.strip_prefix("--- ") {
                    old_path = path;
                } else if let Some(path) = line.strip_prefix("+++ ") {
                    lines.push(Line::File(file(old_path, path)));
                } else if let Some((from, to)) = header(line) {
                    if matches!(lines.last(), Some(Line::Same(..) | Line::Removed(..) | Line::Added(..))) {
                        lines.push(Line::Hunk);
                    }
                    ((old, old_left), (new, new_left)) = (from, to);
                } else {
                    lines.push(Line::Other(purpose.show(line)));
                }
            }
        }
    }
    lines
}

/// The file name, marked if it is new or deleted.
fn file(old: &str, new: &str) -> String {
    let name = |path: &str, side: &str| text::line(path.strip_prefix(side).unwrap_or(path));
    match (old, new) {
        ("/dev/null", new) => format!("{} (new)", name(new, "b/")),
        (old, "/dev/null") => format!("{} (deleted)", name(old, "a/")),
        (_, new) => name(new, "b/"),
    }
}

/// Parses `@@ -1,2 +3 @@` into start and length of each side.
fn header(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?))
}

/// The number of added and removed lines.
pub fn changed_lines(diff: &str) -> (usize, usize) {
    parse(diff, DiffPurpose::Reading).iter().fold((0, 0), |(added, removed), line| match line {
        Line::Added(..) => (added + 1, removed),
        Line::Removed(..) => (added, removed + 1),
        _ => (added, removed),
    })
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
