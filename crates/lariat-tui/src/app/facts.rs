//! Defines what the client knows about the session besides its transcript.
//!
//! Events change the facts at once; a view, which the client reads after durable events, corrects them.

use std::time::Duration;

use lariat_api::{QueuedMessage, SessionStatus, SessionView};
use lariat_core::event::{AgentEvent, Event, Task};
use lariat_core::id::{EventId, ToolCallId};
use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;

use crate::status::Waits;

/// Whether the client can read the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Connection {
    /// Not yet.
    #[default]
    Connecting,
    /// It reads what happened before.
    Reading,
    /// It shows everything that happened.
    Synced,
    /// Not at the moment.
    Lost,
}

/// What the client knows.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) connection: Connection,
    pub(super) view: Option<SessionView>,
    /// The number of durable events that were included.
    seq: u64,
    /// The number of earlier events that the client did not read.
    pub(super) skipped: u64,
    /// Since when a run is active.
    since: Option<Timestamp>,
    is_interrupted: bool,
    /// The tools that run, oldest first.
    tools: Vec<(ToolCallId, String)>,
    /// When the model is called again, and whether the provider limits the rate.
    retry: Option<(Timestamp, bool)>,
    /// Whether the host compacts the conversation for this client.
    is_compacting: bool,
    /// The newest compaction.
    pub(super) compaction: Option<EventId>,
    /// The task list of the agent.
    tasks: Vec<Task>,
    /// The cost of the session when the run started, if the client saw that.
    cost_before: Option<Cost>,
}

impl Facts {
    /// Whether a run or a compaction is active.
    pub(super) const fn is_running(&self) -> bool {
        self.since.is_some()
    }

    /// Whether a compaction is active.
    pub(super) const fn is_compacting(&self) -> bool {
        self.is_compacting
    }

    /// The user asked for a compaction.
    pub(super) const fn start_compaction(&mut self, now: Timestamp) {
        (self.is_compacting, self.since) = (true, Some(now));
    }

    /// The compaction that the user asked for is recorded, or was refused.
    pub(super) fn end_compaction(&mut self) {
        if self.is_compacting {
            self.end();
        }
    }

    /// Includes a durable event.
    pub(super) fn durable(&mut self, record: &Event) {
        self.seq = record.seq + 1;
        match &record.event {
            AgentEvent::AgentStart(_) | AgentEvent::LoopRecovered { .. } => {
                self.since = self.since.or(Some(record.timestamp));
                self.is_interrupted = false;
                self.cost_before = self.view.as_ref().map(|view| view.usage.cost);
            }
            AgentEvent::AgentEnd { .. } => self.end(),
            AgentEvent::TurnStart { .. } | AgentEvent::MessageEnd { .. } => self.retry = None,
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                self.tools.push((tool_call_id.clone(), tool_name.clone()));
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.tools.retain(|(id, _)| id != tool_call_id);
            }
            AgentEvent::TasksChanged { tasks, .. } => self.tasks.clone_from(tasks),
            AgentEvent::Compaction { .. } => {
                self.compaction = Some(record.id);
                self.end_compaction();
            }
            AgentEvent::CompactionRefused { .. } => self.end_compaction(),
            AgentEvent::CompactionUndone { .. } => self.compaction = None,
            _ => {}
        }
    }

    /// Includes a live event.
    pub(super) fn live(&mut self, record: &Event) {
        match &record.event {
            AgentEvent::ModelRetry { delay_ms, error, .. } => {
                let error = error.to_ascii_lowercase();
                let is_rate_limit = ["429", "rate limit", "rate_limit", "overloaded", "too many requests"]
                    .iter()
                    .any(|words| error.contains(words));
                let at = record.timestamp.after(Duration::from_millis(*delay_ms));
                self.retry = Some((at, is_rate_limit));
            }
            AgentEvent::MessageStart { .. } | AgentEvent::MessageUpdate { .. } => self.retry = None,
            _ => {}
        }
    }

    /// The number of durable events that were included.
    pub(super) const fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the view includes events that have not arrived yet.
    pub(super) fn is_behind(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.seq > self.seq)
    }

    /// Includes a view that is not older than the events.
    pub(super) fn include(&mut self, view: SessionView, now: Timestamp) {
        self.is_interrupted = view.status == SessionStatus::Interrupted;
        if !matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction) {
            // The host may not have the command yet. Its result is an event.
            if !self.is_compacting {
                self.end();
            }
        } else if self.since.is_none() {
            self.since = Some(now);
        }
        // A host may leave out what is completed; the event has the whole list.
        let open = |tasks: &[Task]| -> Vec<Task> {
            tasks.iter().filter(|task| !task.is_completed()).cloned().collect()
        };
        if open(&self.tasks) != open(&view.tasks) {
            self.tasks.clone_from(&view.tasks);
        }
        self.view = Some(view);
    }

    /// The task list of the agent, unless every task is completed.
    pub(super) fn tasks(&self) -> &[Task] {
        if self.tasks.iter().all(Task::is_completed) { &[] } else { &self.tasks }
    }

    /// The cost of the newest run, if the client saw its start.
    pub(super) fn run_cost(&self) -> Option<Cost> {
        let cost = self.view.as_ref()?.usage.cost.as_nano_usd();
        Some(Cost::from_nano_usd(cost.saturating_sub(self.cost_before?.as_nano_usd())))
    }

    fn end(&mut self) {
        (self.since, self.is_compacting) = (None, false);
        self.tools.clear();
        self.retry = None;
    }

    /// The messages that wait.
    pub(super) fn queue(&self) -> &[QueuedMessage] {
        self.view.as_ref().map(|view| view.queue.as_slice()).unwrap_or_default()
    }

    /// A message left the queue; the next view will say so as well.
    pub(super) fn unqueue(&mut self, message: lariat_core::id::MessageId) {
        if let Some(view) = &mut self.view {
            view.queue.retain(|queued| queued.message_id != message);
        }
    }

    /// How long the run is active.
    pub(super) fn elapsed(&self, now: Timestamp) -> Option<Duration> {
        self.since.map(|since| now.since(since))
    }

    /// What the session waits for.
    pub(super) fn waits(&self, asks: usize, now: Timestamp) -> Waits {
        match self.connection {
            Connection::Connecting => return Waits::Connecting,
            Connection::Lost => return Waits::Reconnecting,
            Connection::Reading | Connection::Synced => {}
        }
        if asks > 0 {
            return Waits::You { asks };
        }
        if !self.is_running() {
            return if self.is_interrupted { Waits::Interrupted } else { Waits::Idle };
        }
        if self.is_compacting {
            return Waits::Compaction;
        }
        if let Some((at, is_rate_limit)) = self.retry {
            return Waits::Retry { left: at.since(now), is_rate_limit };
        }
        match self.tools.split_first() {
            Some(((_, name), others)) => Waits::Tool { name: name.clone(), others: others.len() },
            None => Waits::Model,
        }
    }
}
