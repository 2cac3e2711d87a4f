//! Clients that follow the log of a session: they are slow, lose their connection, and connect again where they stopped, earlier, or
//! near the end.
//!
//! Invariant: over all connections and processes, a follower has every durable event of its session once, in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use lariat_api::{Cursor, LogItem, LogRequest, Problem, ProblemCode, Sessions as _};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_sessions::Local;
use lariat_test::SeededRandom;

use super::super::choice::ChoiceKind;
use super::super::violation::Violation;
use super::process::Process;

/// What a follower has of its session. It survives the process.
pub(super) struct FollowedLog {
    pub(super) session_id: SessionId,
    pub(super) events: Vec<Event>,
    /// The position after each event.
    cursors: Vec<Cursor>,
    pub(super) connections: u64,
}

impl FollowedLog {
    pub(super) const fn new(session_id: SessionId) -> Self {
        Self { session_id, events: Vec::new(), cursors: Vec::new(), connections: 0 }
    }
}

/// Why a connection ended.
enum Lost {
    Problem(Problem),
    Broken(Violation),
}

/// The longest pause before a follower connects again. It grows to the wait while the host knows no such session: a run may take hours, and
/// so many connections would use up the steps of the process.
const LONGEST_PAUSE_MS: u64 = 5_000;
const LONGEST_WAIT_MS: u64 = 120_000;

/// Follows a session as long as the process lives.
pub(super) async fn follow(process: Arc<Process>, host: Local, number: usize) {
    let Some(seen) = process.followers.get(number).cloned() else { return };
    let mut random = process.random.fork(&format!("follower {number}"));
    let mut longest = LONGEST_PAUSE_MS;
    loop {
        process.steps.pass().await;
        match connect(&process, &host, &seen, &mut random).await {
            Ok(()) => longest = LONGEST_PAUSE_MS,
            Err(Lost::Problem(problem)) if is_expected(&process, &problem) => {
                longest = (longest * 2).min(LONGEST_WAIT_MS);
            }
            Err(Lost::Problem(problem)) => {
                let session_id = lock(&seen).session_id.clone();
                return process
                    .watch
                    .report(Violation::WrongReply(format!("log of {session_id}: {problem:?}")));
            }
            Err(Lost::Broken(violation)) => return process.watch.report(violation),
        }
        process.sleep(1 + random.below(longest)).await;
    }
}

/// A session that no client created yet has no log, and a store that fails cannot be read.
fn is_expected(process: &Process, problem: &Problem) -> bool {
    problem.code == ProblemCode::NotFound || (problem.code.is_retryable() && process.troubled)
}

/// Where a follower connects.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// After this many events.
    After(usize),
    /// At the newest events.
    Newest(u64),
}

async fn connect(
    process: &Process,
    host: &Local,
    seen: &Mutex<FollowedLog>,
    random: &mut SeededRandom,
) -> Result<(), Lost> {
    let (session_id, known) = {
        let seen = lock(seen);
        (seen.session_id.clone(), seen.events.len())
    };
    let (roll, earlier, newest) = (random.below(100), random.index(known + 1), random.below(20));
    let (patience, is_slow) = (random.below(30), random.chance(30));
    let disturb = || process.watch.choices.disturb(ChoiceKind::Reader);
    let start = match roll {
        0..=24 if known > 0 && disturb() => Start::After(earlier),
        25..=34 if disturb() => Start::Newest(newest),
        _ => Start::After(known),
    };
    let (breaks, is_slow) = (random.chance(60) && disturb(), is_slow && disturb());
    process.watch.choices.tell(|| format!("A follower of {session_id} connects: {start:?}."));
    let mut request = LogRequest::default();
    request.follow = true;
    match start {
        Start::After(events) => {
            let last = events.checked_sub(1);
            request.after = last.and_then(|last| lock(seen).cursors.get(last).cloned());
        }
        Start::Newest(events) => request.last = Some(events),
    }
    let head = process.store.inspect(&session_id, |events| events.len() as u64);
    let mut stream = host.log(&session_id, request).await.map_err(Lost::Problem)?;
    lock(seen).connections += 1;
    let mut reading = Reading { session_id: &session_id, position: None, is_synced: false, head };
    if let Start::After(events) = start {
        reading.position = Some(events as u64);
    }
    let mut items = 0;
    while let Some(item) = stream.next().await {
        process.steps.pass().await;
        reading.take(process, seen, item.map_err(Lost::Problem)?).map_err(Lost::Broken)?;
        items += 1;
        if breaks && items > patience {
            process.watch.choices.tell(|| format!("A follower of {session_id} loses its connection."));
            return Ok(());
        }
        if reading.has_gap(seen) {
            // What is missing comes from a connection that begins before it.
            return Ok(());
        }
        if is_slow {
            process.sleep(random.below(2_000)).await;
        }
    }
    Err(Lost::Broken(Violation::FollowerGap(format!("the log of {session_id} ended"))))
}

/// One connection.
struct Reading<'a> {
    session_id: &'a SessionId,
    /// The position of the next event, once it is known.
    position: Option<u64>,
    is_synced: bool,
    /// How many events there were at least when the request arrived.
    head: u64,
}

impl Reading<'_> {
    /// Whether all that existed at first was sent, and the follower lacks events before it.
    fn has_gap(&self, seen: &Mutex<FollowedLog>) -> bool {
        let known = lock(seen).events.len() as u64;
        self.is_synced && self.position.is_some_and(|position| position > known)
    }

    fn take(&mut self, process: &Process, seen: &Mutex<FollowedLog>, item: LogItem) -> Result<(), Violation> {
        let gap = |what: String| Err(Violation::FollowerGap(format!("{}: {what}", self.session_id)));
        match item {
            LogItem::Event { cursor, event } => {
                let expected = self.position.unwrap_or(event.seq);
                if event.seq != expected || cursor.next() != expected + 1 {
                    return gap(format!("event {} at {cursor}, expected {expected}", event.seq));
                }
                self.position = Some(expected + 1);
                process.watch.note(|| format!("{} follows {}", self.session_id, event.seq));
                let at = usize::try_from(event.seq).unwrap_or(usize::MAX);
                if process.store.inspect(self.session_id, |events| events.get(at) != Some(&event)) {
                    return gap(format!("event {at} is not the one in the journal"));
                }
                let mut seen = lock(seen);
                match seen.events.get(at) {
                    Some(earlier) if *earlier != event => return gap(format!("event {at} changed")),
                    // A connection near the end may begin after events that are still missing.
                    None if at == seen.events.len() => {
                        seen.events.push(event);
                        seen.cursors.push(cursor);
                    }
                    _ => {}
                }
                Ok(())
            }
            LogItem::Synced { cursor } => {
                let position = *self.position.get_or_insert(cursor.next());
                if self.is_synced || cursor.next() != position || position < self.head {
                    return gap(format!("`Synced` at {cursor}, after event {position} of {}", self.head));
                }
                self.is_synced = true;
                Ok(())
            }
            other => gap(format!("the log sent {other:?}")),
        }
    }
}

pub(super) fn lock(seen: &Mutex<FollowedLog>) -> MutexGuard<'_, FollowedLog> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
