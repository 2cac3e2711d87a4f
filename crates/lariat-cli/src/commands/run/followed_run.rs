//! Follows the runs that a client starts to their end, from the events of the session.
//!
//! A run may be followed by another one without a command: for messages that came too late for it.

use std::collections::HashSet;

use lariat_api::{SessionStatus, SessionView};
use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::MessageId;
use lariat_core::time::Timestamp;
use lariat_service::clock;

use super::client::SessionClient;
use super::ending;
use super::figures::{RunFigures, RunFold};
use crate::problem::Problem;
use crate::wire::json::Ending;

/// What the events of a session say about its runs.
#[derive(Debug, Default)]
pub(super) struct RunTracker {
    fold: RunFold,
    /// Whether the events that existed at the beginning were read. They are not shown.
    pub(super) is_synced: bool,
    /// All messages that wait for delivery.
    waiting: HashSet<MessageId>,
}

impl RunTracker {
    /// Tracks a session. `view` is its state, if it has any.
    pub(super) fn new(view: Option<&SessionView>) -> Self {
        let waiting = view.iter().flat_map(|view| &view.queue).map(|queued| queued.message_id).collect();
        Self { waiting, ..Self::default() }
    }

    /// Handles an event. Returns the figures of a run at its end, unless it ended before the beginning.
    pub(super) fn event(&mut self, record: &EventRecord) -> Option<RunFigures> {
        let figures = self.fold.event(record);
        if !self.is_synced {
            return None;
        }
        match &record.event {
            AgentEvent::MessageQueued { message, .. } => {
                self.waiting.insert(message.id());
            }
            AgentEvent::MessageUnqueued { message_id } => {
                self.waiting.remove(message_id);
            }
            AgentEvent::MessageEnd { message } => {
                self.waiting.remove(&message.id());
            }
            _ => {}
        }
        figures
    }

    /// Whether another run follows the one that ended, for messages that came too late for it. `message` is the position of
    /// the newest message that the user sent.
    async fn has_next_run(
        &self,
        client: &SessionClient,
        ended: &RunFigures,
        message: u64,
    ) -> Result<bool, Problem> {
        if self.waiting.is_empty() && message < ended.seq {
            return Ok(false);
        }
        let view = client.view().await.map_err(ending::host_problem)?;
        let is_running = matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction);
        // A message that does not wait any more has a run, whose end may be in the log already. After a stop, the host
        // delivers nothing by itself.
        let is_taken = view.queue.is_empty() && view.seq > ended.seq + 1;
        Ok(is_running || is_taken || (ended.outcome.is_completed() && !view.queue.is_empty()))
    }
}

/// A run that a client started.
pub(super) struct FollowedRun {
    began: Timestamp,
    /// Whether the command that starts it is durable. A recovered run may end before that.
    pub(super) is_accepted: bool,
    /// The position of the newest message that the user sent.
    pub(super) message: u64,
    /// The newest end of a run.
    pub(super) ended: Option<RunFigures>,
    /// The sum of the runs before it.
    earlier: Option<Ending>,
}

impl FollowedRun {
    /// A run that starts now. Its figures are added to those of an earlier one.
    pub(super) fn after(earlier: Option<Ending>) -> Self {
        Self { began: clock::now(), is_accepted: false, message: 0, ended: None, earlier }
    }

    /// Returns the end with the figures of all runs, if the run ended and no other follows.
    pub(super) async fn ending(
        &mut self,
        tracker: &RunTracker,
        client: &SessionClient,
    ) -> Result<Option<Ending>, Problem> {
        if !self.is_accepted {
            return Ok(None);
        }
        let Some(figures) = self.ended.take() else { return Ok(None) };
        let continues = tracker.has_next_run(client, &figures, self.message).await?;
        let began = std::mem::replace(&mut self.began, clock::now());
        let ending = figures.ending(began).after(self.earlier.as_ref());
        if !continues {
            return Ok(Some(ending));
        }
        self.earlier = Some(ending);
        Ok(None)
    }
}
