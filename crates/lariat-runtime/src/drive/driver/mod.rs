//! Drives one run: the loop between the state machine and the outside world.
//!
//! Performs effects in order and enforces the durability barrier. While a batch of events is being written,
//! it performs no other effect and does not read the model's stream (back-pressure). Tools continue to run;
//! what they produce goes to the state machine, whose effects wait for their turn.

mod hook;
mod pay;
mod publish;
mod tell;

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use lariat_core::BoxFuture;
use lariat_core::cancel::{CancellationToken, Cancelled};
use lariat_core::context::NotesQuery;
use lariat_core::event::{AgentEvent, Event, EventRecord, QueueKind};
use lariat_core::hooks::HookInterest;
use lariat_core::id::{RequestId, ToolCallId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::model::{RequestMemo, SystemPrompt};
use lariat_core::permission::PermissionDecision;
use lariat_core::planted::{Planted, planted};
use lariat_core::run::{Effect, Ending, Input, OpId, Run, RunParts};
use lariat_core::store::StoreError;
use lariat_core::tool::Access;

use pay::Paying;
use publish::{Placed, queued};

use super::bounds;
use super::changes::Changes;
use super::gate;
use super::handle::RunHandle;
use super::journal::Journal;
use super::mailbox::Letter;
use super::model_call::ModelCall;
use super::moments::Opening;
use super::ports::Ports;
use super::questions::Questions;
use super::redaction;
use super::timers::Timers;
use super::tool_call::{self, Granted, ToolLeash};
use crate::prompt::{PromptSlot, SessionPrompt};

/// Drives one run to its end.
pub struct Driver {
    ports: Arc<Ports>,
    journal: Arc<Journal>,
    run: Box<Run>,
    handle: RunHandle,
    held: Option<Effect>,
    batch: Vec<EventRecord>,
    flush: Option<BoxFuture<'static, Result<Vec<Event>, StoreError>>>,
    /// A snapshot that is being written. The run does not wait for it.
    saving: Option<BoxFuture<'static, ()>>,
    /// User messages in the batch that is being written.
    in_flight: Vec<(QueueKind, SharedMessage)>,
    published_late: Vec<Placed>,
    model: Option<ModelCall>,
    /// What the provider remembers of the last request.
    memo: RequestMemo,
    jobs: FuturesUnordered<Abortable<BoxFuture<'static, Done>>>,
    job_handles: Vec<(JobKey, AbortHandle)>,
    leashes: Vec<ToolLeash>,
    timers: Timers<TimerKey>,
    cancelled: Option<Cancelled>,
    begun: Option<u64>,
    messages: Vec<SharedMessage>,
    questions: Questions,
    /// The previews that the user saw in approval requests, until the tool calls run.
    shown: Vec<(ToolCallId, String)>,
    unread: Vec<(QueueKind, AgentMessage)>,
    opening: Opening,
    remarked: bool,
    /// Reservations in shared budgets, if there are any.
    paying: Option<Box<Paying>>,
    /// The session's own system prompt.
    prompt: Option<PromptSlot>,
    changes: Changes,
}

/// The result of a job.
pub(crate) struct Done {
    /// The reason why a hook wants the run to end.
    pub(crate) halt: Option<String>,
    /// The input for the state machine, if it waits for one.
    pub(crate) input: Option<Input>,
}

impl From<Input> for Done {
    fn from(input: Input) -> Self {
        Self { halt: None, input: Some(input) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JobKey {
    Op(OpId),
    Request(RequestId),
}

#[derive(Clone, PartialEq, Eq)]
enum TimerKey {
    Op(OpId),
    Grace(ToolCallId),
}

/// What can happen while the driver waits.
enum Happening {
    Input(Input),
    Done(Done),
    Flushed(Result<Vec<Event>, StoreError>),
    Letter(Letter),
    GraceOver(ToolCallId),
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Driven {
    /// How the run ended.
    pub ending: Ending,
    /// All messages that the run produced, in the order in which they were recorded.
    pub messages: Vec<SharedMessage>,
    /// The conversation and the remaining queues, for the next loop.
    pub parts: RunParts,
    /// Messages that arrived too late for this run and are not journaled.
    pub unread: Vec<(QueueKind, AgentMessage)>,
    /// The model received what hooks answered at the start of the session.
    pub(crate) remarked: bool,
    /// The files that tools changed.
    pub(crate) changes: Changes,
}

/// Why a run stopped before its end. It can be recovered from its journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The journal could not be written.
    #[error("the run stopped because its journal could not be written: {0}")]
    Journal(#[from] StoreError),
}

impl Driver {
    /// Creates a driver for a run, and a handle to control it. Triggering `cancel` ends the run.
    pub fn new(
        ports: Arc<Ports>,
        journal: Arc<Journal>,
        run: Box<Run>,
        cancel: CancellationToken,
    ) -> (Box<Self>, RunHandle) {
        let handle = RunHandle { loop_id: run.loop_id().clone(), mailbox: Arc::default(), cancel };
        let driver = Box::new(Self {
            ports,
            journal,
            run,
            handle: handle.clone(),
            held: None,
            batch: Vec::new(),
            flush: None,
            saving: None,
            in_flight: Vec::new(),
            published_late: Vec::new(),
            model: None,
            memo: RequestMemo::default(),
            jobs: FuturesUnordered::new(),
            job_handles: Vec::new(),
            leashes: Vec::new(),
            timers: Timers::default(),
            cancelled: Some(handle.cancel.cancelled()),
            begun: None,
            messages: Vec::new(),
            questions: Questions::default(),
            shown: Vec::new(),
            unread: Vec::new(),
            opening: Opening::default(),
            remarked: false,
            paying: None,
            prompt: None,
            changes: Changes::default(),
        });
        (driver, handle)
    }

    /// Sets what hooks answered at the start of the session, and the file changes that an earlier process
    /// made for this run.
    pub(crate) fn opened(mut self: Box<Self>, opening: Opening, changes: Changes) -> Box<Self> {
        (self.opening, self.changes) = (opening, changes);
        self
    }

    /// Writes these records first, together with the run's own first events.
    pub(crate) fn after(mut self: Box<Self>, records: Vec<EventRecord>) -> Box<Self> {
        self.batch = records;
        self
    }

    /// Sends the session's own system prompt, once it is assembled.
    pub(crate) fn with_prompt(mut self: Box<Self>, prompt: PromptSlot) -> Box<Self> {
        self.prompt = Some(prompt);
        self
    }

    fn session_prompt(&self) -> Option<&SessionPrompt> {
        self.prompt.as_ref()?.get().map(|prompt| &**prompt)
    }

    fn system_prompt(&self) -> Option<&SystemPrompt> {
        self.session_prompt().map(SessionPrompt::system)
    }

    /// Drives the run to its end. Dropping the future stops everything immediately; the journal stays
    /// recoverable.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn drive(mut self: Box<Self>) -> Result<Driven, DriveError> {
        // Process commands that were sent before the start first.
        for letter in self.handle.mailbox.take() {
            self.on_letter(letter);
        }
        if let Some(reason) = self.opening.stop.take() {
            self.feed(Input::Halt { reason });
        }
        self.feed(Input::Begin);
        loop {
            if let Some(ending) = self.perform() {
                if let Some(paying) = self.paying.take() {
                    // Boxed: otherwise the future of every run would reserve space for it.
                    Box::pin(paying.finish()).await;
                }
                let Self { run, messages, handle, mut unread, remarked, changes, .. } = *self;
                unread.extend(handle.close());
                return Ok(Driven { ending, messages, parts: run.into_parts(), unread, remarked, changes });
            }
            match poll_fn(|context| self.poll_happening(context)).await {
                Happening::Input(input) => self.feed(input),
                // Both together: the input that ends the run comes before the one that would continue it.
                Happening::Done(Done { halt, input }) => {
                    let halt = halt.map(|reason| Input::Halt { reason });
                    halt.into_iter().chain(input).for_each(|input| self.feed(input));
                }
                Happening::Letter(letter) => self.on_letter(letter),
                Happening::GraceOver(call) => self.cut(&call),
                Happening::Flushed(result) => {
                    let events = result.inspect_err(|_| self.give_back())?;
                    self.flush = None;
                    self.in_flight.clear();
                    self.publish_flushed(events);
                    self.save_snapshot();
                }
            }
        }
    }

    /// Puts messages that may be unsaved back into the mailbox, before the unread ones.
    fn give_back(&mut self) {
        let mut unsaved = std::mem::take(&mut self.in_flight);
        unsaved.extend(self.batch.iter().filter_map(queued));
        while let Some(effect) = self.held.take().or_else(|| self.run.next_effect()) {
            if let Effect::Record(record) = effect {
                unsaved.extend(queued(&record));
            }
        }
        let unsaved = unsaved.into_iter().map(|(queue, message)| (queue, AgentMessage::clone(&message)));
        let letter = |(queue, message)| Letter::Queue { queue, message: Box::new(message) };
        let mailbox = &self.handle.mailbox;
        let waiting = mailbox.take();
        let unread = std::mem::take(&mut self.unread);
        for letter in unsaved.chain(unread).map(letter).chain(waiting) {
            let _ = mailbox.send(letter);
        }
    }

    fn feed(&mut self, mut input: Input) {
        redaction::input(&self.ports.redactor, &mut input);
        if let Input::ToolFinished { call, result } = &input {
            self.settle_tool(call, result);
            self.leashes.retain(|leash| leash.id != *call);
            self.timers.drop_timer(&TimerKey::Grace(call.clone()));
        }
        let stamp = self.ports.stamp();
        self.run.handle(input, stamp);
    }

    /// Performs effects until the run is over, a write has started, or no effect is left.
    fn perform(&mut self) -> Option<Ending> {
        loop {
            if self.flush.is_some() {
                return None;
            }
            let effect = self.held.take().or_else(|| self.run.next_effect())?;
            if self.needs_barrier(&effect) && !self.batch.is_empty() {
                self.held = Some(effect);
                self.start_flush();
                continue;
            }
            match effect {
                Effect::Finish(ending) => return Some(ending),
                effect => self.act(effect),
            }
        }
    }

    /// Whether everything recorded before an effect must be durable first. Not if the effect cannot reach the
    /// outside world: a hook that is not interested, a policy that only judges, or a source that only reads.
    fn needs_barrier(&self, effect: &Effect) -> bool {
        let unheard = self.ports.hooks.interest() == HookInterest::None;
        let inert = match effect {
            Effect::Hook(_) => unheard,
            Effect::Authorize { .. } => unheard && self.only_judges(),
            Effect::Consult { .. } => self.only_looks(),
            _ => false,
        };
        let skipped = planted(Planted::DispatchBeforeAppend) && matches!(effect, Effect::RunTool { .. });
        effect.touches_world() && !inert && !skipped
    }

    /// A policy that panics may have had an effect.
    fn only_judges(&self) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.ports.policy.only_judges())).unwrap_or(false)
    }

    fn only_looks(&self) -> bool {
        let looks = || self.ports.notes.as_ref().is_none_or(|source| source.only_looks());
        std::panic::catch_unwind(AssertUnwindSafe(looks)).unwrap_or(false)
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Record(record) => self.record(*record),
            Effect::Hook(call) => self.call_hook(call),
            Effect::Filter { op, prompts } => self.judge_prompts(op, &prompts),
            Effect::Tell { op, moment } => self.tell(op, moment),
            Effect::CallModel { op, window, candidate, .. } => {
                // If the policy panics, the model gets only read access.
                let access = std::panic::catch_unwind(AssertUnwindSafe(|| self.ports.policy.access()));
                let tools = self.ports.tools.offered(access.unwrap_or(Access::Reads));
                let request =
                    self.ports.request.with(window, tools, candidate, &self.memo, self.system_prompt());
                self.model = Some(ModelCall::start(op, &*self.ports.model, request, &self.handle.cancel));
            }
            Effect::Consult { op, window, told, memory, turn_index } => {
                let query =
                    NotesQuery::new(window, told, turn_index, self.ports.clock.now()).with_memory(memory);
                self.consult(op, query);
            }
            Effect::Admit { op, tokens, candidate } => self.admit(op, tokens, candidate),
            Effect::AdmitTool { call, args } => self.admit_tool(&call, args),
            Effect::Settle { op, usage } => self.settle(op, usage),
            Effect::AskForMore { request } => self.ask_for_more(request),
            Effect::ExtendBudget { scope, limits } => self.extend_shared(scope, &limits),
            Effect::StartTimer { op, at } => self.timers.set(at, TimerKey::Op(op)),
            Effect::Compact { op, query } => self.compact(op, *query),
            Effect::Abandon { op } => {
                self.timers.drop_timer(&TimerKey::Op(op));
                self.model.take_if(|call| call.op() == op);
                self.abort_job(JobKey::Op(op));
                self.give_up(op);
            }
            Effect::Authorize { call } => {
                let job = gate::authorize(&self.ports, self.journal.session_id(), &self.handle.loop_id, call);
                self.start_job(None, job);
            }
            Effect::Ask { request } => {
                // A recovered run repeats requests that an earlier process recorded.
                self.questions.ask(&request);
                let shown = request.preview.clone().map(|shown| (request.tool_call_id.clone(), shown));
                self.shown.extend(shown);
                self.notify(&request);
                if let Some(approver) = self.ports.approver.clone() {
                    let key = JobKey::Request(request.id);
                    let job = Box::pin(async move {
                        // An approver that panics denies.
                        let asking = AssertUnwindSafe(async { approver.ask(&request).await });
                        let failed = |_| PermissionDecision::deny("the approver failed");
                        let decision = asking.catch_unwind().await.unwrap_or_else(failed);
                        Input::PermissionAnswered { request: request.id, decision }.into()
                    });
                    self.start_job(Some(key), job);
                }
            }
            Effect::Withdraw { request } => self.abort_job(JobKey::Request(request)),
            Effect::RunTool { call, args } => {
                let at = self.shown.iter().position(|(id, _)| *id == call.id);
                let shown = at.map(|at| self.shown.swap_remove(at).1);
                let (leash, job) = tool_call::start(
                    &self.ports,
                    Granted { call, args, shown },
                    &self.journal,
                    &self.handle.loop_id,
                    &self.handle.mailbox,
                    &self.handle.cancel,
                );
                self.leashes.push(leash);
                self.start_job(None, job);
            }
            Effect::CancelTool { call } => {
                if let Some(leash) = self.leashes.iter().find(|leash| leash.id == call) {
                    leash.cancel.cancel();
                    let at = self.ports.clock.now().after(self.ports.tool_grace);
                    self.timers.set(at, TimerKey::Grace(call));
                }
            }
            // No other effect is left: the caller handles `Finish`.
            _ => {}
        }
    }

    fn start_job(&mut self, key: Option<JobKey>, job: BoxFuture<'static, Done>) {
        let (handle, registration) = AbortHandle::new_pair();
        self.jobs.push(Abortable::new(job, registration));
        if let Some(key) = key {
            self.job_handles.push((key, handle));
        }
    }

    fn abort_job(&mut self, key: JobKey) {
        if let Some(at) = self.job_handles.iter().position(|(other, _)| *other == key) {
            self.job_handles.swap_remove(at).1.abort();
        }
    }

    fn cut(&self, call: &ToolCallId) {
        if let Some(leash) = self.leashes.iter().find(|leash| leash.id == *call) {
            leash.cut.cancel();
        }
    }

    /// Polls for the next thing that happens. Polls in a fixed order, so that runs are reproducible; the
    /// model comes last, because only its stream can be endless.
    fn poll_happening(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        if self.flush.is_none() && !self.batch.is_empty() {
            // A verdict that is available immediately is written together with the tool call it is about.
            if let Poll::Ready(done) = self.poll_jobs(context) {
                return Poll::Ready(Happening::Done(done));
            }
            self.start_flush();
        }
        if let Some(flush) = &mut self.flush
            && let Poll::Ready(result) = flush.as_mut().poll(context)
        {
            return Poll::Ready(Happening::Flushed(result));
        }
        if let Some(saving) = &mut self.saving
            && saving.as_mut().poll(context).is_ready()
        {
            self.saving = None;
        }
        if let Some(paying) = &mut self.paying {
            paying.poll(context);
        }
        if let Some(cancelled) = &mut self.cancelled
            && std::pin::Pin::new(cancelled).poll(context).is_ready()
        {
            self.cancelled = None;
            return Poll::Ready(Happening::Input(Input::Cancel));
        }
        if let Poll::Ready(letter) = self.handle.mailbox.poll(context) {
            return Poll::Ready(Happening::Letter(letter));
        }
        if let Poll::Ready(key) = self.timers.poll(&*self.ports.clock, context) {
            return Poll::Ready(match key {
                TimerKey::Op(op) => Happening::Input(Input::Timer { op }),
                TimerKey::Grace(call) => Happening::GraceOver(call),
            });
        }
        if let Poll::Ready(done) = self.poll_jobs(context) {
            return Poll::Ready(Happening::Done(done));
        }
        if self.flush.is_none()
            && let Some(call) = &mut self.model
            && let Poll::Ready(input) = call.poll(context)
        {
            if let Input::Model { signal, .. } = &input
                && signal.is_last()
            {
                self.model = None;
            }
            return Poll::Ready(Happening::Input(input));
        }
        Poll::Pending
    }

    fn poll_jobs(&mut self, context: &mut Context<'_>) -> Poll<Done> {
        while let Poll::Ready(Some(finished)) = self.jobs.poll_next_unpin(context) {
            // Ignore aborted jobs.
            if let Ok(done) = finished {
                self.forget_job(done.input.as_ref());
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }

    /// Writes a snapshot if one is due and everything that this loop recorded is written.
    fn save_snapshot(&mut self) {
        if self.saving.is_some()
            || !self.batch.is_empty()
            || matches!(self.held, Some(Effect::Record(_)))
            || !self.journal.wants_snapshot(self.run.transcript().len())
        {
            return;
        }
        self.saving = self.run.snapshot().map(|snapshot| self.journal.keep_snapshot(&snapshot));
    }

    fn forget_job(&mut self, input: Option<&Input>) {
        let key = match input {
            Some(
                Input::Compacted { op, .. }
                | Input::Told { op, .. }
                | Input::Consulted { op, .. }
                | Input::Admitted { op, .. },
            ) => JobKey::Op(*op),
            Some(Input::PermissionAnswered { request, .. } | Input::BudgetAnswered { request, .. }) => {
                JobKey::Request(*request)
            }
            _ => return,
        };
        self.job_handles.retain(|(other, _)| *other != key);
    }

    fn on_letter(&mut self, letter: Letter) {
        match letter {
            // The run's last events are being written: it accepts no more messages, and none may be lost.
            Letter::Queue { queue, message } if self.run.is_finished() => self.unread.push((queue, *message)),
            Letter::Queue { queue, message } => self.feed(Input::Queued { queue, message: *message }),
            Letter::Pin { message, pinned } => self.feed(Input::Pin { message, pinned }),
            Letter::Answer { request, decision } => {
                self.feed(Input::PermissionAnswered { request, decision })
            }
            Letter::MoreBudget { scope, limits } => {
                self.feed(Input::BudgetExtended { scope, limits, by: "user".to_owned() });
            }
            Letter::BudgetAnswer { request, more } => {
                self.feed(Input::BudgetAnswered { request, more, by: "user".to_owned() });
            }
            Letter::Update { call, mut partial } => {
                redaction::result(&self.ports.redactor, &mut partial);
                bounds::partial(&mut partial, self.ports.max_tool_output);
                self.on_update(call, partial);
            }
            Letter::Progress { call, mut text } => {
                redaction::text(&self.ports.redactor, &mut text);
                bounds::progress(&mut text, self.ports.max_tool_output);
                let tool_name = self.tool_name(&call);
                if let Some(tool_name) = tool_name {
                    self.record_live(AgentEvent::ProgressMessage { tool_call_id: call, tool_name, text });
                }
            }
        }
    }

    /// Returns the tool of a running tool call. Updates after its end are dropped.
    fn tool_name(&self, call: &ToolCallId) -> Option<String> {
        self.leashes.iter().find(|leash| leash.id == *call).map(|leash| leash.tool_name.clone())
    }
}
