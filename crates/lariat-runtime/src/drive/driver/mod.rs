//! Drives one run: the loop between the state machine and the outside world.
//!
//! Performs effects in order and enforces the durability barrier. While a batch of events is being written,
//! it performs no other effect and does not read the model's stream (back-pressure). Tools continue to run;
//! what they produce goes to the state machine, whose effects wait for their turn.

mod commands;
pub(crate) mod findings;
mod hook_jobs;
mod in_process_hooks;
mod model_requests;
mod publish;
mod reservations;
mod siblings;
mod sub_agents;
pub(crate) mod tool_questions;

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use lariat_core::BoxFuture;
use lariat_core::cancel::{Cancellation, CancellationToken};
use lariat_core::context::NotesQuery;
use lariat_core::event::{AgentEvent, Event, EventRecord, QueueKind};
use lariat_core::hooks::HookInterest;
use lariat_core::id::{LoopId, RequestId, ToolCallId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::model::{RequestMemo, SystemPrompt};
use lariat_core::permission::PermissionDecision;
use lariat_core::run::{Effect, Input, OpId, Run, RunEnd, RunParts};
use lariat_core::session::FileChanges;
use lariat_core::store::StoreError;
use tokio::sync::oneshot;

use publish::queued_message;
use reservations::RunReservations;
use sub_agents::SubAgentBudget;

use super::approvals::{MissingApprover, NO_APPROVER, PendingApprovals};
use super::authorize::{authorize, judge_answer};
use super::batch::Batch;
use super::command::{CommandReply, RunCommand};
use super::handle::RunHandle;
use super::journal::Journal;
use super::mailbox::MailboxItem;
use super::model_call::ModelCall;
use super::output_limit;
use super::ports::Ports;
use super::redaction;
use super::session_hooks::SessionStartAnswer;
use super::timers::Timers;
use super::tool_call::{self, AuthorizedCall, RunningTool};
use crate::observe::Subscription;
use crate::prompt::{PromptSlot, SessionPrompt};

/// Drives one run to its end.
pub struct Driver {
    ports: Arc<Ports>,
    journal: Arc<Journal>,
    run: Box<Run>,
    handle: RunHandle,
    held: Option<Effect>,
    batch: Batch,
    flush: Option<BoxFuture<'static, Result<Vec<Event>, StoreError>>>,
    /// A snapshot that is being written. The run does not wait for it.
    snapshot_write: Option<BoxFuture<'static, ()>>,
    /// User messages in the batch that is being written.
    unsaved_messages: Vec<(QueueKind, SharedMessage)>,
    /// The position after the last event of this run that was written.
    written: u64,
    /// The events of the loops that run at the same time, if this is one of several branches.
    siblings: Option<Subscription>,
    is_branch: bool,
    model: Option<ModelCall>,
    /// What the provider remembers of the last request.
    memo: RequestMemo,
    jobs: FuturesUnordered<Abortable<BoxFuture<'static, JobResult>>>,
    job_handles: Vec<(JobKey, AbortHandle)>,
    running_tools: Vec<RunningTool>,
    /// Tools that wait for an answer of the user.
    asking_tools: Vec<(ToolCallId, oneshot::Sender<PermissionDecision>)>,
    timers: Timers<TimerKey>,
    cancelled: Option<Cancellation>,
    start_seq: Option<u64>,
    messages: Vec<SharedMessage>,
    approvals: PendingApprovals,
    /// The previews that the user saw in approval requests, until the tool calls run.
    shown: Vec<(ToolCallId, String)>,
    /// Requests whose answer the permission check judges, because it changes the arguments.
    judged_answers: Vec<RequestId>,
    /// The commands that brought such answers.
    judged_commands: Vec<(RequestId, RunCommand)>,
    unread: Vec<(QueueKind, AgentMessage)>,
    session_start: SessionStartAnswer,
    hook_context_sent: bool,
    /// Reservations in shared budgets, if there are any.
    reservations: Option<Box<RunReservations>>,
    /// What the sub-agents that run now may spend together.
    sub_agent_budget: Option<SubAgentBudget>,
    /// The session's own system prompt.
    prompt: Option<PromptSlot>,
    changes: FileChanges,
    missing_approver: MissingApprover,
    /// Commands that are being written, with their senders.
    unacknowledged: Vec<(String, oneshot::Sender<CommandReply>)>,
}

/// The result of a job.
pub(crate) struct JobResult {
    /// The reason why a hook wants the run to end.
    pub(crate) halt: Option<String>,
    /// What hooks say to the user.
    pub(crate) messages: Vec<String>,
    /// The input for the state machine, if it waits for one.
    pub(crate) input: Option<Input>,
}

impl From<Input> for JobResult {
    fn from(input: Input) -> Self {
        Self { halt: None, messages: Vec::new(), input: Some(input) }
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
enum DriverEvent {
    Input(Input),
    JobDone(JobResult),
    Flushed(Result<Vec<Event>, StoreError>),
    MailboxItem(MailboxItem),
    GraceOver(ToolCallId),
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedRun {
    /// The loop of the run.
    pub loop_id: LoopId,
    /// How the run ended.
    pub ending: RunEnd,
    /// All messages that the run produced, in the order in which they were recorded.
    pub messages: Vec<SharedMessage>,
    /// The conversation and the remaining queues, for the next loop.
    pub parts: RunParts,
    /// Messages that arrived too late for this run and are not journaled.
    pub unread: Vec<(QueueKind, AgentMessage)>,
    /// The model received what hooks answered at the start of the session.
    pub(crate) hook_context_sent: bool,
    /// The files that tools changed.
    pub(crate) changes: FileChanges,
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
        let (loop_id, others) = (run.loop_id().clone(), Arc::default());
        let handle = RunHandle { loop_id, mailbox: Arc::default(), cancel, others };
        let driver = Box::new(Self {
            ports,
            journal,
            run,
            handle: handle.clone(),
            held: None,
            batch: Batch::default(),
            flush: None,
            snapshot_write: None,
            unsaved_messages: Vec::new(),
            written: 0,
            siblings: None,
            is_branch: false,
            model: None,
            memo: RequestMemo::default(),
            jobs: FuturesUnordered::new(),
            job_handles: Vec::new(),
            running_tools: Vec::new(),
            asking_tools: Vec::new(),
            timers: Timers::default(),
            cancelled: Some(handle.cancel.cancelled()),
            start_seq: None,
            messages: Vec::new(),
            approvals: PendingApprovals::default(),
            shown: Vec::new(),
            judged_answers: Vec::new(),
            judged_commands: Vec::new(),
            unread: Vec::new(),
            session_start: SessionStartAnswer::default(),
            hook_context_sent: false,
            reservations: None,
            sub_agent_budget: None,
            prompt: None,
            changes: FileChanges::default(),
            missing_approver: MissingApprover::Wait,
            unacknowledged: Vec::new(),
        });
        (driver, handle)
    }

    /// Sets what hooks answered at the start of the session, and the file changes that an earlier process
    /// made for this run.
    pub(crate) fn with_session_start(
        mut self: Box<Self>,
        session_start: SessionStartAnswer,
        changes: FileChanges,
    ) -> Box<Self> {
        (self.session_start, self.changes) = (session_start, changes);
        self
    }

    /// Writes these records first, together with the run's own first events.
    pub(crate) fn with_first_records(mut self: Box<Self>, records: Vec<EventRecord>) -> Box<Self> {
        self.batch = records.into();
        self
    }

    /// Sets what happens to approval requests if the run has no approver. By default they wait.
    pub(crate) fn with_missing_approver(mut self: Box<Self>, missing: MissingApprover) -> Box<Self> {
        self.missing_approver = missing;
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
    pub async fn drive(mut self: Box<Self>) -> Result<FinishedRun, DriveError> {
        // Process commands that were sent before the start first.
        for item in self.handle.mailbox.take() {
            self.handle_item(item);
        }
        let messages = std::mem::take(&mut self.session_start.messages);
        if let Some(reason) = self.session_start.stop.take() {
            self.feed(Input::Halt { reason });
        }
        self.feed(Input::Begin);
        self.share_recorded_findings();
        self.record_hook_messages(messages);
        loop {
            if let Some(ending) = self.perform() {
                if let Some(reservations) = self.reservations.take() {
                    // Boxed: otherwise the future of every run would reserve space for it.
                    Box::pin(reservations.finish()).await;
                }
                let Self { run, messages, handle, mut unread, hook_context_sent, changes, .. } = *self;
                unread.extend(handle.close());
                return Ok(FinishedRun {
                    loop_id: handle.loop_id.clone(),
                    ending,
                    messages,
                    parts: run.into_parts(),
                    unread,
                    hook_context_sent,
                    changes,
                });
            }
            self.report_usage();
            match poll_fn(|context| self.poll_event(context)).await {
                DriverEvent::Input(input) => self.feed(input),
                // Both together: the input that ends the run comes before the one that would continue it.
                DriverEvent::JobDone(JobResult { halt, messages, input }) => {
                    self.record_hook_messages(messages);
                    let halt = halt.map(|reason| Input::Halt { reason });
                    halt.into_iter().chain(input).for_each(|input| self.feed_job_result(input));
                }
                DriverEvent::MailboxItem(item) => self.handle_item(item),
                DriverEvent::GraceOver(call) => self.abort_tool(&call),
                DriverEvent::Flushed(result) => {
                    let events = result.inspect_err(|_| self.return_unsaved())?;
                    self.flush = None;
                    self.unsaved_messages.clear();
                    self.take_flushed(&events);
                    self.save_snapshot();
                }
            }
        }
    }

    /// Puts messages that may be unsaved back into the mailbox, before the unread ones.
    fn return_unsaved(&mut self) {
        let mut unsaved = std::mem::take(&mut self.unsaved_messages);
        unsaved.extend(self.batch.records.iter().filter_map(queued_message));
        while let Some(effect) = self.held.take().or_else(|| self.run.next_effect()) {
            match effect {
                Effect::Record(record) => unsaved.extend(queued_message(&record)),
                // What was spent is spent, also if it cannot be recorded.
                Effect::Settle { op, usage } => self.settle(op, usage),
                _ => {}
            }
        }
        let unsaved = unsaved.into_iter().map(|(queue, message)| (queue, AgentMessage::clone(&message)));
        let item = |(queue, message)| MailboxItem::Queue { queue, message: Box::new(message) };
        let mailbox = &self.handle.mailbox;
        let waiting = mailbox.take();
        let unread = std::mem::take(&mut self.unread);
        for item in unsaved.chain(unread).map(item).chain(waiting) {
            let _ = mailbox.send(item);
        }
    }

    fn feed(&mut self, mut input: Input) {
        redaction::input(&self.ports.redactor, &mut input);
        if let Input::PermissionAnswered { request, decision } = &input {
            self.judged_answers.retain(|judged| judged != request);
            let changed = matches!(decision, PermissionDecision::AllowChanged { .. });
            let asked = self.approvals.all().iter().find(|asked| changed && asked.id == *request);
            // The diff that the request showed is not what runs.
            if let Some(asked) = asked {
                self.shown.retain(|(call, _)| *call != asked.tool_call_id);
            }
        }
        if let Input::ToolFinished { call, result } = &mut input {
            self.settle_tool(call, result);
            self.record_sub_agent_end(call, result);
            self.record_finding(call, result);
            self.running_tools.retain(|running| running.id != *call);
            self.timers.drop_timer(&TimerKey::Grace(call.clone()));
        }
        self.count_sub_agents();
        let before = *self.run.usage();
        let stamp = self.ports.stamp();
        self.run.handle(input, stamp);
        self.share_own_spending(&before);
    }

    /// Performs effects until the run is over, a write has started, or no effect is left.
    fn perform(&mut self) -> Option<RunEnd> {
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
                effect => self.perform_effect(effect),
            }
        }
    }

    /// Whether everything recorded before an effect must be durable first. Not if the effect cannot reach the
    /// outside world: a hook that is not interested, a policy that only judges, or a source that only reads.
    fn needs_barrier(&self, effect: &Effect) -> bool {
        let no_hooks = self.ports.hooks.interest() == HookInterest::None;
        let inert = match effect {
            Effect::Hook(_) => no_hooks,
            Effect::Authorize { .. } => no_hooks && self.has_pure_check(),
            Effect::Consult { .. } => self.sources_are_read_only(),
            _ => false,
        };
        effect.touches_world() && !inert
    }

    /// A policy that panics may have had an effect.
    fn has_pure_check(&self) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.ports.policy.has_pure_check())).unwrap_or(false)
    }

    fn sources_are_read_only(&self) -> bool {
        let looks = || self.ports.notes.as_ref().is_none_or(|source| source.is_read_only());
        std::panic::catch_unwind(AssertUnwindSafe(looks)).unwrap_or(false)
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Record(record) => self.record(*record),
            Effect::Hook(call) => self.call_hook(call),
            Effect::Filter { op, prompts } => self.check_prompts(op, &prompts),
            Effect::CallHooks { op, moment } => self.notify_hooks(op, moment),
            Effect::CallModel { op, window, candidate, .. } => {
                let request = self.request(window, candidate);
                self.model = Some(ModelCall::start(op, &*self.ports.model, request, &self.handle.cancel));
            }
            Effect::Consult { op, window, told, memory, turn_index } => {
                let query =
                    NotesQuery::new(window, told, turn_index, self.ports.clock.now()).with_memory(memory);
                self.consult(op, query);
            }
            Effect::CountTokens { op, window, candidate } => self.count_tokens(op, window, candidate),
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
                self.drop_reservation(op);
            }
            Effect::Authorize { call } => {
                let job = authorize(&self.ports, self.journal.session_id(), &self.handle.loop_id, call);
                self.start_job(None, job);
            }
            Effect::Ask { request } => {
                // A recovered run repeats requests that an earlier process recorded.
                self.approvals.add(&request);
                let shown = request.preview.clone().map(|shown| (request.tool_call_id.clone(), shown));
                self.shown.extend(shown);
                let key = JobKey::Request(request.id);
                if let Some(approver) = self.ports.approver.clone() {
                    self.notify_pending_approval(&request);
                    let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
                    let loop_id = self.handle.loop_id.clone();
                    let shown = self.shown_request(&request);
                    let job = Box::pin(async move {
                        // An approver that panics denies.
                        let asking = AssertUnwindSafe(async { approver.ask(&shown).await });
                        let failed = |_| PermissionDecision::deny("the approver failed");
                        let decision = asking.catch_unwind().await.unwrap_or_else(failed);
                        let id = request.id;
                        let decision = judge_answer(ports, session_id, loop_id, request, decision).await;
                        Input::PermissionAnswered { request: id, decision }.into()
                    });
                    self.start_job(Some(key), job);
                } else if self.missing_approver == MissingApprover::Deny {
                    let decision = PermissionDecision::deny(NO_APPROVER);
                    let denied = Input::PermissionAnswered { request: request.id, decision };
                    self.start_job(Some(key), Box::pin(std::future::ready(denied.into())));
                } else {
                    self.notify_pending_approval(&request);
                }
            }
            Effect::Withdraw { request } => {
                self.abort_job(JobKey::Request(request));
                self.refuse_judged_command(request);
            }
            Effect::RunTool { call, args, sub_agent } => {
                let at = self.shown.iter().position(|(id, _)| *id == call.id);
                let shown = at.map(|at| self.shown.swap_remove(at).1);
                let parent = sub_agent.as_ref().map(|_| self.parent_of(&call));
                let (running, job) = tool_call::start(
                    &self.ports,
                    AuthorizedCall { call, args, shown, sub_agent, parent, is_branch: self.is_branch },
                    &self.journal,
                    &self.handle.loop_id,
                    &self.handle.mailbox,
                    &self.handle.cancel,
                );
                self.running_tools.push(running);
                self.start_job(None, job);
            }
            Effect::CancelTool { call } => {
                if let Some(running) = self.running_tools.iter().find(|running| running.id == call) {
                    running.cancel.cancel();
                    let at = self.ports.clock.now().after(self.ports.tool_grace + running.extra_grace);
                    self.timers.set(at, TimerKey::Grace(call));
                }
            }
            // No other effect is left: the caller handles `Finish`.
            _ => {}
        }
    }

    fn start_job(&mut self, key: Option<JobKey>, job: BoxFuture<'static, JobResult>) {
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

    fn abort_tool(&self, call: &ToolCallId) {
        if let Some(running) = self.running_tools.iter().find(|running| running.id == *call) {
            running.abort.cancel();
        }
    }

    /// Polls for the next thing that happens. Polls in a fixed order, so that runs are reproducible; the
    /// model comes last, because only its stream can be endless.
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<DriverEvent> {
        if self.flush.is_none() && !self.batch.is_empty() {
            // A verdict that is available immediately is written together with the tool call it is about.
            if let Poll::Ready(done) = self.poll_jobs(context) {
                return Poll::Ready(DriverEvent::JobDone(done));
            }
            self.start_flush();
        }
        if let Some(flush) = &mut self.flush
            && let Poll::Ready(result) = flush.as_mut().poll(context)
        {
            return Poll::Ready(DriverEvent::Flushed(result));
        }
        if let Some(snapshot_write) = &mut self.snapshot_write
            && snapshot_write.as_mut().poll(context).is_ready()
        {
            self.snapshot_write = None;
        }
        if let Some(reservations) = &mut self.reservations {
            reservations.poll(context);
        }
        if let Some(cancelled) = &mut self.cancelled
            && std::pin::Pin::new(cancelled).poll(context).is_ready()
        {
            self.cancelled = None;
            return Poll::Ready(DriverEvent::Input(Input::Cancel));
        }
        if let Poll::Ready(item) = self.handle.mailbox.poll(context) {
            return Poll::Ready(DriverEvent::MailboxItem(item));
        }
        if let Poll::Ready(event) = self.poll_siblings(context) {
            return Poll::Ready(DriverEvent::Input(Input::Observed { event }));
        }
        if let Poll::Ready(key) = self.timers.poll(&*self.ports.clock, context) {
            return Poll::Ready(match key {
                TimerKey::Op(op) => DriverEvent::Input(Input::Timer { op }),
                TimerKey::Grace(call) => DriverEvent::GraceOver(call),
            });
        }
        if let Poll::Ready(done) = self.poll_jobs(context) {
            return Poll::Ready(DriverEvent::JobDone(done));
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
            return Poll::Ready(DriverEvent::Input(input));
        }
        Poll::Pending
    }

    fn poll_jobs(&mut self, context: &mut Context<'_>) -> Poll<JobResult> {
        while let Poll::Ready(Some(finished)) = self.jobs.poll_next_unpin(context) {
            // Ignore aborted jobs.
            if let Ok(done) = finished {
                self.forget_job(done.input.as_ref());
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }

    fn forget_job(&mut self, input: Option<&Input>) {
        let key = match input {
            Some(
                Input::Compacted { op, .. }
                | Input::HooksAnswered { op, .. }
                | Input::Consulted { op, .. }
                | Input::Counted { op, .. }
                | Input::Admitted { op, .. },
            ) => JobKey::Op(*op),
            Some(Input::PermissionAnswered { request, .. } | Input::BudgetAnswered { request, .. }) => {
                JobKey::Request(*request)
            }
            _ => return,
        };
        self.job_handles.retain(|(other, _)| *other != key);
    }

    fn handle_item(&mut self, item: MailboxItem) {
        match item {
            // The run's last events are being written: it accepts no more messages, and none may be lost.
            MailboxItem::Queue { queue, message } if self.run.is_finished() => {
                self.unread.push((queue, *message))
            }
            MailboxItem::Queue { queue, message } => self.feed(Input::Queued { queue, message: *message }),
            MailboxItem::Pin { message, pinned } => self.feed(Input::Pin { message, pinned }),
            // The first answer wins, also while the permission check judges it.
            MailboxItem::Answer { request, .. } if self.judged_answers.contains(&request) => {}
            MailboxItem::Answer { request, decision: decision @ PermissionDecision::AllowChanged { .. } } => {
                self.judge(request, decision);
            }
            MailboxItem::Answer { request, decision } => {
                self.feed(Input::PermissionAnswered { request, decision })
            }
            MailboxItem::Command(command) => self.accept(*command),
            MailboxItem::Ask { request, reply } => self.ask_for_tool(request, reply),
            MailboxItem::WithdrawQuestion { call } => self.withdraw_question(&call),
            MailboxItem::Finding(finding) => self.copy_finding(&finding),
            MailboxItem::MoreBudget { scope, limits } => {
                self.feed(Input::BudgetExtended { scope, limits, by: "user".to_owned() });
            }
            MailboxItem::BudgetAnswer { request, more } => {
                self.feed(Input::BudgetAnswered { request, more, by: "user".to_owned() });
            }
            MailboxItem::Update { call, mut partial } => {
                redaction::result(&self.ports.redactor, &mut partial);
                output_limit::partial(&mut partial, self.ports.max_tool_output);
                self.on_update(call, partial);
            }
            MailboxItem::Progress { call, mut text } => {
                redaction::text(&self.ports.redactor, &mut text);
                output_limit::progress(&mut text, self.ports.max_tool_output);
                let tool_name = self.tool_name(&call);
                if let Some(tool_name) = tool_name {
                    self.record_live(AgentEvent::ProgressMessage { tool_call_id: call, tool_name, text });
                }
            }
        }
    }

    /// Returns the tool of a running tool call. Updates after its end are dropped.
    fn tool_name(&self, call: &ToolCallId) -> Option<String> {
        self.running_tools.iter().find(|running| running.id == *call).map(|running| running.tool_name.clone())
    }
}
