//! Sessions in memory, for the wire only: they keep a log and receipts, and run no agent.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use lariat_api::{
    ContextUse, CreateSession, Cursor, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Principal,
    Problem, ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage, SessionView,
    Sessions, StoreGeneration,
};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use lariat_server::Host;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

/// The generation of the store in all cursors.
const GENERATION: &str = "g1";

/// A session whose every method fails with the code after this prefix.
pub(crate) const FAILS: &str = "fails ";

pub(crate) fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn cursor(next: u64) -> Cursor {
    Cursor::new(StoreGeneration::new(GENERATION).unwrap(), next)
}

/// An event of a kind that no version knows, so that it must survive.
pub(crate) fn event(seq: u64, text: &str) -> Event {
    read(json!({
        "v": 1, "seq": seq, "id": uuid::Uuid::from_u128(u128::from(seq)), "timestamp": "2025-11-15T00:00:00.123Z",
        "type": "Teleported", "to": text,
    }))
}

/// The problem that a failing session reports.
pub(crate) fn problem(code: &str) -> Problem {
    Problem::new(read(json!(code)), format!("it failed: {code}\n\"ü\""))
        .with_place("a: 1")
        .with_hint("try `b`")
}

#[derive(Default)]
struct Session {
    events: Vec<Event>,
    receipts: HashMap<String, (SessionCommand, Receipt)>,
}

/// Sessions in memory.
pub(crate) struct Memory {
    sessions: Mutex<BTreeMap<SessionId, Session>>,
    appended: watch::Sender<u64>,
    /// Commands that were carried out.
    pub(crate) applied: AtomicUsize,
    /// Events that readers of logs took.
    pub(crate) taken: AtomicU64,
    /// Streams that are open.
    pub(crate) streams: AtomicI64,
    /// Commands wait for a permit.
    pub(crate) gate: Semaphore,
    /// Commands that wait for a permit.
    pub(crate) waiting: AtomicUsize,
    /// The filters of lists.
    pub(crate) filters: Mutex<Vec<SessionFilter>>,
}

impl Memory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            sessions: Mutex::default(),
            appended: watch::Sender::new(0),
            applied: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            streams: AtomicI64::new(0),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            waiting: AtomicUsize::new(0),
            filters: Mutex::default(),
        })
    }

    /// Creates a session with events.
    pub(crate) fn with_events(id: &str, count: u64) -> Arc<Self> {
        let memory = Self::new();
        memory.sessions.lock().unwrap().insert(SessionId::new(id), Session::default());
        (0..count).for_each(|_| memory.append(id, "x"));
        memory
    }

    pub(crate) fn append(&self, id: &str, text: &str) {
        let mut sessions = self.sessions.lock().unwrap();
        let events = &mut sessions.get_mut(&SessionId::new(id)).unwrap().events;
        events.push(event(events.len() as u64, text));
        self.appended.send_modify(|count| *count += 1);
    }

    /// Returns the number of events, or the problem of a session that fails.
    fn length(&self, id: &SessionId) -> Result<u64, Problem> {
        if let Some(code) = id.as_str().strip_prefix(FAILS) {
            return Err(problem(code));
        }
        let sessions = self.sessions.lock().unwrap();
        let missing = || Problem::new(ProblemCode::NotFound, format!("no session `{id}`"));
        sessions.get(id).map(|session| session.events.len() as u64).ok_or_else(missing)
    }

    fn view_of(&self, id: &SessionId) -> Result<SessionView, Problem> {
        let seq = self.length(id)?;
        Ok(read(json!({
            "session_id": id, "seq": seq, "cursor": cursor(seq), "status": "dreaming", "title": "Grüße",
            "usage": { "input": 5 }, "mode": "plan", "model": { "name": "m" },
            "asks": [{ "id": "a/1", "subject": { "kind": "riddle", "depth": [1, null] }, "digest": "d",
                       "asked_at": "2025-11-15T00:00:00.000Z" }],
        })))
    }

    /// Counts a stream until it is dropped.
    fn counted<T: Send + 'static>(
        self: &Arc<Self>,
        items: impl stream::Stream<Item = Result<T, Problem>> + Send + 'static,
    ) -> ItemStream<T> {
        struct Open(Arc<Memory>);
        impl Drop for Open {
            fn drop(&mut self) {
                self.0.streams.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.streams.fetch_add(1, Ordering::SeqCst);
        let open = Open(Arc::clone(self));
        Box::pin(items.map(move |item| {
            let _ = &open;
            item
        }))
    }

    async fn next_item(
        self: Arc<Self>,
        mut reader: LogReader,
    ) -> Option<(Result<LogItem, Problem>, LogReader)> {
        loop {
            let found = {
                let sessions = self.sessions.lock().unwrap();
                sessions[&reader.id].events.get(usize::try_from(reader.next).unwrap()).cloned()
            };
            if reader.next == reader.watermark && !reader.is_synced {
                reader.is_synced = true;
                return Some((Ok(LogItem::Synced { cursor: cursor(reader.next) }), reader));
            }
            if reader.is_synced && !reader.follow {
                return None;
            }
            if let Some(event) = found {
                reader.next += 1;
                self.taken.fetch_add(1, Ordering::SeqCst);
                return Some((Ok(LogItem::Event { cursor: cursor(reader.next), event }), reader));
            }
            reader.appended.changed().await.unwrap();
        }
    }
}

struct LogReader {
    id: SessionId,
    next: u64,
    watermark: u64,
    follow: bool,
    is_synced: bool,
    appended: watch::Receiver<u64>,
}

/// [`Memory`] as the caller sees it.
pub(crate) struct Double(pub(crate) Arc<Memory>);

impl Sessions for Double {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        Box::pin(async move {
            self.0.sessions.lock().unwrap().entry(request.session_id.clone()).or_default();
            self.0.view_of(&request.session_id)
        })
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        Box::pin(async move {
            self.0.filters.lock().unwrap().push(filter);
            let ids: Vec<SessionId> = self.0.sessions.lock().unwrap().keys().cloned().collect();
            let sessions = ids.iter().map(|id| {
                json!({ "session_id": id, "events": 1, "created_at": "2025-11-15T00:00:00.000Z",
                        "last_active_at": "2025-11-15T00:00:00.000Z", "status": "dreaming", "asks": 2 })
            });
            Ok(read(json!({ "sessions": sessions.collect::<Vec<_>>(), "next": "p2" })))
        })
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(async move { self.0.view_of(session_id) })
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        Box::pin(async move {
            let seq = self.0.length(session_id)?;
            self.0.waiting.fetch_add(1, Ordering::SeqCst);
            self.0.gate.acquire().await.unwrap().forget();
            let mut sessions = self.0.sessions.lock().unwrap();
            let receipts = &mut sessions.get_mut(session_id).unwrap().receipts;
            if let Some((known, receipt)) = receipts.get(command.id.as_str()) {
                let conflict = || Problem::new(ProblemCode::CommandConflict, "the id was used before");
                return if *known == command { Ok(receipt.clone()) } else { Err(conflict()) };
            }
            self.0.applied.fetch_add(1, Ordering::SeqCst);
            let receipt = Receipt::new(command.id.clone(), seq);
            receipts.insert(command.id.as_str().to_owned(), (command, receipt.clone()));
            Ok(receipt)
        })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(async move {
            let appended = self.0.appended.subscribe();
            let watermark = self.0.length(session_id)?;
            let gone = || Problem::new(ProblemCode::CursorGone, "the store was replaced");
            request.check()?;
            let next = match (request.after, request.last) {
                (Some(after), _) if after.generation().as_str() != GENERATION => return Err(gone()),
                (Some(after), _) => after.next(),
                (None, last) => last.map_or(0, |last| watermark.saturating_sub(last)),
            };
            let id = session_id.clone();
            let reader =
                LogReader { id, next, watermark, follow: request.follow, is_synced: false, appended };
            let memory = Arc::clone(&self.0);
            Ok(self.0.counted(stream::unfold(reader, move |reader| Arc::clone(&memory).next_item(reader))))
        })
    }

    /// Two items, a problem, one more item, and then silence.
    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(async move {
            self.0.length(session_id)?;
            let items = vec![
                Ok(read(json!({ "type": "event", "after": 7, "event": event(7, "live") }))),
                Ok(Live::Resync { after: 8 }),
                Err(problem("teapot")),
                Ok(Live::Resync { after: 9 }),
            ];
            Ok(self.0.counted(stream::iter(items).chain(stream::pending())))
        })
    }

    /// One change, and then the end.
    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        Box::pin(async move {
            let change = SessionChange::new(SessionId::new("a b"), 3, read(json!("dreaming")));
            Ok(self.0.counted(stream::iter([Ok(change)])))
        })
    }

    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        Box::pin(async move {
            self.0.length(session_id)?;
            Ok(read(
                json!([{ "path": "a", "change": "added", "diff": "+ü\n" }, { "path": "b", "change": "deleted" }]),
            ))
        })
    }

    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        Box::pin(async move {
            self.0.length(session_id)?;
            Ok(read(json!({ "read": ["a"], "changed": ["b", "c"] })))
        })
    }

    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(async move {
            self.0.length(session_id)?;
            Ok(read(json!({ "window": 200_000, "parts": [["tools", 5]] })))
        })
    }

    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        Box::pin(async move {
            self.0.length(session_id)?;
            // Every byte, so that no encoding changes one unnoticed.
            let bytes = hash.0.bytes().chain(0..=255);
            Ok(bytes.collect())
        })
    }
}

/// A host with the same sessions for every caller.
pub(crate) struct DoubleHost {
    pub(crate) memory: Arc<Memory>,
    /// Cancelled when a client asks the host to stop.
    pub(crate) stop: CancellationToken,
    /// Who called.
    pub(crate) callers: Mutex<Vec<Principal>>,
}

impl Host for DoubleHost {
    fn sessions_for(&self, principal: &Principal) -> Arc<dyn Sessions> {
        self.callers.lock().unwrap().push(principal.clone());
        Arc::new(Double(Arc::clone(&self.memory)))
    }

    fn version(&self) -> String {
        "9.9".to_owned()
    }

    fn running(&self) -> u64 {
        3
    }

    fn stop(&self) {
        self.stop.cancel();
    }
}
