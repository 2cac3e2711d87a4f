//! Writes frames to a terminal.
//!
//! Inline, finished rows scroll into the terminal's own scrollback and are never written again; the live region below
//! them is redrawn by rows that differ, inside a synchronized update. In full screen, the same rows are shown in the
//! alternate screen. For a screen reader, rows are only printed. Invariants: a frame that equals the one before writes no byte; `ESC[3J` is never written; the
//! terminal is restored when the program ends, also by a panic or a signal.

mod full;
mod inline;
mod linear;
pub mod modes;
pub mod row;

use std::io::{self, Write};

use crate::frame::{Frame, Size};
use full::FullScreen;
use inline::Inline;
use linear::Linear;

/// Starts a synchronized update (DEC private mode 2026): the terminal shows nothing until its end.
const UPDATE: &str = "\u{1b}[?2026h";
/// Ends a synchronized update.
const UPDATED: &str = "\u{1b}[?2026l";
const HIDE_CARET: &str = "\u{1b}[?25l";
const SHOW_CARET: &str = "\u{1b}[?25h";
/// Enters the alternate screen and saves the cursor.
const ENTER_FULL: &str = "\u{1b}[?1049h";
/// Leaves the alternate screen and restores the cursor.
const LEAVE_FULL: &str = "\u{1b}[?1049l";

/// Whether a terminal wraps the rows on the screen anew when its width changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reflow {
    /// As most terminals do.
    #[default]
    Wraps,
    /// As xterm and the Linux console do: rows are cut.
    Cuts,
}

/// A terminal that shows frames.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    size: Size,
    inline: Inline,
    full: Option<FullScreen>,
    /// For a screen reader.
    linear: Option<Linear>,
    /// Rows that finished while the alternate screen was shown.
    waiting: Vec<String>,
}

impl<W: Write> Screen<W> {
    /// Creates a screen whose live region begins at the row of the cursor.
    pub fn new(out: W, size: Size) -> Self {
        Self { out, size, inline: Inline::new(size), full: None, linear: None, waiting: Vec::new() }
    }

    /// Sets what the terminal does with its rows when its width changes.
    #[must_use]
    pub const fn with_reflow(mut self, reflow: Reflow) -> Self {
        self.inline.reflow = reflow;
        self
    }

    /// Never moves the cursor, for a screen reader: frames have at most one live row.
    #[must_use]
    pub fn linear(mut self) -> Self {
        self.linear = Some(Linear::default());
        self
    }

    /// Shows a frame.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        let mut bytes = String::new();
        if let Some(linear) = &mut self.linear {
            linear.draw(&frame.finished, frame, &mut bytes);
            return self.signal(&bytes);
        }
        if frame.is_full_screen {
            self.waiting.extend(frame.finished.iter().cloned());
            if self.full.is_none() {
                bytes.push_str(ENTER_FULL);
            }
            let size = self.size;
            self.full.get_or_insert_with(|| FullScreen::new(size)).draw(frame, &mut bytes);
        } else {
            if self.full.take().is_some() {
                bytes.push_str(LEAVE_FULL);
                self.inline.invalidate();
            }
            let mut finished = std::mem::take(&mut self.waiting);
            finished.extend(frame.finished.iter().cloned());
            self.inline.draw(&finished, frame, &mut bytes);
        }
        self.write(&bytes)
    }

    /// The terminal has another size. The next frame is made for it.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.inline.resize(size);
        if let Some(full) = &mut self.full {
            *full = FullScreen::new(size);
        }
    }

    /// The next frame writes every row again, as after another program wrote to the terminal.
    pub fn redraw(&mut self) {
        if self.linear.is_some() {
            return self.restart();
        }
        self.inline.invalidate();
        if let Some(full) = &mut self.full {
            *full = FullScreen::new(self.size);
        }
    }

    /// Forgets what is shown: something else wrote to the terminal. The next frame begins at the row of the cursor, in
    /// the normal screen.
    pub fn restart(&mut self) {
        self.inline = Inline::new(self.size).with_reflow(self.inline.reflow);
        self.full = None;
        self.linear = self.linear.take().map(|_| Linear::default());
    }

    /// Removes the live region and leaves the cursor where it began, so that a shell or an editor can take over. The
    /// next frame begins at the row of the cursor.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn release(&mut self) -> io::Result<()> {
        let mut bytes = String::new();
        if let Some(linear) = &mut self.linear {
            linear.end_line(&mut bytes);
            return self.signal(&bytes);
        }
        if self.full.take().is_some() {
            bytes.push_str(LEAVE_FULL);
            self.inline.invalidate();
        }
        let finished = std::mem::take(&mut self.waiting);
        self.inline.draw(&finished, &Frame::default(), &mut bytes);
        bytes.push_str(SHOW_CARET);
        self.inline = Inline::new(self.size).with_reflow(self.inline.reflow);
        self.write(&bytes)
    }

    /// Writes a sequence that changes no cell, such as OSC 52 or a bell.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn signal(&mut self, sequence: &str) -> io::Result<()> {
        if sequence.is_empty() {
            return Ok(());
        }
        self.out.write_all(sequence.as_bytes())?;
        self.out.flush()
    }

    /// Returns the writer.
    pub const fn out(&self) -> &W {
        &self.out
    }

    /// Returns the writer to change it.
    pub const fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    fn write(&mut self, bytes: &str) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let update = format!("{UPDATE}{bytes}{UPDATED}");
        self.out.write_all(update.as_bytes())?;
        self.out.flush()
    }
}

/// Moves the cursor by rows and puts it into the first column.
///
/// Down by line feeds, because `ESC[B` stops at the last row of the screen: a terminal that got lower has dropped the rows
/// below the cursor, and the program may not know yet. It would count rows that the cursor did not move, and later go up
/// that much too far, into finished rows. A line feed makes the row that is missing.
fn move_rows(from: usize, to: usize, bytes: &mut String) {
    bytes.push('\r');
    match to.cmp(&from) {
        std::cmp::Ordering::Less => bytes.push_str(&format!("\u{1b}[{}A", from - to)),
        std::cmp::Ordering::Greater => bytes.push_str(&"\n".repeat(to - from)),
        std::cmp::Ordering::Equal => {}
    }
}

#[cfg(test)]
mod tests;
