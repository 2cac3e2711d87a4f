//! The state of the screen.
//!
//! Items of the session, replies and keys go in; [`App::frame`] says what to show and [`App::effects`] what to do. Pure
//! code: the time is a parameter, and all I/O is an [`AppEffect`]. Invariants: a message that was submitted is in an
//! effect, in the list of messages that wait for the session, or again in the draft; no effect answers a question
//! unless the user focused it.

mod commands;
mod facts;
mod keys;
mod layout;
mod linear;
mod replies;
mod session_list;

use std::time::Duration;

use lariat_api::{Action, Delivery, Problem, PromptContent, SessionView};
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, text};

use crate::asks::Asks;
use crate::composer::{CommandHint, Composer, Request};
use crate::feed::FeedItem;
use crate::frame::Size;
use crate::keymap::Keymap;
use crate::overlay::Overlay;
use crate::pages::Page;
use crate::slash;
use crate::status;
use crate::transcript::{Detail, Transcript};
use facts::{Connection, Facts};

/// What the client does for the application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AppEffect {
    /// Sends a command to the session; the result goes to `App::sent`.
    Send(Action),
    /// Reads the view, for [`App::view`]. Several in a row are one.
    Refresh,
    /// Ends the program.
    Quit,
    /// Ends the program and leaves the run to its host.
    Detach,
    /// Suspends the program, as Ctrl-Z does in a shell.
    Suspend,
    /// Draws everything again.
    Redraw,
    /// Opens the draft in an editor; the result goes to [`App::edited`].
    OpenEditor(String),
    /// Copies a text to the clipboard, by OSC 52.
    Copy(String),
    /// Notifies the user, who is in another window.
    Notify(String),
    /// Keeps the draft on disk.
    SaveDraft,
    /// Saves the image in the clipboard, for [`App::image`].
    PasteImage,
    /// Adds a message to the history on disk.
    Remember(String),
    /// Finds completions; they go to [`App::completed`].
    Complete(Request),
    /// The user chose this file.
    Chosen(String),
    /// Lists sessions with these words, for [`App::sessions`].
    ListSessions {
        /// Words that must occur; all sessions without it.
        text: Option<String>,
    },
    /// Follows another session.
    OpenSession(SessionId),
    /// Creates a session in the same directory and follows it.
    NewSession,
    /// Copies this session and follows the copy.
    Fork,
    /// Reads what fills the context window, for [`App::context`].
    Context,
    /// Reads what changed in files, for [`App::diff`].
    Diff,
    /// Reads events that are not shown and renders them for this theme, for [`App::earlier`].
    Earlier(Theme),
    /// Asks the program for a page, for [`App::show_page`] or [`App::lacks_page`].
    Page(Page),
}

/// What the application knows from the start.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the terminal can show. The width is that of the frame.
    pub theme: Theme,
    /// The keys.
    pub keymap: Keymap,
    /// Whether to edit with vim keys.
    pub vim: bool,
    /// Messages that were sent before, oldest first.
    pub history: Vec<String>,
    /// The draft that an earlier run of the program left.
    pub draft: String,
    /// Whether runs continue when this program ends.
    pub runs_go_on: bool,
    /// The working directory.
    pub directory: String,
    /// The branch that is checked out; empty if none is.
    pub branch: String,
    /// What confines commands, for the status line; empty to show nothing.
    pub sandbox: String,
    /// Whether commands run in a sandbox.
    pub is_confined: bool,
    /// The permission mode of a session that has not changed it.
    pub mode: String,
    /// The items of the status line.
    pub status: Vec<status::Item>,
    /// Whether every change is a printed line, for a screen reader.
    pub is_linear: bool,
    /// The commands of the user and the project, and skills: the host expands them.
    pub commands: Vec<CommandHint>,
}

impl Setup {
    /// Creates a setup with default keys, without history, draft and sandbox.
    pub fn new(theme: Theme, directory: impl Into<String>) -> Self {
        Self {
            theme,
            keymap: Keymap::default(),
            vim: false,
            history: Vec::new(),
            draft: String::new(),
            runs_go_on: false,
            directory: directory.into(),
            branch: String::new(),
            sandbox: String::new(),
            is_confined: false,
            mode: String::new(),
            status: status::default_items(),
            is_linear: false,
            commands: Vec::new(),
        }
    }
}

/// What a key that was pressed just now arms: the same key again does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArmedKey {
    /// Quits.
    Quit,
    /// Opens the list of messages to rewind to.
    Rewind,
}

/// How long the screen shows a notice. A warning stays longer.
const NOTICE: Duration = Duration::from_secs(8);

/// A line above the draft.
#[derive(Clone, Debug)]
struct Notice {
    style: Style,
    words: String,
    /// When it goes away by itself; a warning stays until the next message or Esc.
    until: Option<Timestamp>,
}

/// What an overlay is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Purpose {
    /// To read.
    Read,
    /// To open one of all sessions.
    Session,
    /// To open a sub-agent or a fork of the session.
    Child,
    /// To rewind to a message.
    Rewind,
    /// To select what to rewind.
    RewindParts {
        /// The message to rewind to.
        to: String,
    },
    /// To move a queued message into the draft.
    Queue,
    /// To change the permission mode.
    Mode,
    /// To compact the conversation.
    Compact { focus: Option<String> },
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    setup: Setup,
    facts: Facts,
    transcript: Transcript,
    composer: Composer,
    asks: Asks,
    overlay: Option<(Purpose, Overlay)>,
    notice: Option<Notice>,
    /// The time of the newest input.
    now: Timestamp,
    armed: Option<ArmedKey>,
    effects: Vec<AppEffect>,
    /// Rows of the application itself that go to the scrollback.
    finished: Vec<String>,
    /// Commands that wait until the session is open.
    unsent: Vec<Action>,
    /// The start of the id of a session to open once the list is there.
    resume: Option<String>,
    /// Whether the window has the focus.
    has_focus: bool,
    is_full_screen: bool,
    detail: Detail,
    /// The rows of the state that a screen reader has got.
    spoken: Vec<String>,
    /// Whether the user folded the task list.
    hides_tasks: bool,
    /// In full screen: rows of the transcript below the window.
    scroll: usize,
    size: Size,
}

impl App {
    /// Creates the state before the session is open.
    pub fn new(setup: Setup) -> Self {
        let mut composer = Composer::new(setup.history.clone());
        composer.set_keymap(setup.keymap.clone());
        composer.set_commands(command_hints(&setup));
        composer.set_vim(setup.vim);
        if !setup.draft.is_empty() {
            composer.set_draft(&setup.draft);
        }
        Self {
            asks: Asks::new(setup.is_confined),
            facts: Facts::default(),
            transcript: Transcript::new(),
            composer,
            overlay: None,
            notice: None,
            now: Timestamp::default(),
            armed: None,
            effects: Vec::new(),
            finished: Vec::new(),
            unsent: Vec::new(),
            resume: None,
            has_focus: true,
            is_full_screen: false,
            detail: Detail::default(),
            spoken: Vec::new(),
            hides_tasks: false,
            scroll: 0,
            size: Size { columns: setup.theme.width, rows: 24 },
            setup,
        }
    }

    /// Takes what the client has to do, in order.
    pub fn effects(&mut self) -> Vec<AppEffect> {
        std::mem::take(&mut self.effects)
    }

    /// The draft in full.
    pub fn draft(&self) -> String {
        self.composer.draft()
    }

    /// Whether a run is active.
    pub const fn is_running(&self) -> bool {
        self.facts.is_running()
    }

    /// The number of questions that wait.
    pub const fn asks(&self) -> usize {
        self.asks.len()
    }

    /// The session is open. What was submitted meanwhile is sent now.
    pub fn opened(&mut self, view: SessionView, now: Timestamp) {
        self.facts.connection = Connection::Reading;
        self.view(view, now);
        self.effects.extend(self.unsent.drain(..).map(AppEffect::Send));
    }

    /// Another session takes the place. The draft stays.
    pub fn switch(&mut self) {
        self.transcript = Transcript::new();
        self.asks = Asks::new(self.setup.is_confined);
        self.facts = Facts::default();
        self.scroll = 0;
        let theme = self.theme();
        let line = theme.mark("─", "-").repeat(theme.width.min(40));
        self.finished.push(theme.paint(Style::Dim, &line));
    }

    /// The session, once it is open.
    pub fn session(&self) -> Option<&SessionView> {
        self.facts.view.as_ref()
    }

    /// Includes an item of the feed.
    pub fn item(&mut self, item: FeedItem, now: Timestamp) {
        self.now = now;
        match item {
            FeedItem::Durable(event) => {
                self.transcript.apply(&event);
                self.facts.durable(&event);
                self.asks.event(&event.event, now);
                if self.facts.connection == Connection::Synced {
                    self.effects.push(AppEffect::Refresh);
                    if matches!(event.event, AgentEvent::AgentEnd { .. }) {
                        self.call("the run ended");
                    }
                }
            }
            FeedItem::Live(event) => {
                self.transcript.apply_live(&event);
                self.facts.live(&event);
            }
            FeedItem::Resync => self.transcript.resync(),
            FeedItem::Synced | FeedItem::Restored => {
                if self.facts.connection == Connection::Lost {
                    self.say(Style::Good, "connected again");
                }
                self.facts.connection = Connection::Synced;
                self.effects.push(AppEffect::Refresh);
            }
            FeedItem::Skipped { events } => {
                self.facts.skipped = events;
                let theme = self.theme();
                self.finished.push(not_shown(events, &theme));
            }
            // The status line says so until the connection is back; the reason is shown once.
            FeedItem::Lost { .. } if self.facts.connection == Connection::Lost => {}
            FeedItem::Lost { message, .. } => {
                self.facts.connection = Connection::Lost;
                self.say(Style::Warning, &format!("connection lost: {message}"));
            }
            FeedItem::Ended(problem) => {
                self.facts.connection = Connection::Lost;
                self.problem(&problem);
            }
        }
    }

    /// Includes a view that the client read.
    ///
    /// A view that is older than the events is left out: each durable event asks for another one.
    pub fn view(&mut self, view: SessionView, now: Timestamp) {
        self.now = now;
        if view.seq < self.facts.seq() {
            return;
        }
        let is_new = self.asks.set(view.asks.clone(), view.plan.changes.clone(), now);
        if is_new {
            self.call("the agent asks you");
        }
        self.facts.include(view, now);
    }

    /// Whether the window of the terminal has the focus.
    pub const fn focus(&mut self, has_focus: bool) {
        self.has_focus = has_focus;
    }

    /// How long what is shown stays true without another event: to the next second of a run, to the end of a notice.
    pub fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        if self.setup.is_linear {
            return None;
        }
        let second = self.facts.elapsed(now).filter(|_| self.setup.theme.motion).map(|elapsed| {
            let part = u64::from(elapsed.subsec_millis());
            Duration::from_millis(1_000_u64.saturating_sub(part).max(1))
        });
        let notice = self.notice.as_ref().and_then(|notice| notice.until).map(|until| until.since(now));
        [second, notice].into_iter().flatten().min()
    }

    fn theme(&self) -> Theme {
        Theme { width: self.size.columns, ..self.setup.theme }
    }

    fn say(&mut self, style: Style, words: &str) {
        let is_warning = matches!(style, Style::Warning | Style::Bad);
        let until = (!is_warning).then(|| self.now.after(NOTICE));
        self.notice = Some(Notice { style, words: text::line(words), until });
    }

    fn problem(&mut self, problem: &Problem) {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        self.say(Style::Bad, &format!("{}{hint}", problem.message));
    }

    fn call(&mut self, words: &str) {
        if !self.has_focus {
            let title = self.facts.view.as_ref().and_then(|view| view.title.clone()).unwrap_or_default();
            let words = if title.is_empty() { words.to_owned() } else { format!("{words}: {title}") };
            self.effects.push(AppEffect::Notify(text::line(&words)));
        }
    }

    /// Sends a command, or keeps it until the session is open.
    fn send(&mut self, action: Action) {
        if self.facts.connection == Connection::Connecting {
            self.unsent.push(action);
        } else {
            self.effects.push(AppEffect::Send(action));
        }
    }

    /// Sends a message, as the first prompt of a program that was started with one.
    pub fn prompt(&mut self, words: &str, delivery: Delivery) {
        self.send(Action::Prompt { content: PromptContent::text(words), delivery });
    }
}

/// Says how many earlier events are not shown.
fn not_shown(events: u64, theme: &Theme) -> String {
    let words =
        format!("{} not shown: /pager all", human::counted(events, "earlier event", "earlier events"));
    theme.paint(Style::Dim, &text::cut(&words, theme.width, theme))
}

/// The commands for completion and help. A command of the table hides one of the user with the same name.
fn command_hints(setup: &Setup) -> Vec<CommandHint> {
    let hint = |command: &slash::SlashCommand| CommandHint {
        name: command.name.to_owned(),
        arguments: command.arguments.to_owned(),
        summary: command.summary.to_owned(),
    };
    let is_new = |own: &&CommandHint| slash::COMMANDS.iter().all(|command| command.name != own.name);
    slash::COMMANDS.iter().map(hint).chain(setup.commands.iter().filter(is_new).cloned()).collect()
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
