//! Handles keys and pasted text.
//!
//! Order: an open overlay, then a focused question, then the composer, then the keys of the session.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use lariat_api::{Action, Delivery, Edit, QueuedMessage};
use lariat_core::content;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Style;

use super::{App, AppEffect, ArmedKey, Purpose};
use crate::asks;
use crate::composer::{Kind, Outcome};
use crate::keymap::{Action as KeyAction, Scope};
use crate::overlay::OverlayOutcome;
use crate::slash::{self, SubmittedText};
use crate::transcript::Detail;

/// The permission modes that a key switches between. Others must be named.
pub(super) const MODES: [&str; 4] = ["default", "accept-edits", "plan", "auto"];

impl App {
    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent, now: Timestamp) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.now = now;
        let armed = self.armed.take();
        if self.overlay.is_some() {
            self.overlay_key(key);
            return;
        }
        let action = self.setup.keymap.action(Scope::Session, &key);
        if action == Some(KeyAction::FocusAsk) && !self.asks.is_empty() {
            self.asks.toggle_focus();
            return;
        }
        if self.asks.is_focused() {
            match self.asks.key(key, now) {
                asks::Outcome::Answer(answer) => self.send(answer),
                asks::Outcome::Changed => {}
                asks::Outcome::Unused => self.window_key(action),
            }
            return;
        }
        let is_help = action == Some(KeyAction::Help) && key.code == KeyCode::Char('?');
        if self.composer.is_empty() && (is_help || action == Some(KeyAction::Quit)) {
            self.session_key(action, key, armed, now);
            return;
        }
        if key.code == KeyCode::Up && key.modifiers == KeyModifiers::ALT {
            self.unqueue(None);
            return;
        }
        if self.is_full_screen && self.scroll_key(key) {
            return;
        }
        match self.composer.key(key) {
            Outcome::Unused => self.session_key(action, key, armed, now),
            Outcome::Changed => self.effects.push(AppEffect::SaveDraft),
            Outcome::Ask(request) => {
                self.effects.extend([AppEffect::SaveDraft, AppEffect::Complete(request)]);
            }
            Outcome::Chose(path) => self.effects.extend([AppEffect::SaveDraft, AppEffect::Chosen(path)]),
            Outcome::Submit { text, queue } => self.submit(&text, queue, now),
            Outcome::PasteImage => self.effects.push(AppEffect::PasteImage),
            Outcome::OpenEditor => self.effects.push(AppEffect::OpenEditor(self.composer.draft())),
        }
    }

    /// Handles pasted text.
    pub fn paste(&mut self, text: &str) {
        self.armed = None;
        if let Some((_, overlay)) = &mut self.overlay {
            overlay.paste(text);
        } else if !self.asks.paste(text) {
            self.composer.paste(text);
            self.effects.push(AppEffect::SaveDraft);
        }
    }

    fn overlay_key(&mut self, key: KeyEvent) {
        let Some((purpose, overlay)) = &mut self.overlay else { return };
        let purpose = purpose.clone();
        match overlay.key(key) {
            OverlayOutcome::Unused | OverlayOutcome::Changed => {}
            OverlayOutcome::Closed => self.overlay = None,
            OverlayOutcome::Confirmed => {
                self.overlay = None;
                if let Purpose::Compact { focus } = purpose {
                    self.facts.start_compaction(self.now);
                    self.send(Action::Compact { focus });
                }
            }
            OverlayOutcome::Copy(text) => self.effects.push(AppEffect::Copy(text)),
            OverlayOutcome::Chosen(id) => {
                self.overlay = None;
                self.chosen(&purpose, &id);
            }
        }
    }

    fn chosen(&mut self, purpose: &Purpose, id: &str) {
        match purpose {
            Purpose::Read | Purpose::Compact { .. } => {}
            Purpose::Session | Purpose::Child => self.effects.push(AppEffect::OpenSession(id.into())),
            Purpose::Rewind => self.pick_rewind_parts(id),
            Purpose::RewindParts { to } => self.rewind_to(to, id),
            Purpose::Queue => self.unqueue(Some(id)),
            Purpose::Mode => self.send(Action::SetMode { mode: id.to_owned() }),
        }
    }

    /// Keys that work whatever has the focus.
    fn window_key(&mut self, action: Option<KeyAction>) {
        match action {
            Some(KeyAction::Suspend) => self.effects.push(AppEffect::Suspend),
            Some(KeyAction::Redraw) => self.effects.push(AppEffect::Redraw),
            Some(KeyAction::FullScreen) => self.toggle_full_screen(),
            _ => {}
        }
    }

    fn session_key(
        &mut self,
        action: Option<KeyAction>,
        key: KeyEvent,
        armed: Option<ArmedKey>,
        now: Timestamp,
    ) {
        match action {
            Some(KeyAction::Cancel) if !self.composer.is_empty() => {
                self.effects.extend([AppEffect::Remember(self.composer.draft()), AppEffect::SaveDraft]);
                self.composer.clear();
            }
            Some(KeyAction::Cancel) => self.quit_key(armed, true),
            Some(KeyAction::Quit) => self.quit_key(armed, false),
            Some(KeyAction::NextMode) => self.next_mode(),
            Some(KeyAction::Details) => self.toggle_detail(),
            Some(KeyAction::Tasks) => self.hides_tasks = !self.hides_tasks,
            Some(KeyAction::Pager) => self.open_pager(),
            Some(KeyAction::EditQueue) => self.open_queue(),
            Some(KeyAction::Help) => self.open_help(),
            _ if key.code == KeyCode::Esc => self.escape(armed),
            _ if key.code == KeyCode::Tab && self.is_running() && !self.composer.is_empty() => {
                let queue = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
                if let Outcome::Submit { text, .. } = self.composer.key(queue) {
                    self.submit(&text, true, now);
                }
            }
            _ => self.window_key(action),
        }
    }

    /// Ctrl-C, which always asks first, and Ctrl-D, which asks if quitting stops a run.
    fn quit_key(&mut self, armed: Option<ArmedKey>, asks_first: bool) {
        let stops = self.is_running() && !self.setup.runs_go_on;
        if armed == Some(ArmedKey::Quit) || (!asks_first && !stops) {
            self.effects.push(AppEffect::Quit);
        } else {
            self.armed = Some(ArmedKey::Quit);
        }
    }

    /// What the hint row says while a second key would quit.
    pub(super) fn quit_words(&self) -> &'static str {
        match (self.is_running(), self.setup.runs_go_on) {
            (true, false) => "press again to quit; this stops the run",
            (true, true) => "press again to quit; the run continues in the background",
            _ => "press again to quit",
        }
    }

    fn escape(&mut self, armed: Option<ArmedKey>) {
        self.notice = None;
        if self.is_running() {
            self.send(Action::Interrupt);
        } else if armed == Some(ArmedKey::Rewind) {
            self.open_rewind();
        } else if self.composer.is_empty() {
            self.armed = Some(ArmedKey::Rewind);
        }
    }

    fn next_mode(&mut self) {
        let mode = self.mode();
        let place = MODES.iter().position(|name| *name == mode).map_or(0, |place| place + 1);
        if let Some(next) = MODES.get(place % MODES.len()) {
            self.send(Action::SetMode { mode: (*next).to_owned() });
        }
    }

    pub(super) fn toggle_full_screen(&mut self) {
        if self.setup.is_linear {
            self.say(Style::Dim, "a screen reader has no full screen");
            return;
        }
        self.is_full_screen = !self.is_full_screen;
        self.scroll = 0;
    }

    fn toggle_detail(&mut self) {
        if self.setup.is_linear {
            return self.open_pager();
        }
        self.detail = if self.detail == Detail::Folded { Detail::Full } else { Detail::Folded };
        // Rows in the scrollback stay as they are, so details are shown in full screen.
        self.is_full_screen |= self.detail == Detail::Full;
    }

    fn scroll_key(&mut self, key: KeyEvent) -> bool {
        let page = self.size.rows.saturating_sub(6).max(1);
        match (key.code, key.modifiers) {
            (KeyCode::PageUp, _) => self.scroll = self.scroll.saturating_add(page),
            (KeyCode::PageDown, _) => self.scroll = self.scroll.saturating_sub(page),
            (KeyCode::Up, KeyModifiers::SHIFT) => self.scroll = self.scroll.saturating_add(1),
            (KeyCode::Down, KeyModifiers::SHIFT) => self.scroll = self.scroll.saturating_sub(1),
            (KeyCode::End, KeyModifiers::SHIFT) => self.scroll = 0,
            (KeyCode::Home, KeyModifiers::SHIFT) => self.scroll = usize::MAX,
            _ => return false,
        }
        true
    }

    /// A submitted draft: a message, a note or a command.
    fn submit(&mut self, text: &str, queue: bool, now: Timestamp) {
        self.notice = None;
        let done = match slash::parse(text) {
            SubmittedText::Message("" | "!") => return,
            SubmittedText::Message(line) if self.composer.kind() == Kind::Shell => {
                let command = line.trim_start_matches('!').trim().to_owned();
                self.send(Action::Shell { command });
                self.scroll = 0;
                Ok(None)
            }
            SubmittedText::Message(note) if self.composer.kind() == Kind::Note => {
                let text = note.trim_start_matches('#').trim().to_owned();
                self.send(Action::Learn { text });
                Ok(None)
            }
            SubmittedText::Message(words) => {
                let delivery = if queue { Delivery::Queue } else { Delivery::Steer };
                self.prompt(words, delivery);
                self.scroll = 0;
                Ok(None)
            }
            SubmittedText::Command(verb, arguments) => self.run_command(verb, arguments, now),
            SubmittedText::Unknown(name) if self.has_own_command(name) => {
                let delivery = if queue { Delivery::Queue } else { Delivery::Steer };
                self.prompt(text.trim(), delivery);
                self.scroll = 0;
                Ok(None)
            }
            SubmittedText::Unknown(name) => {
                Err(format!("unknown command `/{name}`; `/help` lists them, `//` sends a slash"))
            }
            SubmittedText::Refused(why) => Err(why),
        };
        match done {
            Ok(draft) => {
                self.composer.sent();
                if let Some(draft) = draft {
                    self.composer.set_draft(&draft);
                }
                self.effects.extend([AppEffect::Remember(text.to_owned()), AppEffect::SaveDraft]);
            }
            Err(why) => self.say(Style::Warning, &why),
        }
    }

    /// Whether the host knows this command: one of the user, the project or a skill.
    fn has_own_command(&self, name: &str) -> bool {
        self.setup.commands.iter().any(|own| own.name == name || own.name.ends_with(&format!(":{name}")))
    }

    /// Moves a queued message into the draft: the newest, or the one with this id.
    pub(super) fn unqueue(&mut self, id: Option<&str>) {
        let is_it = |queued: &&QueuedMessage| id.is_none_or(|id| queued.message_id.to_string() == id);
        let Some(queued) = self.facts.queue().iter().rev().find(is_it) else {
            self.say(Style::Dim, "no message waits");
            return;
        };
        let (message_id, words) = (queued.message_id, content::joined_text(&queued.content.0));
        let draft = self.composer.draft();
        let draft = if draft.is_empty() { words } else { format!("{words}\n{draft}") };
        self.composer.set_draft(&draft);
        self.facts.unqueue(message_id);
        self.send(Action::EditQueue { edit: Edit::Remove { message_id } });
        self.effects.push(AppEffect::SaveDraft);
    }
}
