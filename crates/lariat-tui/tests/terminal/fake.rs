//! A session that does what a test says.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::StreamExt as _;
use lariat_api::{
    Action, ContextUse, CreateSession, Cursor, FileDiff, FileList, ItemStream, Live, LiveItem, LogItem,
    LogRequest, Problem, ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage,
    SessionStatus, SessionSummary, SessionView, Sessions, StoreGeneration,
};
use lariat_core::BoxFuture;
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, LoopId, SessionId};
use lariat_core::store::BlobHash;
use lariat_core::time::Timestamp;
use tokio::sync::{Notify, broadcast, watch};

/// When the stories begin.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A scripted session.
pub(crate) struct Fake {
    state: Mutex<State>,
    /// The number of events, and how often the connection was cut.
    changed: watch::Sender<(u64, u64)>,
    live: broadcast::Sender<Live>,
    /// Which sessions change.
    interrupted: Notify,
    session_changes: broadcast::Sender<SessionChange>,
}

struct State {
    events: Vec<Event>,
    view: SessionView,
    commands: Vec<Action>,
    /// What the list of sessions has.
    listed: Vec<SessionSummary>,
    /// Whether requests fail.
    is_down: bool,
    /// Whether a compaction takes until a command interrupts it.
    holds_compactions: bool,
}

pub(crate) fn cursor(next: u64) -> Cursor {
    Cursor::new(StoreGeneration::new("fake").unwrap(), next)
}

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        let mut view = SessionView::new(SessionId::new("session-1"), cursor(0));
        view.mode = "default".to_owned();
        view.model.name = "scripted/model-1".to_owned();
        view.context.window = 200_000;
        let state = State {
            events: Vec::new(),
            view,
            commands: Vec::new(),
            listed: Vec::new(),
            is_down: false,
            holds_compactions: false,
        };
        let (live, _) = broadcast::channel(4_096);
        let (session_changes, _) = broadcast::channel(16);
        let (state, changed) = (Mutex::new(state), watch::Sender::new((0, 0)));
        Arc::new(Self { state, changed, live, session_changes, interrupted: Notify::new() })
    }

    /// Replaces the list of sessions.
    pub(crate) fn lists(&self, sessions: Vec<SessionSummary>) {
        let change = SessionChange::new(SessionId::new("session-1"), 0, SessionStatus::Idle);
        self.lists_unannounced(sessions);
        // Without a receiver, nothing follows the list.
        let _ = self.session_changes.send(change);
    }

    /// Replaces the list of sessions, as another process does.
    pub(crate) fn lists_unannounced(&self, sessions: Vec<SessionSummary>) {
        self.state().listed = sessions;
    }

    /// How many clients follow which sessions change.
    pub(crate) fn list_followers(&self) -> usize {
        self.session_changes.receiver_count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn record(state: &State, event: AgentEvent) -> Event {
        let seq = state.events.len() as u64;
        Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq,
            id: EventId::default(),
            timestamp: START,
            loop_id: Some(LoopId::new("session-1.default.1")),
            event,
        })
    }

    /// Appends a durable event and changes the view.
    pub(crate) fn happens(&self, event: AgentEvent, change: impl FnOnce(&mut SessionView)) {
        let mut state = self.state();
        let record = Self::record(&state, event);
        state.events.push(record);
        let count = state.events.len() as u64;
        state.view.seq = count;
        state.view.cursor = cursor(count);
        change(&mut state.view);
        drop(state);
        self.changed.send_modify(|(events, _)| *events = count);
    }

    /// Sends a live event.
    pub(crate) fn streams(&self, event: AgentEvent) {
        let state = self.state();
        let record = Self::record(&state, event);
        let item = LiveItem::new(record.seq, record);
        drop(state);
        let _ = self.live.send(Live::Event(item));
    }

    /// The commands since the last call.
    pub(crate) fn commands(&self) -> Vec<Action> {
        std::mem::take(&mut self.state().commands)
    }

    /// Lets compactions take until a command interrupts them.
    pub(crate) fn holds_compactions(&self) {
        self.state().holds_compactions = true;
    }

    /// Cuts all connections. New ones fail until [`Fake::comes_back`].
    pub(crate) fn goes_down(&self) {
        self.state().is_down = true;
        self.changed.send_modify(|(_, cuts)| *cuts += 1);
    }

    pub(crate) fn comes_back(&self) {
        self.state().is_down = false;
    }

    fn check(&self) -> Result<(), Problem> {
        if self.state().is_down {
            return Err(Problem::new(ProblemCode::Unavailable, "the host does not respond"));
        }
        Ok(())
    }
}

fn none<T: Send + 'static>() -> BoxFuture<'static, Result<T, Problem>> {
    Box::pin(async { Err(Problem::new(ProblemCode::Unsupported, "not in this test")) })
}

/// A reader of the log.
struct Reader {
    fake: Arc<Fake>,
    next: u64,
    watermark: Option<u64>,
    cuts: u64,
    changed: watch::Receiver<(u64, u64)>,
}

async fn read(mut reader: Reader) -> Option<(Result<LogItem, Problem>, Reader)> {
    loop {
        if reader.changed.borrow_and_update().1 != reader.cuts {
            return None;
        }
        if reader.watermark.is_some_and(|watermark| reader.next >= watermark) {
            reader.watermark = None;
            return Some((Ok(LogItem::Synced { cursor: cursor(reader.next) }), reader));
        }
        let event = reader.fake.state().events.get(usize::try_from(reader.next).unwrap()).cloned();
        if let Some(event) = event {
            reader.next += 1;
            return Some((Ok(LogItem::Event { cursor: cursor(reader.next), event }), reader));
        }
        reader.changed.changed().await.ok()?;
    }
}

/// The `Sessions` of a fake: the trait's streams outlive the borrow, so they hold the fake itself.
pub(crate) struct Host(pub(crate) Arc<Fake>);

impl Sessions for Host {
    fn create(&self, _: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        Box::pin(async { self.0.check().map(|()| self.0.state().view.clone()) })
    }

    fn list(&self, _: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        Box::pin(async { Ok(SessionPage::new(self.0.state().listed.clone(), None)) })
    }

    fn view<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(async { self.0.check().map(|()| self.0.state().view.clone()) })
    }

    fn send<'a>(
        &'a self,
        _: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        Box::pin(async {
            self.0.check()?;
            let is_held =
                matches!(command.action, Action::Compact { .. }) && self.0.state().holds_compactions;
            if matches!(command.action, Action::Interrupt) {
                self.0.interrupted.notify_one();
            }
            self.0.state().commands.push(command.action);
            if is_held {
                self.0.interrupted.notified().await;
            }
            Ok(Receipt::new(command.id, self.0.state().events.len() as u64))
        })
    }

    fn log<'a>(
        &'a self,
        _: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(async move {
            self.0.check()?;
            let changed = self.0.changed.subscribe();
            let (watermark, cuts) = *changed.borrow();
            request.check()?;
            let first = request.last.map_or(0, |last| watermark.saturating_sub(last));
            let next = request.after.map_or(first, |cursor| cursor.next());
            let reader =
                Reader { fake: Arc::clone(&self.0), next, watermark: Some(watermark), cuts, changed };
            let items: ItemStream<LogItem> = Box::pin(futures_util::stream::unfold(reader, read));
            Ok(items)
        })
    }

    fn live<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(async {
            self.0.check()?;
            let receiver = self.0.live.subscribe();
            let items = futures_util::stream::unfold(receiver, async |mut receiver| {
                let item = match receiver.recv().await {
                    Ok(item) => item,
                    Err(broadcast::error::RecvError::Lagged(_)) => Live::Resync { after: 0 },
                    Err(broadcast::error::RecvError::Closed) => return None,
                };
                Some((Ok(item), receiver))
            });
            Ok(items.boxed())
        })
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        let receiver = self.0.session_changes.subscribe();
        let items = futures_util::stream::unfold(receiver, async |mut receiver| {
            receiver.recv().await.ok().map(|change| (Ok(change), receiver))
        });
        Box::pin(async { Ok(items.boxed()) })
    }

    fn diff<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        none()
    }

    fn files<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        none()
    }

    fn context<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(async {
            Ok(ContextUse::new(
                200_000,
                vec![("system prompt".to_owned(), 4_000), ("messages".to_owned(), 52_000)],
            ))
        })
    }

    fn blob<'a>(&'a self, _: &'a SessionId, _: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        none()
    }
}
