//! A run as a stream of events, with which the caller can answer approval requests, steer and cancel.
//!
//! Dropping the stream cancels the run; the task of the run still journals its end and cleans up.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::StreamExt;
use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::cancel::{Cancellation, CancellationToken};
use lariat_core::event::{AgentEvent, Event, QueueKind};
use lariat_core::id::{LoopId, MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use tokio::task::JoinHandle;

use super::error::AgentError;
use super::forward::EndSignal;
use super::output::AgentOutput;
use crate::drive::{CommandReply, RunCommand, RunHandle};
use crate::observe::Subscription;

/// An active run. Read its events with [`RunStream::next`], or only wait for its end with
/// [`RunStream::finish`].
#[derive(Debug)]
pub struct RunStream {
    events: Option<Subscription>,
    task: StreamTask,
    cancel: CancellationToken,
    link: Arc<Link>,
    end_signal: EndSignal,
    waiting: Cancellation,
    /// The run's last event, until the agent is free again.
    last: Option<Event>,
    loops: SeenLoops,
    finished: bool,
}

/// Which loops a stream has seen, to know its last event.
#[derive(Debug, Default)]
struct SeenLoops {
    first: Option<LoopId>,
    /// Whether the run consists of several branches.
    are_branches: bool,
}

impl SeenLoops {
    /// Returns whether an event is the last of the run: the end of its loop, or the decision about its branches.
    fn is_last(&mut self, event: &Event) -> bool {
        let is_other = event.loop_id.is_some() && self.first.is_some() && self.first != event.loop_id;
        let begins = matches!(event.event, AgentEvent::ParallelLoopStart { .. });
        self.are_branches |= is_other || begins;
        self.first = self.first.take().or_else(|| event.loop_id.clone());
        match event.event {
            AgentEvent::AgentEnd { .. } => !self.are_branches,
            AgentEvent::ParallelLoopEnd { .. } => true,
            _ => false,
        }
    }
}

/// The task that drives the run.
#[derive(Debug)]
enum StreamTask {
    Running(JoinHandle<Result<AgentOutput, AgentError>>),
    /// The run could not be started.
    Failed(Option<AgentError>),
}

/// The run's handle once it has begun, and the messages sent before that.
#[derive(Debug, Default)]
pub(super) struct Link {
    state: Mutex<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    handle: Option<RunHandle>,
    early: Vec<(QueueKind, AgentMessage)>,
    commands: Vec<RunCommand>,
    closed: bool,
}

impl Link {
    fn with<T>(&self, act: impl FnOnce(&mut LinkState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn connect(&self, handle: &RunHandle) {
        self.with(|state| {
            for (queue, message) in state.early.drain(..) {
                let _ = match queue {
                    QueueKind::Steering => handle.steer(message),
                    QueueKind::FollowUp => handle.follow_up(message),
                };
            }
            state.commands.drain(..).for_each(|command| handle.command(Box::new(command)));
            state.handle = Some(handle.clone());
        });
    }

    pub(super) fn send(&self, queue: QueueKind, message: AgentMessage) -> Result<(), Box<AgentMessage>> {
        self.with(|state| match (&state.handle, queue) {
            (Some(handle), QueueKind::Steering) => handle.steer(message),
            (Some(handle), QueueKind::FollowUp) => handle.follow_up(message),
            (None, _) if state.closed => Err(Box::new(message)),
            (None, queue) => {
                state.early.push((queue, message));
                Ok(())
            }
        })
    }

    /// Sends a command, to which the run replies.
    pub(super) fn command(&self, command: Box<RunCommand>) {
        self.with(|state| match &state.handle {
            Some(handle) => handle.command(command),
            None if state.closed => drop(command.reply.send(CommandReply::RunEnded)),
            None => state.commands.push(*command),
        });
    }

    /// Closes the link. Returns the messages sent to a run that never began.
    pub(super) fn close(&self) -> Vec<(QueueKind, AgentMessage)> {
        self.with(|state| {
            state.closed = true;
            for command in state.commands.drain(..) {
                let _ = command.reply.send(CommandReply::RunEnded);
            }
            std::mem::take(&mut state.early)
        })
    }

    /// Extends a budget of the run. Returns false if there is no run.
    pub(super) fn extend_budget(&self, scope: BudgetScope, more: BudgetLimits) -> bool {
        self.with(|state| {
            if let Some(handle) = &state.handle {
                handle.extend_budget(scope, more);
            }
            state.handle.is_some()
        })
    }

    pub(super) fn respond_budget(&self, request: RequestId, more: Option<BudgetLimits>) {
        self.with(|state| {
            if let Some(handle) = &state.handle {
                handle.respond_budget(request, more);
            }
        });
    }

    /// Pins a message in the run; returns false if no run has begun or it is over.
    pub(super) fn pin(&self, message: MessageId, pinned: bool) -> bool {
        self.with(|state| state.handle.as_ref().is_some_and(|handle| handle.pin(message, pinned)))
    }

    pub(super) fn respond(&self, request: RequestId, decision: PermissionDecision) {
        self.with(|state| {
            if let Some(handle) = &state.handle {
                handle.respond_permission(request, decision);
            }
        });
    }
}

impl RunStream {
    pub(super) fn new(
        events: Subscription,
        task: JoinHandle<Result<AgentOutput, AgentError>>,
        cancel: CancellationToken,
        link: Arc<Link>,
        end_signal: EndSignal,
    ) -> Self {
        Self::of(events, StreamTask::Running(task), cancel, link, end_signal)
    }

    /// Creates the stream of a run that could not be started.
    pub(super) fn from_error(events: Subscription, error: AgentError, end_signal: EndSignal) -> Self {
        Self::of(
            events,
            StreamTask::Failed(Some(error)),
            CancellationToken::new(),
            Arc::default(),
            end_signal,
        )
    }

    fn of(
        events: Subscription,
        task: StreamTask,
        cancel: CancellationToken,
        link: Arc<Link>,
        end_signal: EndSignal,
    ) -> Self {
        let waiting = end_signal.wait_for_end();
        Self {
            events: Some(events),
            task,
            cancel,
            link,
            end_signal,
            waiting,
            last: None,
            loops: SeenLoops::default(),
            finished: false,
        }
    }

    /// Returns the next event; `None` after the run's `AgentEnd`, or if the run stopped with an error (see
    /// [`RunStream::finish`]). Once you have received `AgentEnd`, the agent accepts the next prompt. The last event of branches
    /// is `ParallelLoopEnd`.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// Answers an approval request. Only the first answer to a request is used.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        self.link.respond(request, decision);
    }

    /// Sends a message that the model receives between tool calls or at the end of the turn. Returns false if
    /// the run is over.
    pub fn inject_message(&self, message: impl Into<AgentMessage>) -> bool {
        self.link.send(QueueKind::Steering, message.into()).is_ok()
    }

    /// Queues a message that the model receives when it would otherwise stop. Returns false if the run is over.
    pub fn queue_message(&self, message: impl Into<AgentMessage>) -> bool {
        self.link.send(QueueKind::FollowUp, message.into()).is_ok()
    }

    /// Cancels the run. Its `AgentEnd` still follows.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end of the run like [`RunStream::finish`], but dropping the future does not cancel the run: for a host
    /// whose runs do not depend on who waits for them. A run whose process ends stays recoverable.
    ///
    /// # Errors
    /// As for [`RunStream::finish`].
    pub fn finish_detached(mut self) -> impl Future<Output = Result<AgentOutput, AgentError>> + Send + use<> {
        self.events = None;
        self.finished = true;
        let task = std::mem::replace(&mut self.task, StreamTask::Failed(None));
        async move {
            match task {
                StreamTask::Running(task) => task.await.unwrap_or(Err(AgentError::TaskLost)),
                StreamTask::Failed(error) => Err(error.unwrap_or(AgentError::TaskLost)),
            }
        }
    }

    /// Waits for the end of the run and discards the remaining events. Dropping the future cancels the run.
    ///
    /// # Errors
    /// If the run could not be started or stopped before its end; [`AgentError::Failed`] if its model failed
    /// permanently.
    pub async fn finish(mut self) -> Result<AgentOutput, AgentError> {
        self.events = None;
        let result = match &mut self.task {
            StreamTask::Running(task) => task.await.unwrap_or(Err(AgentError::TaskLost)),
            StreamTask::Failed(error) => Err(error.take().unwrap_or(AgentError::TaskLost)),
        };
        self.finished = true;
        result
    }
}

impl Stream for RunStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        if this.finished {
            return Poll::Ready(None);
        }
        let Some(events) = &mut this.events else { return Poll::Ready(None) };
        if this.last.is_none() {
            match ready!(this.end_signal.poll_next(events, &mut this.waiting, context)) {
                Some(event) if this.loops.is_last(&event) => this.last = Some(event),
                Some(event) => return Poll::Ready(Some(event)),
                // A run that stopped with an error publishes no end; its task returns the error.
                None => {
                    this.finished = true;
                    return Poll::Ready(None);
                }
            }
        }
        ready!(Pin::new(&mut this.waiting).poll(context));
        this.finished = true;
        Poll::Ready(this.last.take())
    }
}

impl Drop for RunStream {
    fn drop(&mut self) {
        if !self.finished {
            self.cancel.cancel();
        }
    }
}
