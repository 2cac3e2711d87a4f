//! The old and the new line of a change beside each other.
//!
//! Each side has half of the width. For reading, a line is cut there; for approval, it continues in the next row.

use super::{DiffPurpose, NumberedPieces, Pieces, gutter};
use crate::theme::{Style, Theme};
use crate::{painted, text};

/// Minimum columns of a terminal for two sides.
pub(super) const MIN_WIDTH: usize = 140;

/// Renders both sides of a line. A side can be empty.
pub(super) fn rows(
    old: Option<&NumberedPieces>,
    new: Option<&NumberedPieces>,
    digits: usize,
    theme: &Theme,
    purpose: DiffPurpose,
) -> String {
    let bar = theme.mark(" │", " |");
    let half = theme.width.saturating_sub(text::width(bar)) / 2;
    let old = old.map(|line| side(line, digits, half, theme, purpose)).unwrap_or_default();
    let new = new.map(|line| side(line, digits, half, theme, purpose)).unwrap_or_default();
    let mut shown = String::new();
    for at in 0..old.len().max(new.len()) {
        let (left, width) = old.get(at).map_or(("", 0), |(row, width)| (row.as_str(), *width));
        let right = new.get(at).map_or("", |(row, _)| row.as_str());
        let row = format!(
            "{left}{}{}{right}",
            " ".repeat(half.saturating_sub(width)),
            theme.paint(Style::Dim, bar)
        );
        shown.push_str(row.trim_end());
        shown.push('\n');
    }
    shown
}

/// The rows of one side, each with its width.
fn side(
    line: &NumberedPieces,
    digits: usize,
    half: usize,
    theme: &Theme,
    purpose: DiffPurpose,
) -> Vec<(String, usize)> {
    let gutter = gutter(line, digits);
    let indent = gutter.iter().map(|(_, words)| text::width(words)).sum::<usize>();
    let room = half.saturating_sub(indent);
    let rows: Vec<Pieces> = match purpose {
        DiffPurpose::Reading => vec![line.pieces.clone()],
        DiffPurpose::Approving => text::rows(&line.pieces, room),
    };
    (0..)
        .zip(&rows)
        .map(|(at, pieces)| {
            let start: String = if at == 0 {
                gutter.iter().map(|(style, words)| theme.paint(*style, words)).collect()
            } else {
                " ".repeat(indent)
            };
            let row = format!("{start}{}", text::paint_pieces(pieces, room, theme));
            let width = painted::width(&row);
            (row, width)
        })
        .collect()
}
