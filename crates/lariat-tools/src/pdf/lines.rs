//! Joins placed glyphs into lines of text.
//!
//! Decides where a line ends and where a space is missing from the distance to the previous glyph, measured along and
//! across its direction, relative to its size. Keeps the order of the page's operators, which is the reading order in
//! files of text programs, even with columns.

use hayro_font::kurbo::{Affine, Point, Vec2};

/// A gap that is a space, relative to the size.
const SPACE: f64 = 0.18;
/// A step back that is too large for kerning.
const BACK: f64 = 0.6;
/// A step across that starts a new line; smaller ones are superscripts or subscripts.
const LINE: f64 = 0.55;
/// A step across that leaves an empty line.
const PARAGRAPH: f64 = 1.7;
/// A gap between columns of a table.
const COLUMN: f64 = 2.5;

/// The text of a page.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    /// Where the previous glyph ended, its direction and its size.
    before: Option<(Point, Vec2, f64)>,
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Adds a glyph: its text, the matrix from its own space of one unit per size, and its width there.
    pub(super) fn put(&mut self, says: &str, place: Affine, width: f64) {
        let origin = place * Point::ZERO;
        let direction = (place * Point::new(1.0, 0.0)) - origin;
        let size = ((place * Point::new(0.0, 1.0)) - origin).hypot();
        let end = place * Point::new(width, 0.0);
        if !(size.is_finite() && size > 0.0 && end.is_finite() && direction.hypot() > 0.0) {
            return;
        }
        let direction = direction / direction.hypot();
        if let Some((ended, was, height)) = self.before {
            self.part(origin - ended, was, direction, height.max(size));
        }
        for sign in says.chars() {
            match sign {
                // Replace typographic ligatures by letters.
                '\u{FB00}' => self.text.push_str("ff"),
                '\u{FB01}' => self.text.push_str("fi"),
                '\u{FB02}' => self.text.push_str("fl"),
                '\u{FB03}' => self.text.push_str("ffi"),
                '\u{FB04}' => self.text.push_str("ffl"),
                '\u{00A0}' => self.text.push(' '),
                '\u{00AD}' => self.text.push('-'),
                sign if sign.is_control() => {}
                sign => self.text.push(sign),
            }
        }
        self.before = Some((end, direction, size));
    }

    /// Adds what separates two glyphs.
    fn part(&mut self, step: Vec2, was: Vec2, direction: Vec2, size: f64) {
        let (along, across) = (step.dot(was) / size, step.cross(was).abs() / size);
        if was.dot(direction) < 0.9 || across > LINE || along < -BACK {
            let empty = across > PARAGRAPH && across < 20.0;
            self.trim();
            self.text.push_str(if empty { "\n\n" } else { "\n" });
        } else if along > COLUMN {
            self.trim();
            self.text.push_str("  ");
        } else if along > SPACE && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn trim(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }

    /// The text, without empty lines at its ends and with at most one empty line in a row.
    pub(super) fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut empty = false;
        for line in self.text.trim_matches('\n').lines().map(str::trim_end) {
            if line.is_empty() && empty {
                continue;
            }
            empty = line.is_empty();
            text.push_str(line);
            text.push('\n');
        }
        if text.trim().is_empty() { String::new() } else { text }
    }
}
