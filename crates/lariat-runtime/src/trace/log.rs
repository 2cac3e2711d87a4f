//! A trace file: every event as one line of JSON.
//!
//! A thread writes the lines from a bounded queue. If the sink is slower than the agents, events are dropped
//! and counted, and a line `{"type":"Lost","events":n}` takes their place. Lines are the journal's events,
//! with their session and a conventional event name; secrets were already redacted. Invariant: a run never
//! waits for a sink.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use lariat_core::event::{Event, EventRecord, seed_name};
use lariat_core::id::SessionId;
use serde::Serialize;

use crate::observe::Observer;

/// Maximum number of queued events before events are dropped: a few seconds of a busy agent on a slow disk.
const QUEUE_CAPACITY: usize = 4_096;

/// Receives the lines of a trace. Called on a thread of its own; may block.
pub trait TraceSink: Send {
    /// Writes a line; `line` has no line break.
    ///
    /// # Errors
    /// If the line could not be written; it is counted as lost.
    fn write_line(&mut self, line: &str) -> io::Result<()>;

    /// Flushes the written lines, so that others can read them.
    ///
    /// # Errors
    /// If flushing failed.
    fn flush(&mut self) -> io::Result<()>;
}

/// Whether to write events that are not in the journal: chunks of messages, progress, retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveEvents {
    /// Leaves them out.
    #[default]
    Skip,
    /// Writes them, too.
    Write,
}

/// Writes every event of the observed agents to a sink.
pub struct TraceLog {
    queue: Mutex<Option<SyncSender<(SessionId, Event)>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    lost: Arc<AtomicU64>,
    live: LiveEvents,
}

impl TraceLog {
    /// Starts the writing thread. The thread ends when the log is closed or dropped.
    ///
    /// # Errors
    /// If the thread could not be started.
    pub fn start(sink: impl TraceSink + 'static, live: LiveEvents) -> io::Result<Self> {
        Self::with_capacity(sink, live, QUEUE_CAPACITY)
    }

    fn with_capacity(sink: impl TraceSink + 'static, live: LiveEvents, capacity: usize) -> io::Result<Self> {
        let (queue, events) = sync_channel(capacity);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer { sink, lost: Arc::clone(&lost) };
        let thread = std::thread::Builder::new().name("lariat-trace".to_owned());
        let writer = thread.spawn(move || writer.run(&events))?;
        Ok(Self { queue: Mutex::new(Some(queue)), writer: Mutex::new(Some(writer)), lost, live })
    }

    /// Returns the number of lost events that no line reports yet.
    pub fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes the queued events and ends. Blocks until the sink has written everything.
    pub fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

impl Observer for TraceLog {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        if self.live == LiveEvents::Skip && !event.is_durable() {
            return;
        }
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = queue.as_ref().map(|queue| queue.try_send((session_id.clone(), Arc::clone(event))));
        if !matches!(taken, Some(Ok(()))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for TraceLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceLog").field("lost", &self.lost_count()).field("live", &self.live).finish()
    }
}

/// The line of an event.
#[derive(Serialize)]
struct TraceLine<'a> {
    session_id: &'a SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(flatten)]
    record: &'a EventRecord,
}

struct Writer<S> {
    sink: S,
    lost: Arc<AtomicU64>,
}

impl<S: TraceSink> Writer<S> {
    fn run(mut self, events: &Receiver<(SessionId, Event)>) {
        let mut next = events.recv().ok();
        while let Some((session_id, event)) = next {
            self.write(&session_id, &event);
            next = match events.try_recv() {
                Ok(waiting) => Some(waiting),
                Err(TryRecvError::Empty) => {
                    let _ = self.sink.flush();
                    events.recv().ok()
                }
                Err(TryRecvError::Disconnected) => None,
            };
        }
        self.report_lost();
        let _ = self.sink.flush();
    }

    fn write(&mut self, session_id: &SessionId, record: &EventRecord) {
        self.report_lost();
        let line = TraceLine { session_id, name: seed_name(&record.event), record };
        let line = serde_json::to_string(&line).map_err(io::Error::from);
        if line.and_then(|line| self.sink.write_line(&line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn report_lost(&mut self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 && self.sink.write_line(&format!(r#"{{"type":"Lost","events":{lost}}}"#)).is_err() {
            self.lost.fetch_add(lost, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
