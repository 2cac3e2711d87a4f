//! Clients that read a session while a script runs: two followers of the log and a reader of the live channel.
//!
//! They note everything that they receive and every broken promise that shows at once. Invariant: a reader that was
//! detached receives nothing more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use lariat_api::{Cursor, Live, LiveItem, LogItem, LogRequest, Problem, Sessions};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{MessageId, SessionId};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::HostFixture;
use super::stage::{POLL, StoreFaults, retrying};

/// What a follower of the log received.
#[derive(Default)]
pub(super) struct FollowedLog {
    pub(super) events: Vec<Event>,
    pub(super) problems: Vec<String>,
    pub(super) connections: usize,
    last: Option<Cursor>,
}

/// How a follower keeps its connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionHabit {
    /// It keeps one.
    Steady,
    /// It drops it after every event and connects again after that event.
    Dropped,
}

/// Follows the log of a session.
pub(super) struct Follower {
    connection: ConnectionHabit,
    faults: StoreFaults,
    seen: Arc<Mutex<FollowedLog>>,
    task: Option<JoinHandle<()>>,
}

impl Follower {
    pub(super) fn new(connection: ConnectionHabit, faults: StoreFaults) -> Self {
        Self { connection, faults, seen: Arc::default(), task: None }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, FollowedLog> {
        lock(&self.seen)
    }

    pub(super) fn attach(&mut self, host: &Arc<dyn Sessions>, session: &SessionId) {
        let (host, session, seen) = (Arc::clone(host), session.clone(), Arc::clone(&self.seen));
        let (connection, faults) = (self.connection, self.faults);
        self.task = Some(tokio::spawn(async move {
            loop {
                match follow(&*host, &session, connection, &seen).await {
                    Ok(()) => {}
                    Err(StopCause::Request(problem)) if faults.permit(&problem) => sleep(POLL).await,
                    Err(StopCause::Request(problem)) => {
                        return lock(&seen).problems.push(problem.to_string());
                    }
                    Err(StopCause::Promise(problem)) => return lock(&seen).problems.push(problem),
                }
            }
        }));
    }

    pub(super) async fn detach(&mut self) {
        stop(&mut self.task).await;
    }
}

/// Why a follower stopped.
enum StopCause {
    /// The host failed to serve a request.
    Request(Problem),
    /// The host did something that it must not do.
    Promise(String),
}

impl From<Problem> for StopCause {
    fn from(problem: Problem) -> Self {
        Self::Request(problem)
    }
}

impl From<String> for StopCause {
    fn from(problem: String) -> Self {
        Self::Promise(problem)
    }
}

/// Follows until the connection ends as planned.
async fn follow(
    host: &dyn Sessions,
    session: &SessionId,
    connection: ConnectionHabit,
    seen: &Mutex<FollowedLog>,
) -> Result<(), StopCause> {
    let mut request = LogRequest::default();
    request.follow = true;
    request.after.clone_from(&lock(seen).last);
    lock(seen).connections += 1;
    let known = host.view(session).await?.seq;
    let mut stream = host.log(session, request).await?;
    let mut is_synced = false;
    loop {
        let item = stream.next().await.ok_or("a log that follows ended".to_owned())?;
        match item? {
            LogItem::Event { cursor, event } => {
                let mut seen = lock(seen);
                let expected = seen.events.len() as u64;
                if event.seq != expected || cursor.next() != expected + 1 {
                    let next = cursor.next();
                    return Err(StopCause::Promise(format!(
                        "the log sent event {} with cursor {next}, expected event {expected}",
                        event.seq
                    )));
                }
                seen.events.push(event);
                seen.last = Some(cursor);
                if connection == ConnectionHabit::Dropped {
                    return Ok(());
                }
            }
            LogItem::Synced { cursor } => {
                let reached = lock(seen).events.len() as u64;
                if is_synced {
                    return Err(StopCause::Promise(format!("the log said `Synced` twice, at {reached}")));
                }
                if cursor.next() != reached || reached < known {
                    let next = cursor.next();
                    return Err(StopCause::Promise(format!(
                        "`Synced` at {next} after {reached} of {known} events"
                    )));
                }
                is_synced = true;
            }
            other => return Err(StopCause::Promise(format!("the log sent {other:?}"))),
        }
    }
}

/// What a reader of the live channel received.
pub(super) struct LiveText {
    faults: StoreFaults,
    items: Vec<LiveItem>,
    /// Texts of messages whose start was received on this connection.
    texts: BTreeMap<MessageId, String>,
    has_missed: bool,
    verified: u64,
    pub(super) problems: Vec<String>,
}

impl LiveText {
    pub(super) fn new(faults: StoreFaults) -> Self {
        let (items, texts, has_missed, verified, problems) = Default::default();
        Self { faults, items, texts, has_missed, verified, problems }
    }

    pub(super) fn receive(&mut self, live: Live) {
        match live {
            Live::Event(item) => {
                if item.event.is_durable() {
                    self.problems
                        .push(format!("the live channel sent a durable event: {:?}", item.event.event));
                }
                if self.items.last().is_some_and(|last| last.after > item.after) {
                    let event = item.event.event.name();
                    self.problems.push(format!("a live item after {} came late: {event}", item.after));
                }
                match &item.event.event {
                    AgentEvent::MessageStart { message } => {
                        self.texts.insert(message.id(), String::new());
                    }
                    AgentEvent::MessageUpdate { message, .. } => {
                        let delta = item.event.event.text_delta().unwrap_or_default();
                        if let Some(text) = self.texts.get_mut(&message.id()) {
                            text.push_str(delta);
                        }
                    }
                    _ => {}
                }
                self.items.push(item);
            }
            Live::Resync { .. } => self.has_missed = true,
            Live::RunLost { problem } if self.faults.permit(&problem) => {}
            other => self.problems.push(format!("the live channel sent {other:?}")),
        }
    }

    /// The highest position that an item follows, if it was not verified yet.
    fn unverified(&self) -> Option<u64> {
        self.items.last().map(|item| item.after).filter(|after| *after > self.verified)
    }

    /// Whether the items were complete, or `Resync` said that they were not.
    pub(super) fn check(&self, journal: &[Event]) -> Result<(), String> {
        if let Some(problem) = self.problems.first() {
            return Err(problem.clone());
        }
        let mut turn_start = 0;
        for event in journal {
            match &event.event {
                AgentEvent::TurnStart { .. } => turn_start = event.seq,
                AgentEvent::MessageEnd { message } => {
                    let Some(text) = message.shared().and_then(|m| m.as_assistant()) else { continue };
                    let text = lariat_core::content::joined_text(&text.content);
                    self.check_place(message.id(), turn_start, event.seq)?;
                    match self.texts.get(&message.id()) {
                        Some(live) if *live != text && !self.has_missed => {
                            return Err(format!(
                                "the live text of a message has {} characters of {}, without `Resync`",
                                live.len(),
                                text.len()
                            ));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A part of a reply comes after the start of its turn and before its end.
    fn check_place(&self, id: MessageId, start: u64, end: u64) -> Result<(), String> {
        let is_part = |item: &&LiveItem| match &item.event.event {
            AgentEvent::MessageUpdate { message, .. } => message.id() == id,
            _ => false,
        };
        match self.items.iter().filter(is_part).find(|item| item.after <= start || item.after > end) {
            Some(item) => Err(format!(
                "a part of the reply between events {start} and {end} came after {} events",
                item.after
            )),
            None => Ok(()),
        }
    }

    pub(super) const fn has_missed(&self) -> bool {
        self.has_missed
    }

    pub(super) fn has_text(&self, text: &str) -> bool {
        self.texts.values().any(|live| live == text)
    }
}

/// Reads the live channel of a session.
pub(super) struct LiveReader {
    faults: StoreFaults,
    seen: Arc<Mutex<LiveText>>,
    task: Option<JoinHandle<()>>,
}

impl LiveReader {
    pub(super) fn new(faults: StoreFaults) -> Self {
        Self { faults, seen: Arc::new(Mutex::new(LiveText::new(faults))), task: None }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, LiveText> {
        lock(&self.seen)
    }

    /// The channel is open when this returns.
    pub(super) async fn attach(
        &mut self,
        fixture: &Arc<dyn HostFixture>,
        host: &Arc<dyn Sessions>,
        session: &SessionId,
    ) -> Result<(), String> {
        let stream = retrying(self.faults, || host.live(session)).await;
        let mut stream = stream.map_err(|problem| format!("live: {problem}"))?;
        // Parts of a message before and after a gap say nothing about what was missed.
        lock(&self.seen).texts.clear();
        lock(&self.seen).items.clear();
        let (fixture, session, seen) = (Arc::clone(fixture), session.clone(), Arc::clone(&self.seen));
        self.task = Some(tokio::spawn(async move {
            while let Some(item) = stream.next().await {
                let unverified = match item {
                    Ok(live) => {
                        let mut seen = lock(&seen);
                        seen.receive(live);
                        seen.unverified()
                    }
                    Err(problem) => {
                        lock(&seen).problems.push(format!("live: {problem}"));
                        return;
                    }
                };
                if let Some(after) = unverified {
                    let durable = fixture.journal(&session).await.len() as u64;
                    let mut seen = lock(&seen);
                    if durable < after {
                        let problem =
                            format!("a live item follows {after} events, but only {durable} are durable");
                        seen.problems.push(problem);
                    }
                    seen.verified = after;
                }
            }
        }));
        Ok(())
    }

    pub(super) async fn detach(&mut self) {
        stop(&mut self.task).await;
    }
}

/// Ends a task and waits until it is gone, so that its stream is dropped.
async fn stop(task: &mut Option<JoinHandle<()>>) {
    if let Some(task) = task.take() {
        task.abort();
        let _ = task.await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
