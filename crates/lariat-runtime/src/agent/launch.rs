//! Starts runs: lends the agent's context to a task and returns it however the task ends.
//!
//! Also starts the tasks that pass a run's events to callbacks, senders and observers. Invariant: the agent
//! has its context back before the stream of the run ends.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::evaluation::EvaluationStrategy;
use lariat_core::event::{CommandRecord, ContinuationKind, Event};
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
#[cfg(feature = "typed")]
use lariat_core::model::OutputSchema;
use lariat_core::run::RecoverError;
use lariat_core::transcript::Window;

use super::builder::Callback;
use super::context::AgentContext;
use super::error::AgentError;
use super::forward::{EndSignal, EventSender, forward_events};
use super::handle::{ActiveRun, Agent};
use super::loop_config::AgentLoopConfig;
use super::loops;
use super::output::AgentOutput;
use super::parallel;
use super::plan::{self, PlanDecision};
use super::stream::{Link, RunStream};
use crate::drive::MissingApprover;
use crate::observe::{DEFAULT_CAPACITY, Observer};

/// What a run has to do.
pub(super) enum LaunchTask {
    Prompt(Vec<AgentMessage>),
    /// A prompt whose answer must match a schema.
    #[cfg(feature = "typed")]
    Answer(Vec<AgentMessage>, Arc<OutputSchema>),
    Continue(ContinuationKind),
    Recover,
    Plan(PlanDecision),
    /// Answers the first queued message.
    Deliver,
    /// A prompt for branches with these configurations, of which the strategy selects one.
    Branches(Vec<AgentMessage>, Vec<AgentLoopConfig>, Arc<dyn EvaluationStrategy>),
    /// A task that a command caused. Both are recorded in one write.
    Command(Box<CommandRecord>, Box<LaunchTask>),
}

/// What the caller of a run does until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Waits for the result. It cannot answer an approval request.
    Waits,
    /// Receives the events and can answer.
    Watches,
}

/// The callback and the observers of an agent, which receive the events of every run.
pub(super) struct Watchers {
    pub(super) callback: Option<Callback>,
    pub(super) observers: Arc<[Arc<dyn Observer>]>,
}

fn callback_sender(callback: Option<Callback>, mut sender: Option<Box<dyn EventSender>>) -> impl EventSender {
    move |event: Event| {
        if let Some(callback) = &callback {
            callback(&event.event);
        }
        if let Some(sender) = &mut sender {
            sender.send(event);
        }
    }
}

/// Passes events to observers. An observer that panics misses that event; the others do not.
pub(crate) fn observer_sender(
    observers: Arc<[Arc<dyn Observer>]>,
    session_id: SessionId,
) -> impl EventSender {
    move |event: Event| {
        for observer in observers.iter() {
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| observer.observe(&session_id, &event)));
        }
    }
}

impl Agent {
    /// Runs a prompt to its end, with a schema for the answer.
    #[cfg(feature = "typed")]
    pub(crate) async fn run_for_answer(
        &self,
        prompt: AgentMessage,
        schema: &Arc<OutputSchema>,
    ) -> Result<AgentOutput, AgentError> {
        self.start(LaunchTask::Answer(vec![prompt], Arc::clone(schema)), Caller::Waits, None)?.finish().await
    }

    #[cfg(feature = "typed")]
    pub(crate) fn answer_retries(&self) -> u32 {
        self.shared.answer_retries
    }

    /// Starts a run in a task of its own.
    pub(super) fn start(
        &self,
        task: LaunchTask,
        caller: Caller,
        sender: Option<Box<dyn EventSender>>,
    ) -> Result<RunStream, AgentError> {
        // Runs, observers and callbacks are tokio tasks.
        let executor = tokio::runtime::Handle::try_current().map_err(|_| AgentError::NoRuntime)?;
        let (link, cancel) = (Arc::new(Link::default()), CancellationToken::new());
        let (end_signal, published) = (EndSignal::default(), EndSignal::default());
        let watchers = &self.shared.watchers;
        let (context, events, to_callback, to_observers) = {
            let mut state = self.state();
            if state.running.is_some() {
                return Err(AgentError::Busy);
            }
            let mut context = state.context.take().ok_or(AgentError::Busy)?;
            for (queue, message) in std::mem::take(&mut state.waiting) {
                context.queue(queue, message);
            }
            context.extend_budgets(std::mem::take(&mut state.budget_extensions));
            state.snapshot = context.messages();
            state.running = Some(ActiveRun {
                link: Arc::clone(&link),
                cancel: cancel.clone(),
                end_signal: end_signal.clone(),
            });
            state.begun = true;
            if !matches!(task, LaunchTask::Recover) {
                state.last_active_at = Some(self.shared.config.ports.clock.now());
            }
            let hub = state.journal.hub();
            let wanted = |wanted: bool| wanted.then(|| hub.subscribe(DEFAULT_CAPACITY));
            let to_callback = wanted(sender.is_some() || watchers.callback.is_some());
            (context, hub.subscribe(DEFAULT_CAPACITY), to_callback, wanted(!watchers.observers.is_empty()))
        };
        // In tasks of their own, so that a callback that is slow, blocks or panics affects neither the run nor
        // the observers.
        let to_callback = to_callback.map(|events| {
            let sender = callback_sender(watchers.callback.clone(), sender);
            executor.spawn(forward_events(events, sender, published.clone()))
        });
        let to_observers = to_observers.map(|events| {
            let sender =
                observer_sender(Arc::clone(&watchers.observers), context.journal().session_id().clone());
            executor.spawn(forward_events(events, sender, published.clone()))
        });
        let mut lent = LentContext {
            agent: self.clone(),
            context: Some(context),
            link: Arc::clone(&link),
            published,
            end_signal: end_signal.clone(),
            until: None,
        };
        let (agent, stop) = (self.clone(), cancel.clone());
        let future = async move {
            let connect = Arc::clone(&lent.link);
            let Some(context) = &mut lent.context else { return Err(AgentError::TaskLost) };
            let before = context.messages();
            let result = agent.execute(task, caller, context, stop, &connect).await;
            let ended = loops::reached_end(&result);
            if !ended {
                // Boxed: otherwise the future of every run would reserve space for it.
                Box::pin(context.reload_after_failure(&before)).await;
            }
            lent.until = ended.then(|| context.journal().next_seq());
            lent.published.set(lent.until);
            for forwarding in [to_callback, to_observers].into_iter().flatten() {
                let _ = forwarding.await;
            }
            result
        };
        let task = executor.spawn(future);
        Ok(RunStream::new(events, task, cancel, link, end_signal))
    }

    async fn execute(
        &self,
        task: LaunchTask,
        caller: Caller,
        context: &mut AgentContext,
        cancel: CancellationToken,
        link: &Link,
    ) -> Result<AgentOutput, AgentError> {
        let mut config = self.shared.config.clone();
        if caller == Caller::Watches {
            config.missing_approver = MissingApprover::Wait;
        }
        let config = &config;
        let started = |handle| link.connect(&handle);
        let (prompts, kind) = match task {
            LaunchTask::Command(command, task) => {
                context.accept(*command);
                let result = Box::pin(self.execute(*task, caller, context, cancel, link)).await;
                context.forget_command();
                return result;
            }
            LaunchTask::Recover => {
                // Boxed, like the next ones: otherwise the future of every run would reserve space for it.
                let recovered = Box::pin(loops::recover(context, config, cancel, started)).await?;
                return recovered.ok_or_else(|| RecoverError::UnknownLoop("none".into()).into());
            }
            LaunchTask::Plan(decision) => {
                return Box::pin(plan::apply_plan(decision, context, config, cancel, started)).await;
            }
            LaunchTask::Branches(prompts, mut configs, strategy) => {
                for branch in &mut configs {
                    branch.missing_approver = config.missing_approver;
                }
                let run = parallel::branch_from(prompts, context, &configs, &*strategy, cancel, started);
                return Box::pin(run).await;
            }
            #[cfg(feature = "typed")]
            LaunchTask::Answer(prompts, schema) => {
                // For this run only: the agent's own request stays unchanged.
                let mut ports = crate::drive::Ports::clone(&config.ports);
                ports.request.output_schema = Some(schema);
                let config = AgentLoopConfig { ports: Arc::new(ports), ..config.clone() };
                let run = loops::begin_and_drive(prompts, None, context, &config, cancel, started);
                return Box::pin(run).await;
            }
            LaunchTask::Deliver => (vec![Box::pin(context.take_queued()).await?], None),
            LaunchTask::Continue(kind) => (Vec::new(), Some(kind)),
            LaunchTask::Prompt(prompts) => (prompts, None),
        };
        loops::begin_and_drive(prompts, kind, context, config, cancel, started).await
    }

    /// Lends the context to an action that is not a run.
    pub(super) async fn borrow<T>(
        &self,
        act: impl AsyncFnOnce(&mut AgentContext, CancellationToken) -> Result<T, AgentError>,
    ) -> Result<T, AgentError> {
        let (link, end_signal) = (Arc::new(Link::default()), EndSignal::default());
        let cancel = CancellationToken::new();
        let context = {
            let mut state = self.state();
            let context = state.context.take().ok_or(AgentError::Busy)?;
            state.snapshot = context.messages();
            let running =
                ActiveRun { link: Arc::clone(&link), cancel: cancel.clone(), end_signal: end_signal.clone() };
            state.running = Some(running);
            context
        };
        let published = end_signal.clone();
        let mut lent = LentContext {
            agent: self.clone(),
            context: Some(context),
            link,
            published,
            end_signal,
            until: None,
        };
        match &mut lent.context {
            Some(context) => act(context, cancel).await,
            None => Err(AgentError::TaskLost),
        }
    }

    /// Returns a stream that ends immediately, for a run that could not be started.
    pub(super) fn failed_stream(&self, error: AgentError) -> RunStream {
        let end_signal = EndSignal::default();
        end_signal.set(None);
        let events = self.state().journal.hub().subscribe(1);
        RunStream::from_error(events, error, end_signal)
    }
}

/// A context lent to a run. On drop, returns it to the agent, however the task of the run ends, even by a
/// panic.
struct LentContext {
    agent: Agent,
    context: Option<AgentContext>,
    link: Arc<Link>,
    /// Tells the callback's task that everything is published.
    published: EndSignal,
    /// Tells the stream that the agent is free.
    end_signal: EndSignal,
    /// The number of published events, if the run reached its end.
    until: Option<u64>,
}

impl LentContext {
    fn return_context(&mut self) {
        let early = self.link.close();
        let Some(context) = self.context.take() else { return };
        let mut state = self.agent.state();
        // After a reset, the agent has another context; the journal of this one is complete in any case.
        if Arc::ptr_eq(&state.journal, context.journal()) {
            state.running = None;
            state.snapshot = Window::default();
            state.context = Some(context);
            state.waiting.extend(early);
        }
    }
}

impl Drop for LentContext {
    fn drop(&mut self) {
        self.published.set(None);
        self.return_context();
        self.end_signal.set(self.until);
    }
}
