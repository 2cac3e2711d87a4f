//! Places the parts of the screen.
//!
//! From top to bottom: what is not finished of the transcript, the tasks of the agent, the question, the queue, a notice,
//! the composer, a row of hints, the status line. In a low terminal, the transcript gives way first, then the question;
//! the draft and the status line always have a row.

use lariat_api::Delivery;
use lariat_core::content;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{finished_call, text};

use super::{App, ArmedKey, Notice};
use crate::frame::{Caret, Frame, Size};
use crate::keymap::Action as KeyAction;
use crate::overlay::Overlay;
use crate::status::Status;

/// From this height on, there is a row of hints.
const HINT_HEIGHT: usize = 7;
/// From this height on, an empty row separates the transcript from the rest.
const GAP_HEIGHT: usize = 14;
/// Rows of the agent's tasks.
const TASK_ROWS: usize = 6;
/// Rows of a list to pick from.
const PICKER_ROWS: usize = 16;

impl App {
    /// Says what to show in a terminal of this size.
    pub fn frame(&mut self, size: Size, now: Timestamp) -> Frame {
        self.size = size;
        self.now = now;
        if self.notice.as_ref().and_then(|notice| notice.until).is_some_and(|until| until <= now) {
            self.notice = None;
        }
        if self.setup.is_linear {
            return self.linear_frame(now);
        }
        let theme = self.theme();
        let mut finished = std::mem::take(&mut self.finished);
        finished.extend(self.transcript.take_finished(&theme));
        if let Some((_, overlay)) = &mut self.overlay {
            let is_full_screen =
                self.is_full_screen || !matches!(overlay, Overlay::Picker(_) | Overlay::Confirm(_));
            let rows =
                if is_full_screen { size.rows } else { size.rows.saturating_sub(1).clamp(1, PICKER_ROWS) };
            let (mut live, caret) = overlay.rows(&theme, Size { rows, ..size });
            if !is_full_screen {
                live.push(self.status(&theme, now));
            }
            return Frame { finished, live, caret, is_full_screen };
        }
        let (bottom, caret) = self.bottom(&theme, now);
        let room = size.rows.saturating_sub(bottom.len());
        let mut live = if self.is_full_screen {
            self.window(&theme, room)
        } else {
            self.transcript.live_rows(&theme, now, room)
        };
        let caret = Some(Caret { row: caret.row + live.len(), ..caret });
        live.extend(bottom);
        Frame { finished, live, caret, is_full_screen: self.is_full_screen }
    }

    /// The part of the transcript that full screen shows: exactly `room` rows.
    fn window(&mut self, theme: &Theme, room: usize) -> Vec<String> {
        let rows = self.transcript.rows(theme, self.detail);
        let below = self.scroll.min(rows.len().saturating_sub(room));
        let end = rows.len() - below;
        let shown = rows.get(end.saturating_sub(room)..end).unwrap_or_default();
        let mut window = vec![String::new(); room.saturating_sub(shown.len())];
        window.extend(shown.iter().cloned());
        self.scroll = below;
        window
    }

    /// Everything below the transcript, with the caret.
    fn bottom(&mut self, theme: &Theme, now: Timestamp) -> (Vec<String>, Caret) {
        let height = self.size.rows;
        let has_hint = height >= HINT_HEIGHT;
        let has_gap = height >= GAP_HEIGHT;
        let fixed = 1 + usize::from(has_hint) + usize::from(has_gap);
        let composer_room = if self.asks.is_empty() { height / 2 } else { height / 4 };
        let (draft, draft_caret) = self.composer.rows(theme, composer_room.max(1));
        let mut room = height.saturating_sub(fixed + draft.len());

        let notice = self.notice_rows(theme, room.min(3));
        room = room.saturating_sub(notice.len());
        let queue = self.queue_rows(theme, room.min(if has_gap { 4 } else { 1 }));
        room = room.saturating_sub(queue.len());
        let key = self.setup.keymap.hint(KeyAction::FocusAsk);
        let (ask, ask_caret) = self.asks.rows(theme, &key, room);

        room = room.saturating_sub(ask.len());

        let mut rows = Vec::new();
        if has_gap {
            rows.push(String::new());
        }
        rows.extend(self.task_rows(theme, (room / 3).min(TASK_ROWS)));
        let ask_caret = ask_caret.map(|caret| Caret { row: caret.row + rows.len(), ..caret });
        rows.extend(ask);
        rows.extend(queue);
        rows.extend(notice);
        let draft_caret = Caret { row: draft_caret.row + rows.len(), ..draft_caret };
        rows.extend(draft);
        if has_hint {
            rows.push(self.hint(theme));
        }
        rows.push(self.status(theme, now));
        (rows, ask_caret.unwrap_or(draft_caret))
    }

    /// The tasks of the agent while a run is active. Tasks that are done give way first.
    pub(super) fn task_rows(&self, theme: &Theme, most: usize) -> Vec<String> {
        let tasks = self.facts.tasks();
        if self.hides_tasks || !self.is_running() || most == 0 {
            return Vec::new();
        }
        let first_open = tasks.iter().position(|task| !task.is_completed()).unwrap_or_default();
        let first = first_open.min(tasks.len().saturating_sub(most));
        let rest = tasks.get(first..).unwrap_or_default();
        // A last row says how many more there are, if there is room for more than the first.
        let shown = if rest.len() > most && most > 1 { most - 1 } else { most };
        let mut rows: Vec<String> = rest
            .iter()
            .take(shown)
            .map(|task| finished_call::task(&task.content, &task.status, theme))
            .collect();
        if rest.len() > shown && most > 1 {
            let words = format!("  {} {} more", theme.mark("…", "..."), rest.len() - shown);
            rows.push(theme.paint(Style::Dim, &text::cut(&words, theme.width, theme)));
        }
        rows
    }

    fn notice_rows(&self, theme: &Theme, most: usize) -> Vec<String> {
        let Some(Notice { style, words, .. }) = &self.notice else { return Vec::new() };
        text::wrap(words, theme.width).iter().take(most).map(|line| theme.paint(*style, line)).collect()
    }

    pub(super) fn queue_rows(&self, theme: &Theme, most: usize) -> Vec<String> {
        let queue = self.facts.queue();
        let mut rows: Vec<String> = queue
            .iter()
            .map(|queued| {
                let label = if queued.delivery == Delivery::Steer { "steers next: " } else { "queued: " };
                let words = text::first_line(&content::joined_text(&queued.content.0));
                let pieces = [(Style::Dim, label.to_owned()), (Style::Plain, words)];
                text::paint_pieces(&pieces, theme.width, theme)
            })
            .collect();
        if rows.len() > most {
            let hidden = rows.len() - most.saturating_sub(1);
            rows.truncate(most.saturating_sub(1));
            if most > 0 {
                rows.push(theme.paint(Style::Dim, &format!("{hidden} more messages wait")));
            }
        }
        rows
    }

    /// What the keys do now.
    fn hint(&self, theme: &Theme) -> String {
        let key = |action| self.setup.keymap.hint(action);
        let is_paused =
            self.facts.view.as_ref().is_some_and(|view| view.is_queue_paused && !view.queue.is_empty());
        let words = if self.armed == Some(ArmedKey::Quit) {
            return theme.paint(Style::Warning, &text::cut(self.quit_words(), theme.width, theme));
        } else if self.armed == Some(ArmedKey::Rewind) {
            "Esc again to rewind".to_owned()
        } else if self.asks.is_focused() {
            let next = if self.asks.len() > 1 { " · Tab next question" } else { "" };
            format!("Esc returns to the draft · Up and Down scroll{next}")
        } else if self.facts.is_compacting() {
            format!(
                "{} sends after the compaction · {} interrupts it",
                key(KeyAction::Submit),
                key(KeyAction::Interrupt)
            )
        } else if self.is_running() {
            let queue = if self.facts.queue().is_empty() { "" } else { " · Alt+Up edits the queued" };
            format!(
                "{} steers · {} queues · {} interrupts{queue}",
                key(KeyAction::Submit),
                key(KeyAction::Queue),
                key(KeyAction::Interrupt)
            )
        } else if is_paused {
            "the queue is paused: `/queue resume` continues · Alt+Up edits the queued".to_owned()
        } else {
            format!("{} sends · @ file · / command · {} help", key(KeyAction::Submit), key(KeyAction::Help))
        };
        theme.paint(Style::Dim, &text::cut(&words, theme.width, theme))
    }

    /// The permission mode of the session.
    pub(super) fn mode(&self) -> &str {
        let mode = self.facts.view.as_ref().map(|view| view.mode.as_str()).unwrap_or_default();
        if mode.is_empty() { &self.setup.mode } else { mode }
    }

    fn status(&self, theme: &Theme, now: Timestamp) -> String {
        let view = self.facts.view.as_ref();
        let directory = view.and_then(|view| view.directory.as_deref()).unwrap_or(&self.setup.directory);
        let status = Status {
            waits: self.facts.waits(self.asks.len(), now),
            elapsed: self.facts.elapsed(now).filter(|_| theme.motion),
            context: view.map(|view| (view.context.used, view.context.window)).unwrap_or_default(),
            tasks: {
                let tasks = self.facts.tasks();
                (tasks.iter().filter(|task| task.is_completed()).count(), tasks.len())
            },
            run_cost: self.facts.run_cost(),
            cost: view.map(|view| view.usage.cost).unwrap_or_default(),
            mode: self.mode(),
            model: view.map(|view| view.model.name.as_str()).unwrap_or_default(),
            directory,
            branch: &self.setup.branch,
            sandbox: &self.setup.sandbox,
        };
        status.row(&self.setup.status, theme)
    }
}
