//! The loop of the client.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event;
use lariat_api::{Action, CommandId, CreateSession, Problem, ProblemCode, Sessions};
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::outbox::{Outbox, Outgoing};
use super::requests::{self, Opening, Request, RequestReply};
use super::signals::{SignalRequest, Signals};
use super::{Client, End, EndReason, FRAMES_PER_SECOND, Machine, SAVE_DELAY, clipboard};
use crate::app::AppEffect;
use crate::composer::{self, Suggestion};
use crate::feed::{Feed, FeedItem};
use crate::frame::{Frame, Size};
use crate::pages::Page;
use crate::resources;

/// Replies that wait. A request waits with its reply while it is full.
const MAX_REPLIES: usize = 64;
/// Items of the feed that are included before the next look at keys and the clock.
const MAX_ITEMS: usize = 256;
/// Completions that are offered.
const MAX_FILES: usize = 20;
/// How many of them are symbols.
const MAX_SYMBOLS: usize = 8;
/// The least time from a frame to one that a key asked for.
const KEY_FRAME: Duration = Duration::from_millis(2);
/// How long the size must stay the same before the next frame. A terminal that is being resized reports old sizes, and a
/// frame for an old size erases the wrong rows.
const RESIZE_SETTLES: Duration = Duration::from_millis(120);
/// How long the end of the program waits for commands that are on their way.
const LAST_COMMANDS: Duration = Duration::from_secs(2);

/// What the loop needs besides the application and the screen.
pub(super) struct ClientState {
    session_id: Option<SessionId>,
    feed: Option<Feed>,
    outbox: Outbox,
    reply_sender: mpsc::Sender<RequestReply>,
    replies: mpsc::Receiver<RequestReply>,
    /// Whether a request for the view is on its way, and whether another one is wanted after it.
    is_reading_view: bool,
    wants_view: bool,
    /// Keeps the list of sessions up to date while it is open.
    session_watch: Option<JoinSet<()>>,
    /// Whether what is shown may have changed.
    is_dirty: bool,
    /// Whether a key may have changed it: the user waits for that frame.
    is_urgent: bool,
    drawn_at: Option<Instant>,
    /// When the terminal last reported another size.
    resized_at: Option<Instant>,
    /// When the draft must be on disk.
    save_at: Option<Instant>,
}

impl ClientState {
    pub(super) fn new(sessions: Arc<dyn Sessions>, machine: Arc<dyn Machine>) -> Self {
        let (reply_sender, replies) = mpsc::channel(MAX_REPLIES);
        Self {
            session_id: None,
            feed: None,
            outbox: Outbox::new(sessions, machine, reply_sender.clone()),
            reply_sender,
            replies,
            is_reading_view: false,
            wants_view: false,
            session_watch: None,
            is_dirty: false,
            is_urgent: false,
            drawn_at: None,
            resized_at: None,
            save_at: None,
        }
    }
}

/// What woke the loop.
enum WakeReason {
    Draw,
    Save,
    Tick,
    Input(Option<Event>),
    Reply(Option<RequestReply>),
    Item(Option<FeedItem>),
    Signal(SignalRequest),
}

impl<W: Write> Client<W> {
    fn now(&self) -> Timestamp {
        self.machine.now()
    }

    pub(super) fn draw(&mut self) -> io::Result<()> {
        let frame = self.app.frame(self.size, self.machine.now());
        (self.state.is_dirty, self.state.is_urgent) = (false, false);
        self.state.drawn_at = Some(Instant::now());
        if self.input.renew() {
            self.screen.restart();
        }
        self.screen.draw(&frame)
    }

    pub(super) fn open(&self, opening: Opening) {
        self.request(Request::Open(opening));
    }

    fn request(&self, request: Request) {
        requests::start(&self.sessions, request, &self.state.reply_sender);
    }

    /// Works until the client ends.
    pub(super) async fn work(&mut self, mut signals: Signals) -> Result<EndReason, Problem> {
        loop {
            for effect in self.app.effects() {
                if let Some(end) = self.carry_out(effect).await {
                    return Ok(end);
                }
            }
            if !self.app.lists_sessions() {
                self.state.session_watch = None;
            }
            let woken = self.wait(&mut signals).await;
            match woken {
                WakeReason::Draw => {
                    // The event of a resize can be on its way behind keys and items. A frame for the size before would
                    // leave live rows in the scrollback, where no later frame can erase them.
                    if let Some(size) = self.input.size().filter(|size| *size != self.size) {
                        self.resize(size);
                    } else if self.draw().is_err() {
                        return Ok(EndReason::TerminalClosed);
                    }
                    continue;
                }
                WakeReason::Save => {
                    self.save_draft();
                    continue;
                }
                WakeReason::Tick => {}
                WakeReason::Signal(SignalRequest::End) => return Ok(EndReason::Signal),
                WakeReason::Signal(SignalRequest::Suspend) => {
                    if let Some(end) = self.carry_out(AppEffect::Suspend).await {
                        return Ok(end);
                    }
                }
                WakeReason::Input(None) => return Ok(EndReason::TerminalClosed),
                WakeReason::Input(Some(event)) => {
                    self.input(event);
                    self.state.is_urgent = true;
                }
                WakeReason::Reply(Some(reply)) => self.reply(reply)?,
                WakeReason::Reply(None) => {}
                WakeReason::Item(Some(item)) => self.items(item),
                WakeReason::Item(None) => self.state.feed = None,
            }
            self.state.is_dirty = true;
        }
    }

    async fn wait(&mut self, signals: &mut Signals) -> WakeReason {
        let usual = Duration::from_nanos(1_000_000_000 / FRAMES_PER_SECOND);
        let frame = if self.state.is_urgent { KEY_FRAME } else { usual };
        let next = self.state.drawn_at.map(|at| at + frame);
        let settled = self.state.resized_at.map(|at| at + RESIZE_SETTLES);
        let draw_at = self.state.is_dirty.then(|| next.max(settled).unwrap_or_else(Instant::now));
        let save_at = self.state.save_at;
        let tick = self.app.next_tick(self.machine.now());
        let feed = &mut self.state.feed;
        tokio::select! {
            biased;
            () = until(draw_at) => WakeReason::Draw,
            wish = signals.next() => WakeReason::Signal(wish),
            event = self.input.next() => WakeReason::Input(event),
            () = until(save_at) => WakeReason::Save,
            reply = self.state.replies.recv() => WakeReason::Reply(reply),
            item = next_item(feed) => WakeReason::Item(item),
            () = tokio::time::sleep(tick.unwrap_or_default()), if tick.is_some() => WakeReason::Tick,
        }
    }

    fn input(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.app.key(key, self.now()),
            Event::Paste(text) => self.app.paste(&text),
            Event::FocusGained => self.app.focus(true),
            Event::FocusLost => self.app.focus(false),
            Event::Resize(columns, rows) => {
                self.resize(Size { columns: usize::from(columns), rows: usize::from(rows) });
            }
            Event::Mouse(_) => {}
        }
    }

    /// Makes the next frame for this size, once the size stays the same.
    fn resize(&mut self, size: Size) {
        self.size = size;
        self.screen.resize(size);
        self.state.resized_at = Some(Instant::now());
    }

    fn items(&mut self, first: FeedItem) {
        let now = self.now();
        self.app.item(first, now);
        for _ in 0..MAX_ITEMS {
            let Some(item) = self.state.feed.as_mut().and_then(Feed::ready) else { return };
            self.app.item(item, now);
        }
    }

    fn reply(&mut self, reply: RequestReply) -> Result<(), Problem> {
        let now = self.now();
        match reply {
            RequestReply::Opened(Ok(view)) => {
                if self.state.session_id.is_some() {
                    self.app.switch();
                }
                self.state.session_id = Some(view.session_id.clone());
                self.state.feed = Some(Feed::follow(Arc::clone(&self.sessions), &view));
                self.app.opened(*view, now);
            }
            RequestReply::Opened(Err(problem)) if self.state.session_id.is_none() => return Err(problem),
            RequestReply::Opened(Err(problem))
            | RequestReply::Sessions(_, Err(problem))
            | RequestReply::Context(Err(problem))
            | RequestReply::Diff(Err(problem))
            | RequestReply::Earlier(Err(problem))
            | RequestReply::Page(_, Err(problem))
            | RequestReply::Image(Err(problem)) => self.app.failed(&problem),
            RequestReply::View(view) => {
                self.state.is_reading_view = false;
                // The feed reports a lost connection; a view of another session is out of date.
                if let Ok(view) = view
                    && Some(&view.session_id) == self.state.session_id.as_ref()
                {
                    self.app.view(*view, now);
                }
                if std::mem::take(&mut self.state.wants_view) {
                    self.refresh();
                }
            }
            RequestReply::Refused { action, problem } => self.app.refused(&action, &problem),
            RequestReply::Sessions(text, Ok(page)) => {
                self.app.sessions(&page, now);
                if self.app.lists_sessions() {
                    let replies = &self.state.reply_sender;
                    self.state.session_watch = Some(requests::watch_sessions(&self.sessions, text, replies));
                }
            }
            RequestReply::SessionsChanged(page) => self.app.sessions_changed(&page, now),
            RequestReply::Context(Ok(report)) => self.app.context(&report),
            RequestReply::Diff(Ok(files)) => self.app.diff(&files),
            RequestReply::Page(page, Ok(text)) => self.app.show_page(page, &text),
            RequestReply::Image(Ok(path)) => self.app.image(path.as_deref()),
            RequestReply::Earlier(Ok(earlier)) => self.app.earlier(earlier.rows, earlier.skipped),
        }
        Ok(())
    }

    fn refresh(&mut self) {
        if self.state.is_reading_view {
            self.state.wants_view = true;
        } else if let Some(session_id) = self.state.session_id.clone() {
            self.state.is_reading_view = true;
            self.request(Request::View(session_id));
        }
    }

    async fn carry_out(&mut self, effect: AppEffect) -> Option<EndReason> {
        match effect {
            AppEffect::Send(action) => self.send(action),
            AppEffect::Refresh => self.refresh(),
            AppEffect::Quit => return Some(EndReason::Quit),
            AppEffect::Detach => return Some(EndReason::Detached),
            AppEffect::Suspend => {
                let machine = Arc::clone(&self.machine);
                return self.lend(async move || machine.suspend()).await.err();
            }
            AppEffect::OpenEditor(draft) => {
                let machine = Arc::clone(&self.machine);
                match self.lend(async move || machine.edit(&draft).await).await {
                    Err(end) => return Some(end),
                    Ok(Ok(text)) => self.app.edited(text.trim_end_matches('\n')),
                    Ok(Err(error)) => self.app.failed(&problem("the editor failed", &error)),
                }
            }
            AppEffect::Redraw => {
                self.screen.redraw();
                self.state.is_dirty = true;
            }
            AppEffect::Copy(text) => return self.signal(&clipboard::copy(&text)),
            AppEffect::Notify(words) => return self.signal(&clipboard::notify(&words)),
            AppEffect::SaveDraft => {
                self.state.save_at = self.state.save_at.or_else(|| Some(Instant::now() + SAVE_DELAY));
            }
            AppEffect::Remember(text) => {
                if let Some(Err(error)) = self.history.as_mut().map(|file| file.append(&text)) {
                    self.app.failed(&problem("cannot save the history", &error));
                }
            }
            AppEffect::PasteImage => requests::paste_image(&self.machine, &self.state.reply_sender),
            AppEffect::Complete(request) => self.complete(&request),
            AppEffect::Chosen(path) => {
                if let Some(files) = &mut self.files {
                    files.chosen(&path);
                }
            }
            AppEffect::ListSessions { text } => self.request(Request::Sessions { text }),
            AppEffect::OpenSession(id) => self.open(Opening::Existing(id)),
            AppEffect::NewSession => self.create(None),
            AppEffect::Fork => self.create(self.state.session_id.clone()),
            AppEffect::Context => self.about(Request::Context),
            AppEffect::Diff => self.about(Request::Diff),
            AppEffect::Page(page) => self.make_page(page),
            AppEffect::Earlier(theme) => self.about(|id| Request::Earlier(id, theme)),
        }
        None
    }

    fn send(&mut self, action: Action) {
        let Some(session_id) = self.state.session_id.clone() else { return };
        let id = CommandId::new(self.machine.fresh_id());
        if let Err(action) = self.state.outbox.put(Outgoing { session_id, id, action }) {
            let problem = Problem::new(ProblemCode::Unavailable, "too many commands wait for the host");
            self.app.refused(&action, &problem);
        }
    }

    fn create(&self, fork: Option<SessionId>) {
        let mut create = CreateSession::new(self.machine.fresh_id().as_str().into(), self.directory.clone());
        create.fork = fork.map(|session| (session, None));
        self.open(Opening::Create(create));
    }

    fn about(&self, request: impl FnOnce(SessionId) -> Request) {
        if let Some(session_id) = self.state.session_id.clone() {
            self.request(request(session_id));
        }
    }

    fn make_page(&mut self, page: Page) {
        match &self.pages {
            Some(pages) => {
                let (view, width) = (self.app.session().cloned(), self.size.columns);
                requests::make_page(pages, page, view, width, &self.state.reply_sender);
            }
            None => self.app.lacks_page(page),
        }
    }

    fn complete(&mut self, request: &composer::Request) {
        let now = Duration::from_millis(self.now().as_millis());
        let composer::Request::Files { query } = request;
        let files = self.files.as_mut().map(|files| files.search(query, MAX_FILES, now)).unwrap_or_default();
        let symbols =
            self.symbols.as_mut().map(|index| index.search(query, MAX_SYMBOLS, now)).unwrap_or_default();
        let resources = resources::matching(&self.resources, query);
        let room = MAX_FILES - symbols.len() - resources.len();
        let files = files.into_iter().take(room).map(Suggestion::from);
        // A user who typed the name of a server looks for its resources.
        let (first, last) = match query.contains(':') {
            true => (resources, Vec::new()),
            false => (Vec::new(), resources),
        };
        let items = first.into_iter().chain(files).chain(symbols).chain(last).collect();
        self.app.completed(request, items);
    }

    fn signal(&mut self, sequence: &str) -> Option<EndReason> {
        self.screen.signal(sequence).err().map(|_| EndReason::TerminalClosed)
    }

    /// Gives the terminal to something else.
    async fn lend<T>(&mut self, other: impl AsyncFnOnce() -> T) -> Result<T, EndReason> {
        self.save_draft();
        let released = self.screen.release();
        self.input.pause();
        let result = other().await;
        let resumed = self.input.resume();
        self.state.is_dirty = true;
        released.and(resumed).map_err(|_| EndReason::TerminalClosed).map(|()| result)
    }

    fn save_draft(&mut self) {
        self.state.save_at = None;
        let draft = self.app.draft();
        if let Some(Err(error)) = self.draft.as_mut().map(|file| file.save(&draft)) {
            self.app.failed(&problem("cannot save the draft", &error));
            self.state.is_dirty = true;
        }
    }

    /// Leaves the terminal as it was, with everything that finished in its scrollback.
    pub(super) async fn finish(mut self, end: Result<EndReason, Problem>) -> Result<End, Problem> {
        self.save_draft();
        let frame = self.app.frame(self.size, self.machine.now());
        let last = Frame { finished: frame.finished, ..Frame::default() };
        // A terminal that is gone needs no last frame.
        let _ = self.screen.draw(&last);
        let _ = self.screen.release();
        let stops = self.app.is_running() && !self.runs_go_on;
        if stops && matches!(end, Ok(EndReason::Quit | EndReason::Signal | EndReason::TerminalClosed)) {
            self.send(Action::Interrupt);
        }
        self.input.pause();
        self.state.outbox.close(LAST_COMMANDS).await;
        let session_id = self.state.session_id.clone();
        end.map(|reason| End { session_id, reason })
    }
}

fn problem(what: &str, error: &io::Error) -> Problem {
    Problem::new(ProblemCode::Invalid, format!("{what}: {error}"))
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn next_item(feed: &mut Option<Feed>) -> Option<FeedItem> {
    match feed {
        Some(feed) => feed.next().await,
        None => std::future::pending().await,
    }
}
