//! A client with keys from a test and a terminal that a test can read.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use lariat_api::{CreateSession, Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::content::Content;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Theme;
use lariat_tui::app::Setup;
use lariat_tui::client::{Client, End, InputSource, Machine, Options, Start};
use lariat_tui::frame::Size;
use lariat_tui::screen::Reflow;
use lariat_tui::screen::modes::KeyReports;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::fake::{Fake, Host, START};

/// A PNG of 2 × 1 pixels.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// A terminal that several owners can reach.
#[derive(Clone)]
pub(crate) struct Terminal {
    parser: Arc<Mutex<vt100::Parser>>,
    bytes: Arc<AtomicU64>,
    writes: Arc<AtomicU64>,
    text: Arc<Mutex<String>>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("\u{1b}[3J") && !text.contains("\u{1b}[2J"), "{text:?}");
        self.parser.lock().unwrap().process(bytes);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.text.lock().unwrap().push_str(&text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Keys {
    events: mpsc::UnboundedReceiver<Event>,
    terminal: Terminal,
}

impl InputSource for Keys {
    fn next(&mut self) -> BoxFuture<'_, Option<Event>> {
        Box::pin(self.events.recv())
    }

    fn size(&self) -> Option<Size> {
        let (rows, columns) = self.terminal.parser.lock().unwrap().screen().size();
        Some(Size { columns: usize::from(columns.get()), rows: usize::from(rows.get()) })
    }

    fn pause(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A machine whose clock is that of the test.
struct Clockwork {
    start: Instant,
    ids: AtomicU64,
}

impl Machine for Clockwork {
    fn now(&self) -> Timestamp {
        START.after(self.start.elapsed())
    }

    fn fresh_id(&self) -> String {
        format!("id-{}", self.ids.fetch_add(1, Ordering::SeqCst))
    }

    fn suspend(&self) {}

    fn edit<'a>(&'a self, draft: &'a str) -> BoxFuture<'a, io::Result<String>> {
        Box::pin(async move { Ok(format!("{draft} (edited)\n")) })
    }

    /// `small.png` is an image, and `large.png` too large.
    fn read_image<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Content>, Problem>> {
        let image = match path {
            "small.png" => {
                Ok(Some(Content::Image { data: PIXEL.to_owned(), mime_type: "image/png".to_owned() }))
            }
            "large.png" => Err(Problem::new(ProblemCode::Invalid, "the image is too large")),
            _ => Ok(None),
        };
        Box::pin(async move { image })
    }

    fn paste_image(&self) -> BoxFuture<'_, Result<Option<String>, Problem>> {
        Box::pin(async { Ok(Some("small.png".to_owned())) })
    }
}

/// A client at work.
pub(crate) struct Running {
    pub(crate) terminal: Terminal,
    size: Size,
    keys: mpsc::UnboundedSender<Event>,
    task: JoinHandle<Result<End, Problem>>,
}

fn cells(number: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(number).unwrap()).unwrap()
}

impl Running {
    /// Starts a client in a terminal of this size.
    pub(crate) fn start(fake: &Arc<Fake>, columns: usize, rows: usize) -> Self {
        Self::start_with(fake, columns, rows, |_| {})
    }

    /// Starts a client with other options.
    pub(crate) fn start_with(
        fake: &Arc<Fake>,
        columns: usize,
        rows: usize,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let parser = vt100::Parser::new(cells(rows), cells(columns), 100_000);
        let terminal = Terminal {
            parser: Arc::new(Mutex::new(parser)),
            bytes: Arc::new(AtomicU64::new(0)),
            writes: Arc::new(AtomicU64::new(0)),
            text: Arc::default(),
        };
        let (keys, events) = mpsc::unbounded_channel();
        let mut setup = Setup::new(Theme::plain(columns), "/srv/me/project");
        setup.branch = "main".to_owned();
        setup.sandbox = "landlock".to_owned();
        setup.is_confined = true;
        let mut options = Options {
            setup,
            data: None,
            files: None,
            symbols: None,
            resources: Vec::new(),
            pages: None,
            keys: KeyReports::Plain,
            reflow: Reflow::Cuts,
            machine: Arc::new(Clockwork { start: Instant::now(), ids: AtomicU64::new(0) }),
        };
        change(&mut options);
        let size = Size { columns, rows };
        let host = Arc::new(Host(Arc::clone(fake)));
        let input = Keys { events, terminal: terminal.clone() };
        let client = Client::new(host, options, terminal.clone(), Box::new(input), size);
        let create = CreateSession::new(SessionId::new("session-1"), "/srv/me/project");
        let task = tokio::spawn(client.follow(Start::New { create, prompt: None }));
        Self { terminal, size, keys, task }
    }

    /// Lets everything happen that is due within this time.
    pub(crate) async fn passes(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    pub(crate) async fn settles(&self) {
        self.passes(Duration::from_millis(100)).await;
    }

    pub(crate) fn event(&self, event: Event) {
        self.keys.send(event).unwrap();
    }

    pub(crate) fn press(&self, code: KeyCode, modifiers: KeyModifiers) {
        self.event(Event::Key(KeyEvent::new(code, modifiers)));
    }

    pub(crate) fn key(&self, code: KeyCode) {
        self.press(code, KeyModifiers::NONE);
    }

    pub(crate) fn types(&self, text: &str) {
        for letter in text.chars() {
            self.key(KeyCode::Char(letter));
        }
    }

    /// Resizes the terminal. The event is still on its way.
    pub(crate) fn resize_terminal(&mut self, columns: usize, rows: usize) {
        self.size = Size { columns, rows };
        self.terminal.parser.lock().unwrap().screen_mut().set_size(cells(rows), cells(columns));
    }

    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.resize_terminal(columns, rows);
        self.event(Event::Resize(u16::try_from(columns).unwrap(), u16::try_from(rows).unwrap()));
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.terminal.bytes.load(Ordering::SeqCst)
    }

    /// Everything that was written.
    pub(crate) fn written(&self) -> String {
        self.terminal.text.lock().unwrap().clone()
    }

    pub(crate) fn writes(&self) -> u64 {
        self.terminal.writes.load(Ordering::SeqCst)
    }

    /// The screen with the caret as `▏`, rows without spaces at their ends.
    pub(crate) fn screen(&self) -> String {
        let parser = self.terminal.parser.lock().unwrap();
        let screen = parser.screen();
        let (row, column) = screen.cursor_position();
        let columns = u16::try_from(self.size.columns).unwrap();
        let mut rows: Vec<String> = screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        if !screen.hide_cursor() {
            let before = screen.contents_between(row, 0, row, column);
            let after = screen.contents_between(row, column, row, columns);
            let pad = usize::from(column).saturating_sub(before.chars().count());
            rows[usize::from(row)] = format!("{before}{}▏{}", " ".repeat(pad), after.trim_end());
        }
        rows.join("\n").trim_end().to_owned()
    }

    /// The scrollback and the screen.
    pub(crate) fn all(&self) -> Vec<String> {
        let mut parser = self.terminal.parser.lock().unwrap();
        let columns = u16::try_from(self.size.columns).unwrap();
        let length = parser.screen().scrollback_len();
        let mut all = Vec::new();
        for offset in (1..=length).rev() {
            parser.screen_mut().set_scrollback(offset);
            all.push(parser.screen().rows(0, columns).next().unwrap_or_default().trim_end().to_owned());
        }
        parser.screen_mut().set_scrollback(0);
        all.extend(parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()));
        all
    }

    pub(crate) async fn ends(self) -> Result<End, Problem> {
        self.task.await.unwrap()
    }

    /// Compares the screen with the stored one.
    #[track_caller]
    pub(crate) fn looks_like(&self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let name = format!("{name}_{}x{}", self.size.columns, self.size.rows);
        settings.bind(|| insta::assert_snapshot!(name, self.screen()));
    }
}
