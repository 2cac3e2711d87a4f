//! The loop: reads keys and items, draws, carries out effects.
//!
//! One task owns the screen and the state. Requests to the session run in tasks of their own and reply over a channel,
//! so that the screen never waits for them. Commands leave in the order in which the user gave them. Invariants: what
//! happens in the session draws at most [`FRAMES_PER_SECOND`] frames in a second, a key draws without waiting for the
//! next of them, nothing is drawn while nothing changes, and the first frame before the session is open; the draft is on
//! disk [`SAVE_DELAY`] after the last key, and when the loop ends.

mod clipboard;
mod input;
mod outbox;
mod requests;
mod signals;
mod work;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{CreateSession, Delivery, Problem, ProblemCode, Sessions};
use lariat_core::id::SessionId;

use crate::app::{App, Setup};
use crate::composer::Suggestion;
use crate::drafts::DraftFile;
use crate::files::FileIndex;
use crate::frame::Size;
use crate::history::History;
pub use crate::machine::Machine;
use crate::pages::Pages;
use crate::screen::modes::{KeyReports, Modes};
use crate::screen::{Reflow, Screen};
use crate::symbols::SymbolIndex;
pub use input::{InputSource, Keyboard};

/// The most frames in a second that no key asked for.
pub const FRAMES_PER_SECOND: u64 = 60;
/// How long after a key the draft is on disk.
pub const SAVE_DELAY: Duration = Duration::from_millis(100);

/// The name of the program in commands.
const CLIENT: &str = "terminal";

/// The session to follow.
#[derive(Clone, Debug)]
pub enum Start {
    /// A new one.
    New {
        /// How to create it.
        create: CreateSession,
        /// The first message.
        prompt: Option<String>,
    },
    /// One that exists.
    Open {
        /// The session.
        session_id: SessionId,
        /// The message to send.
        prompt: Option<String>,
    },
}

/// How the client works.
pub struct Options {
    /// What the application knows from the start. History and draft are read from `data`.
    pub setup: Setup,
    /// The folder for the draft and the history of the project; nothing is kept without it.
    pub data: Option<PathBuf>,
    /// The files that `@` offers.
    pub files: Option<FileIndex>,
    /// The symbols that `@` offers.
    pub symbols: Option<SymbolIndex>,
    /// The resources of MCP servers that `@` offers, as `server:uri`.
    pub resources: Vec<Suggestion>,
    /// Where pages such as the permission rules come from.
    pub pages: Option<Arc<dyn Pages>>,
    /// How the terminal reports keys.
    pub keys: KeyReports,
    /// What the terminal does with its rows when its width changes.
    pub reflow: Reflow,
    /// The machine.
    pub machine: Arc<dyn Machine>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("setup", &self.setup)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

/// How the client ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The session that was followed last, if one was open.
    pub session_id: Option<SessionId>,
    /// Why it ended.
    pub reason: EndReason,
}

/// Why the client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The user quit.
    Quit,
    /// The user left a run that continues.
    Detached,
    /// A signal asked the program to end.
    Signal,
    /// The terminal is gone.
    TerminalClosed,
}

/// Follows a session in the terminal at standard input and output, until the user leaves.
///
/// # Errors
/// If standard input is not a terminal, or the session cannot be opened.
pub async fn run(sessions: Arc<dyn Sessions>, start: Start, options: Options) -> Result<End, Problem> {
    let terminal =
        |error: io::Error| Problem::new(ProblemCode::Invalid, format!("cannot use the terminal: {error}"));
    let modes = Modes::enter(options.keys).map_err(terminal)?;
    let (columns, rows) = crossterm::terminal::size().map_err(terminal)?;
    let size = Size { columns: usize::from(columns), rows: usize::from(rows) };
    let client = Client::new(sessions, options, io::stdout(), Box::new(Keyboard::new(modes)), size);
    Box::pin(client.follow(start)).await
}

/// The client of one terminal.
pub struct Client<W> {
    sessions: Arc<dyn Sessions>,
    app: App,
    screen: Screen<W>,
    input: Box<dyn InputSource>,
    size: Size,
    machine: Arc<dyn Machine>,
    files: Option<FileIndex>,
    symbols: Option<SymbolIndex>,
    resources: Vec<Suggestion>,
    pages: Option<Arc<dyn Pages>>,
    draft: Option<DraftFile>,
    history: Option<History>,
    directory: String,
    runs_go_on: bool,
    state: work::ClientState,
}

impl<W> std::fmt::Debug for Client<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("app", &self.app).finish_non_exhaustive()
    }
}

impl<W: Write> Client<W> {
    /// Creates a client that writes to any terminal, as tests and embedded terminals need.
    pub fn new(
        sessions: Arc<dyn Sessions>,
        options: Options,
        out: W,
        input: Box<dyn InputSource>,
        size: Size,
    ) -> Self {
        let Options { mut setup, data, mut files, symbols, resources, pages, reflow, machine, keys: _ } =
            options;
        let mut draft = data.as_ref().map(|data| DraftFile::new(data.join("draft")));
        let mut history = data.map(|data| History::new(data.join("history")));
        // A file that cannot be read costs the user no session; the next save reports it.
        if let Some(text) = draft.as_mut().and_then(|file| file.load().ok()).filter(|text| !text.is_empty()) {
            setup.draft = text;
        }
        if let Some(messages) = history.as_mut().and_then(|file| file.load().ok()) {
            setup.history = messages;
        }
        if let Some(files) = &mut files {
            files.refresh(Duration::from_millis(machine.now().as_millis()));
        }
        let screen = Screen::new(out, size).with_reflow(reflow);
        let screen = if setup.is_linear { screen.linear() } else { screen };
        Self {
            directory: setup.directory.clone(),
            runs_go_on: setup.runs_go_on,
            app: App::new(setup),
            screen,
            state: work::ClientState::new(Arc::clone(&sessions), Arc::clone(&machine)),
            sessions,
            input,
            size,
            machine,
            files,
            symbols,
            resources,
            pages,
            draft,
            history,
        }
    }

    /// Follows a session until the user leaves.
    ///
    /// # Errors
    /// If the first session cannot be opened.
    pub async fn follow(mut self, start: Start) -> Result<End, Problem> {
        let signals = signals::Signals::new();
        let is_drawn = self.draw();
        let (first, prompt) = match start {
            Start::New { create, prompt } => (requests::Opening::Create(create), prompt),
            Start::Open { session_id, prompt } => (requests::Opening::Existing(session_id), prompt),
        };
        if let Some(prompt) = prompt {
            self.app.prompt(&prompt, Delivery::Steer);
        }
        self.open(first);
        let end = match is_drawn {
            Ok(()) => self.work(signals).await,
            Err(_) => Ok(EndReason::TerminalClosed),
        };
        self.finish(end).await
    }
}
