//! The owner of a session: the one task that gives commands to its agent.
//!
//! Handles one command at a time: records it, acknowledges it, and only then takes the next. Only an answer that changes
//! arguments waits beside the others until the permission check judged it. Owns the active run, so that no client can stop
//! a run by going away. After a time without work it closes the agent and ends; the next command starts a
//! new owner. `commands` carries out what clients ask for, `files` restores files, `shell` runs the user's commands,
//! `message_model` runs a message with its own model, `recording` writes all of it. Invariant: the owner keeps no state that
//! the journal does not have, except that model.

mod commands;
mod compaction;
mod files;
mod message_model;
mod recording;
mod shell;

use std::collections::VecDeque;
use std::sync::Arc;

use lariat_api::{
    AskPolicy, CommandId, ContextUse, Live, LiveItem, ModelView, Problem, ProblemCode, Receipt,
};
use lariat_core::BoxFuture;
use lariat_core::event::{AgentEvent, CommandRecord, Event};
use lariat_core::permission::PermissionDecision;
use lariat_core::store::SessionStore;
use lariat_runtime::{Agent, AgentError, AgentOutput, CommandRun, Plan, RunStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::factory::{AgentRequest, HostedAgent};
use crate::host_state::HostState;
use crate::problems::{self, wrong_status};
use crate::requests::{Request, UnattendedAsk};
use crate::session::SessionEntry;

pub(crate) use commands::action_name;
pub(crate) use recording::{calls_after, earlier_receipt};
use shell::RunningCommand;

/// Commands that may wait for an owner.
pub(crate) const INBOX: usize = 64;

pub(crate) struct Owner {
    shared: Arc<HostState>,
    entry: Arc<SessionEntry>,
    inbox: mpsc::Receiver<Request>,
    /// Requests that arrived during a compaction, before those in the inbox.
    waiting: VecDeque<Request>,
    /// Whether a command that waits has stopped the compaction.
    has_stopped_compaction: bool,
    /// For the task that forwards events.
    requests: mpsc::WeakSender<Request>,
    hosted: Option<Hosted>,
    run: Option<JoinHandle<Result<AgentOutput, AgentError>>>,
    shell: Option<RunningCommand>,
    /// Whether the agent has the model of one message, until its run ends.
    has_message_model: bool,
    is_closing: bool,
    /// Clients that wait until the agent is closed.
    released: Vec<oneshot::Sender<Result<(), Problem>>>,
}

/// The agent of the session, and the task that forwards its events to clients.
struct Hosted {
    hosted: HostedAgent,
    forwarding: AbortOnDrop,
}

/// A task that ends when this is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Hosted {
    /// Closes the agent. Its last events still reach the clients.
    async fn close(self) {
        self.hosted.close().await;
        drop(self.forwarding);
    }
}

/// A command with its record.
struct Accepted {
    record: CommandRecord,
    id: CommandId,
}

/// How far a command came.
enum CommandProgress {
    /// It is durable.
    Recorded(Receipt),
    /// The permission check judges the answer in it. The future records both.
    Judging(BoxFuture<'static, Result<Receipt, Problem>>),
}

impl Owner {
    /// Starts the owner of a session, with its agent if it was built before.
    pub(crate) fn start(
        shared: Arc<HostState>,
        entry: Arc<SessionEntry>,
        agent: Option<HostedAgent>,
    ) -> mpsc::Sender<Request> {
        let (requests, inbox) = mpsc::channel(INBOX);
        let mut owner = Self {
            shared,
            entry,
            inbox,
            waiting: VecDeque::new(),
            has_stopped_compaction: false,
            requests: requests.downgrade(),
            hosted: None,
            run: None,
            shell: None,
            has_message_model: false,
            is_closing: false,
            released: Vec::new(),
        };
        if let Some(agent) = agent {
            owner.host(agent);
        }
        tokio::spawn(owner.work());
        requests
    }

    async fn work(mut self) {
        let idle_time = self.shared.options.idle_time;
        loop {
            if let Some(request) = self.waiting.pop_front() {
                self.handle(request).await;
                continue;
            }
            self.has_stopped_compaction = false;
            if self.is_closing && !self.is_busy() {
                break;
            }
            tokio::select! {
                biased;
                ended = ended(&mut self.run), if self.run.is_some() => self.on_run_end(ended).await,
                output = shell::ended(&mut self.shell), if self.shell.is_some() => self.on_shell_end(output).await,
                request = self.inbox.recv() => match request {
                    Some(request) => self.handle(request).await,
                    // No client is left, and the run is over.
                    None if !self.is_busy() => break,
                    None if self.run.is_some() => {
                        let ended = ended(&mut self.run).await;
                        self.on_run_end(ended).await;
                    }
                    None => {
                        let output = shell::ended(&mut self.shell).await;
                        self.on_shell_end(output).await;
                    }
                },
                () = tokio::time::sleep(idle_time), if !self.is_busy() => break,
            }
        }
        // Requests that are sent from here on start a new owner, which can claim the session.
        self.inbox.close();
        if let Some(hosted) = self.hosted.take() {
            hosted.close().await;
        }
        for reply in self.released.drain(..) {
            let _ = reply.send(Ok(()));
        }
        self.shared.report_change(&self.entry).await;
        self.shared.forget(&self.entry);
    }

    /// Whether a run or a command of the user is active.
    const fn is_busy(&self) -> bool {
        self.run.is_some() || self.shell.is_some()
    }

    async fn handle(&mut self, request: Request) {
        match request {
            Request::Command { command, principal, reply } => {
                let result = match self.command(command, principal).await {
                    Ok(CommandProgress::Recorded(receipt)) => Ok(receipt),
                    Ok(CommandProgress::Judging(judging)) => return self.reply_later(judging, reply),
                    Err(problem) => Err(problem),
                };
                if result.as_ref().is_err_and(|problem| problem.code == ProblemCode::OwnedElsewhere) {
                    // Another process has claimed the session; a new agent reads what it wrote.
                    self.hosted = None;
                }
                self.shared.report_change(&self.entry).await;
                let _ = reply.send(result);
            }
            Request::Create { record, effects, reply } => {
                let _ = reply.send(self.finish_creation(*record, effects).await);
            }
            Request::Context { reply } => {
                let _ = reply.send(self.context().await);
            }
            Request::Plan { reply } => {
                let _ = reply.send(self.plan().await);
            }
            Request::Rebuild { reply } => {
                let _ = reply.send(self.rebuild().await);
            }
            Request::Release { reply } => {
                self.is_closing = true;
                self.released.push(reply);
            }
            Request::Unattended(ask) => self.decline(ask),
            Request::Recover { reply } => {
                let result = match self.settle().await {
                    Ok(()) => self.recover().await,
                    Err(problem) => Err(problem),
                };
                self.deliver().await;
                self.shared.report_change(&self.entry).await;
                let _ = reply.send(result);
            }
        }
    }

    /// Acknowledges a command once it is recorded, beside the commands that follow.
    fn reply_later(
        &self,
        judging: BoxFuture<'static, Result<Receipt, Problem>>,
        reply: oneshot::Sender<Result<Receipt, Problem>>,
    ) {
        let (shared, entry) = (Arc::clone(&self.shared), Arc::clone(&self.entry));
        tokio::spawn(async move {
            let result = judging.await;
            shared.report_change(&entry).await;
            let _ = reply.send(result);
        });
    }

    async fn context(&mut self) -> Result<ContextUse, Problem> {
        let report = self.agent().await?.context().await.map_err(|error| problems::from_agent(&error))?;
        let parts = report.parts.iter().map(|part| (part.name.clone(), part.tokens)).collect();
        Ok(ContextUse::new(report.window.unwrap_or_default(), parts).with_used(report.used))
    }

    async fn plan(&mut self) -> Result<Plan, Problem> {
        self.finish_ended_run().await?;
        self.agent().await?.plan().await.map_err(|error| problems::from_agent(&error))
    }

    fn decline(&self, ask: UnattendedAsk) {
        let Some(hosted) = &self.hosted else { return };
        if self.entry.is_attached() {
            return;
        }
        let agent = &hosted.hosted.agent;
        match ask {
            UnattendedAsk::Permission(request) => {
                let reason = "no client is attached that could approve it";
                agent.respond_permission(request, PermissionDecision::deny(reason));
            }
            UnattendedAsk::Question(request) => {
                let reason = "no user is available to answer; decide yourself and state your assumptions";
                agent.respond_permission(request, PermissionDecision::deny(reason));
            }
            UnattendedAsk::Budget(request) => agent.respond_budget(request, None),
        }
    }

    /// Returns the agent, which is built for the first command.
    async fn agent(&mut self) -> Result<Agent, Problem> {
        if let Some(hosted) = &self.hosted {
            return Ok(hosted.hosted.agent.clone());
        }
        let hosted = self.build(None).await?;
        Ok(self.host(hosted))
    }

    async fn build(&self, model: Option<&ModelView>) -> Result<HostedAgent, Problem> {
        self.build_with(model, None).await
    }

    async fn build_with(
        &self,
        model: Option<&ModelView>,
        message_model: Option<&ModelView>,
    ) -> Result<HostedAgent, Problem> {
        let (directory, chosen, mode) = {
            let fold = self.entry.fold().await?;
            let directory = fold.directory().map(str::to_owned);
            (directory, fold.chosen_model(), fold.chosen_mode().map(str::to_owned))
        };
        let store = Arc::clone(&self.entry.store) as Arc<dyn SessionStore>;
        let mut request = AgentRequest::new(&self.entry.session_id, &store);
        request.directory = directory.as_deref();
        request.model = model.or(chosen.as_ref());
        request.message_model = message_model;
        request.mode = mode.as_deref();
        self.shared.factory.build(request).await
    }

    fn host(&mut self, hosted: HostedAgent) -> Agent {
        let agent = hosted.agent.clone();
        let forwarding = tokio::spawn(forward_events(
            agent.subscribe(),
            Arc::clone(&self.shared),
            Arc::clone(&self.entry),
            self.requests.clone(),
        ));
        self.hosted = Some(Hosted { hosted, forwarding: AbortOnDrop(forwarding) });
        agent
    }

    /// Continues a run that a crash interrupted.
    async fn recover(&mut self) -> Result<(), Problem> {
        if self.run.is_none() && self.entry.fold().await?.has_open_run() {
            let stream = self.agent().await?.recover_stream();
            self.drive(stream.map_err(|error| problems::from_agent(&error))?);
        }
        Ok(())
    }

    /// Starts a run for a command, and waits until the command is durable.
    async fn start_run(&mut self, accepted: Accepted, run: CommandRun) -> Result<Receipt, Problem> {
        self.start_with(accepted, async |agent, record| agent.run_command(record, run)).await
    }

    /// Starts what `run` makes of a command, and waits until the command is durable.
    async fn start_with(
        &mut self,
        accepted: Accepted,
        run: impl AsyncFnOnce(&Agent, CommandRecord) -> Result<RunStream, AgentError>,
    ) -> Result<Receipt, Problem> {
        if self.shell.is_some() {
            return Err(wrong_status("a command of the user runs", "wait for its end, or interrupt it"));
        }
        let agent = self.agent().await?;
        // Before the journal has the start of the run: a view must not take it for one that a crash interrupted.
        self.entry.set_running(true);
        let started = match run(&agent, accepted.record.clone()).await {
            Ok(stream) => self.read_start(stream, accepted).await,
            Err(error) => Err(problems::from_agent(&error)),
        };
        if self.run.is_none() {
            self.entry.set_running(false);
        }
        started
    }

    async fn read_start(&mut self, mut stream: RunStream, accepted: Accepted) -> Result<Receipt, Problem> {
        while let Some(event) = stream.next().await {
            if is_record_of(&event, &accepted.id) {
                let receipt = Receipt::new(accepted.id, event.seq);
                self.drive(stream);
                return Ok(receipt);
            }
        }
        match stream.finish().await {
            Err(error) => Err(problems::from_agent(&error)),
            Ok(_) => self.receipt_of(accepted.id).await,
        }
    }

    fn drive(&mut self, stream: RunStream) {
        self.entry.set_running(true);
        // If this process ends, the next one continues the run; it must not end as if a user had stopped it.
        self.run = Some(tokio::spawn(stream.finish_detached()));
    }

    async fn on_run_end(&mut self, ended: Result<AgentOutput, AgentError>) {
        self.run = None;
        self.entry.set_running(false);
        match ended {
            Ok(_) | Err(AgentError::Failed(_)) => {
                self.restore_model().await;
                self.deliver().await;
            }
            Err(error) => {
                // A new agent reads the journal again.
                (self.hosted, self.has_message_model) = (None, false);
                self.entry.send_live(Live::RunLost { problem: problems::from_agent(&error) });
            }
        }
        self.shared.report_change(&self.entry).await;
    }

    /// Starts a run on the messages that wait, unless an interruption paused them.
    async fn deliver(&mut self) {
        if self.is_busy() || !self.has_deliverable_message().await.unwrap_or(false) {
            return;
        }
        let Ok(agent) = self.agent().await else { return };
        self.entry.set_running(true);
        match agent.deliver_queued() {
            Ok(stream) => self.drive(stream),
            Err(_) => self.entry.set_running(false),
        }
    }

    /// Whether a message that arrived at the end of a run waits. An interruption pauses the queue.
    async fn has_deliverable_message(&self) -> Result<bool, Problem> {
        Ok(!self.is_closing && self.entry.fold().await?.has_deliverable_message())
    }
}

fn is_record_of(event: &Event, id: &CommandId) -> bool {
    matches!(&event.event, AgentEvent::CommandAccepted(command) if command.command_id == id.as_str())
}

/// Waits for the end of the active run. Never returns without one.
async fn ended(
    run: &mut Option<JoinHandle<Result<AgentOutput, AgentError>>>,
) -> Result<AgentOutput, AgentError> {
    match run {
        Some(run) => run.await.unwrap_or(Err(AgentError::TaskLost)),
        None => std::future::pending().await,
    }
}

/// Passes live events to clients, reports changes, and notices questions that no client can see.
async fn forward_events(
    mut events: lariat_runtime::observe::Subscription,
    shared: Arc<HostState>,
    entry: Arc<SessionEntry>,
    owner: mpsc::WeakSender<Request>,
) {
    while let Ok(event) = events.recv().await {
        if !event.is_durable() {
            entry.send_live(Live::Event(LiveItem::new(event.seq, event)));
            continue;
        }
        let ask = match &event.event {
            AgentEvent::PermissionRequired { request } if request.question.is_some() => {
                UnattendedAsk::Question(request.id)
            }
            AgentEvent::PermissionRequired { request } => UnattendedAsk::Permission(request.id),
            AgentEvent::BudgetExtensionRequested { request } => UnattendedAsk::Budget(request.id),
            _ => continue,
        };
        shared.report_change(&entry).await;
        let must_decline = shared.options.ask_policy == AskPolicy::Deny && !entry.is_attached();
        if must_decline && let Some(owner) = owner.upgrade() {
            let _ = owner.send(Request::Unattended(ask)).await;
        }
    }
}
