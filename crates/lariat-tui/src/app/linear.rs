//! Writes the screen for screen readers: every change as a line, and the draft as the last line.
//!
//! Nothing is drawn twice: a row of the state is printed when it appears or changes. Clocks and output that runs are
//! left out, because a reader would read them again and again.

use lariat_core::time::Timestamp;
use lariat_terminal::text;
use lariat_terminal::theme::{Style, Theme};

use super::{App, ArmedKey, Purpose};
use crate::frame::{Frame, Size};
use crate::keymap::Action as KeyAction;

/// Rows of a question, which is printed once and in full.
const ASK_ROWS: usize = 1_000;
/// Rows of the tasks.
const TASK_ROWS: usize = 100;

impl App {
    /// Says what to print.
    pub(super) fn linear_frame(&mut self, now: Timestamp) -> Frame {
        let theme = self.theme();
        let mut finished = std::mem::take(&mut self.finished);
        finished.extend(self.transcript.take_finished(&theme));
        if let Some((Purpose::Read, overlay)) = &mut self.overlay {
            finished.extend(overlay.text(&theme));
            self.overlay = None;
        }
        let (rows, live) = self.spoken_rows(&theme, now);
        // A view can be ahead of the events: a reader would hear the end of a run before its last words.
        if !self.facts.is_behind() {
            finished.extend(rows.iter().filter(|row| !self.spoken.contains(row)).cloned());
            self.spoken = rows;
        }
        finished.retain(|row| !row.trim().is_empty());
        Frame { finished, live, caret: None, is_full_screen: false }
    }

    /// The rows of the state, and the line that the user types.
    fn spoken_rows(&mut self, theme: &Theme, now: Timestamp) -> (Vec<String>, Vec<String>) {
        let mut rows = self.transcript.running(theme);
        rows.extend(self.task_rows(theme, TASK_ROWS));
        let key = self.setup.keymap.hint(KeyAction::FocusAsk);
        let (mut ask, caret) = self.asks.rows(theme, &key, ASK_ROWS);
        let mut live = Vec::new();
        if let Some(caret) = caret {
            live.extend((caret.row < ask.len()).then(|| ask.remove(caret.row)));
        }
        rows.extend(ask);
        rows.extend(self.queue_rows(theme, usize::MAX));
        rows.extend(self.notice.iter().map(|notice| theme.paint(notice.style, &notice.words)));
        match self.armed {
            Some(ArmedKey::Quit) => rows.push(theme.paint(Style::Warning, self.quit_words())),
            Some(ArmedKey::Rewind) => rows.push("Esc again to rewind".to_owned()),
            None => {}
        }
        let (style, words) = self.facts.waits(self.asks.len(), now).steady_words();
        rows.push(theme.paint(style, &words));
        if let Some((_, overlay)) = &mut self.overlay {
            let (spoken, typed) = overlay.spoken(theme, Size { columns: theme.width, rows: self.size.rows });
            rows.extend(spoken);
            live = typed.into_iter().collect();
        } else if live.is_empty() {
            let (typed, offers) = self.composer.spoken(theme);
            rows.extend(offers);
            live.extend(typed.map(|typed| format!("> {}", text::line(&typed))));
        }
        (rows, live)
    }
}
