//! The owner of a session: the one task that gives commands to its agent.
//!
//! Handles one command at a time: records it, acknowledges it, and only then takes the next. Owns the active run, so that no
//! client can stop a run by going away. After a time without work it closes the agent and ends; the next command starts a
//! new owner. Invariant: the owner keeps no state that the journal does not have.

use std::sync::Arc;

use lariat_api::{
    Action, Answer, Ask, AskKind, AskPolicy, AskSubject, CheckpointParts, CommandId, ContextUse, Delivery,
    Edit, Live, LiveItem, Principal, Problem, ProblemCode, PromptContent, QueuedMessage, Receipt,
    SessionCommand,
};
use lariat_core::event::{AgentEvent, CommandRecord, Description, Event, QueueKind};
use lariat_core::id::MessageId;
use lariat_core::message::{AgentMessage, Message, UserMessage};
use lariat_core::permission::PermissionDecision;
use lariat_core::run::Run;
use lariat_core::store::SessionStore;
use lariat_runtime::{Agent, AgentError, AgentOutput, CommandEffect, CommandRun, RunStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::factory::{AgentRequest, HostedAgent};
use crate::host_state::HostState;
use crate::problems::{self, wrong_status};
use crate::requests::{Request, UnattendedAsk};
use crate::session::SessionEntry;

/// Commands that may wait for an owner.
pub(crate) const INBOX: usize = 64;
/// Events per read.
const PAGE: usize = 512;

pub(crate) struct Owner {
    shared: Arc<HostState>,
    entry: Arc<SessionEntry>,
    inbox: mpsc::Receiver<Request>,
    /// For the task that forwards events.
    requests: mpsc::WeakSender<Request>,
    hosted: Option<Hosted>,
    run: Option<JoinHandle<Result<AgentOutput, AgentError>>>,
    is_closing: bool,
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

impl Owner {
    /// Starts the owner of a session.
    pub(crate) fn start(shared: Arc<HostState>, entry: Arc<SessionEntry>) -> mpsc::Sender<Request> {
        let (requests, inbox) = mpsc::channel(INBOX);
        let owner = Self {
            shared,
            entry,
            inbox,
            requests: requests.downgrade(),
            hosted: None,
            run: None,
            is_closing: false,
        };
        tokio::spawn(owner.work());
        requests
    }

    async fn work(mut self) {
        let idle_time = self.shared.options.idle_time;
        loop {
            if self.run.is_none() && self.is_closing {
                break;
            }
            tokio::select! {
                biased;
                ended = ended(&mut self.run), if self.run.is_some() => self.on_run_end(ended).await,
                request = self.inbox.recv() => match request {
                    Some(request) => self.handle(request).await,
                    // No client is left, and the run is over.
                    None if self.run.is_none() => break,
                    None => {
                        let ended = ended(&mut self.run).await;
                        self.on_run_end(ended).await;
                    }
                },
                () = tokio::time::sleep(idle_time), if self.run.is_none() => break,
            }
        }
        // Requests that are sent from here on start a new owner, which can claim the session.
        self.inbox.close();
        if let Some(hosted) = self.hosted.take() {
            hosted.close().await;
        }
        self.shared.report_change(&self.entry).await;
        self.shared.forget(&self.entry);
    }

    async fn handle(&mut self, request: Request) {
        match request {
            Request::Command { command, principal, reply } => {
                let result = self.command(command, principal).await;
                if result.as_ref().is_err_and(|problem| problem.code == ProblemCode::OwnedElsewhere) {
                    // Another process has claimed the session; a new agent reads what it wrote.
                    self.hosted = None;
                }
                self.shared.report_change(&self.entry).await;
                let _ = reply.send(result);
            }
            Request::Context { reply } => {
                let _ = reply.send(self.context().await);
            }
            Request::Unattended(ask) => self.decline(ask),
            Request::Recover { reply } => {
                let result = self.recover().await;
                self.deliver().await;
                self.shared.report_change(&self.entry).await;
                let _ = reply.send(result);
            }
        }
    }

    async fn context(&mut self) -> Result<ContextUse, Problem> {
        let report = self.agent().await?.context().await.map_err(|error| problems::from_agent(&error))?;
        let parts = report.parts.iter().map(|part| (part.name.clone(), part.tokens)).collect();
        Ok(ContextUse::new(report.window.unwrap_or_default(), parts))
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
            UnattendedAsk::Budget(request) => agent.respond_budget(request, None),
        }
    }

    // The agent and its runs

    /// Returns the agent, which is built for the first command.
    async fn agent(&mut self) -> Result<Agent, Problem> {
        if let Some(hosted) = &self.hosted {
            return Ok(hosted.hosted.agent.clone());
        }
        let hosted = self.build(None).await?;
        Ok(self.host(hosted))
    }

    async fn build(&self, model: Option<&lariat_api::ModelView>) -> Result<HostedAgent, Problem> {
        let (directory, chosen, mode) = {
            let fold = self.entry.fold().await?;
            let directory = fold.directory().map(str::to_owned);
            (directory, fold.chosen_model().cloned(), fold.chosen_mode().map(str::to_owned))
        };
        let store = Arc::clone(&self.entry.store) as Arc<dyn SessionStore>;
        let mut request = AgentRequest::new(&self.entry.session_id, &store);
        request.directory = directory.as_deref();
        request.model = model.or(chosen.as_ref());
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
        let agent = self.agent().await?;
        // Before the journal has the start of the run: a view must not take it for one that a crash interrupted.
        self.entry.set_running(true);
        let started = self.read_start(&agent, accepted, run).await;
        if self.run.is_none() {
            self.entry.set_running(false);
        }
        started
    }

    async fn read_start(
        &mut self,
        agent: &Agent,
        accepted: Accepted,
        run: CommandRun,
    ) -> Result<Receipt, Problem> {
        let mut stream =
            agent.run_command(accepted.record, run).map_err(|error| problems::from_agent(&error))?;
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
        // If this process ends, the next one continues the run; it must not end as if a person had stopped it.
        self.run = Some(tokio::spawn(stream.finish_detached()));
    }

    async fn on_run_end(&mut self, ended: Result<AgentOutput, AgentError>) {
        self.run = None;
        self.entry.set_running(false);
        let is_lost = ended.is_err_and(|error| !matches!(error, AgentError::Failed(_)));
        if is_lost {
            // A new agent reads the journal again.
            self.hosted = None;
        } else {
            self.deliver().await;
        }
        self.shared.report_change(&self.entry).await;
    }

    /// Starts a run on the messages that wait, unless an interruption paused them.
    async fn deliver(&mut self) {
        if self.run.is_some() || !self.has_deliverable_message().await.unwrap_or(false) {
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

    // Commands

    async fn command(&mut self, command: SessionCommand, principal: Principal) -> Result<Receipt, Problem> {
        let digest = crate::asks::json_digest(&command.action);
        if let Some(receipt) = self.earlier_receipt(&command.id, &digest).await? {
            return Ok(receipt);
        }
        let record = CommandRecord::new(
            command.id.as_str(),
            command.client.as_str(),
            principal.as_str(),
            action_name(&command.action)?,
            digest,
        );
        let accepted = Accepted { record, id: command.id };
        match command.action {
            Action::Prompt { content, delivery } => self.prompt(accepted, content, delivery).await,
            Action::Continue => self.continue_run(accepted).await,
            Action::Interrupt => self.interrupt(accepted).await,
            Action::Answer { ask_id, digest, answer } => {
                let asks = self.entry.fold().await?.asks();
                let Some(ask) = asks.into_iter().find(|ask| ask.id == ask_id) else {
                    return Err(self.late_answer(&ask_id).await);
                };
                if ask.digest != digest {
                    return Err(Problem::new(
                        ProblemCode::DigestMismatch,
                        "the answer belongs to another version of the question",
                    )
                    .with_hint("show the question again"));
                }
                if !answer.fits(ask.subject.kind()) {
                    return Err(Problem::new(ProblemCode::Invalid, "the answer does not fit the question"));
                }
                self.answer(accepted, ask, answer).await
            }
            Action::EditQueue { edit } => self.edit_queue(accepted, edit).await,
            Action::Describe { title, tags } => {
                let mut description = Description::default();
                (description.title, description.tags) = (title, tags);
                self.note(accepted, AgentEvent::SessionDescribed(Box::new(description))).await
            }
            Action::SetMode { mode } => self.set_mode(accepted, &mode).await,
            Action::SetModel { model, effort } => self.set_model(accepted, model, effort).await,
            Action::Rewind { to } => {
                self.check_idle("rewind the conversation").await?;
                if let Some(id) = to {
                    self.check_message(id).await?;
                }
                self.note(accepted, AgentEvent::Rewound { tip: to }).await
            }
            Action::RemoveMessage { message_id } => {
                self.check_idle("remove a message").await?;
                self.check_message(message_id).await?;
                self.note(accepted, AgentEvent::MessageRemoved { message_id }).await
            }
            Action::Pin { message_id, pinned } => {
                self.check_message(message_id).await?;
                self.record(accepted, vec![CommandEffect::Pin(message_id, pinned)]).await
            }
            Action::Compact { focus } => {
                self.check_idle("compact the conversation").await?;
                let (agent, id) = (self.agent().await?, accepted.id);
                let compacted = agent.compact_by_command(accepted.record, focus.as_deref()).await;
                match (compacted, self.receipt_of(id).await) {
                    (_, Ok(receipt)) => Ok(receipt),
                    (Err(error), Err(_)) => Err(problems::from_agent(&error)),
                    (Ok(_), Err(problem)) => Err(problem),
                }
            }
            Action::UndoCompaction { compaction } => {
                self.check_idle("undo a compaction").await?;
                let is_it = |event: &Event| {
                    event.id == compaction && matches!(event.event, AgentEvent::Compaction { .. })
                };
                if !self.journal_has(is_it).await? {
                    return Err(Problem::new(ProblemCode::NotFound, "the session has no such compaction"));
                }
                self.note(accepted, AgentEvent::CompactionUndone { compaction }).await
            }
            Action::Checkpoint { label } => {
                self.check_idle("name a checkpoint").await?;
                let messages = self.agent().await?.load().await;
                let messages = messages.map_err(|error| problems::from_agent(&error))?;
                let message_id = messages.last().map(|message| message.id());
                self.note(accepted, AgentEvent::Checkpoint { label, message_id }).await
            }
            Action::Restore { label, parts } => self.restore(accepted, &label, parts).await,
            Action::ExtendBudget { scope, limits } => {
                self.record(accepted, vec![CommandEffect::ExtendBudget(scope, limits)]).await
            }
            Action::SetGoal { goal } => self.note(accepted, AgentEvent::GoalChanged(Box::new(goal))).await,
            Action::Learn { .. } => Err(unsupported("the host keeps no learnings")
                .with_hint("`lariat memory add --kind learning` keeps one for the project")),
            Action::Close => {
                let receipt = self.record(accepted, Vec::new()).await?;
                self.is_closing = true;
                Ok(receipt)
            }
            _ => Err(unsupported("the host does not know this action")),
        }
    }

    async fn prompt(
        &mut self,
        accepted: Accepted,
        content: PromptContent,
        delivery: Delivery,
    ) -> Result<Receipt, Problem> {
        let message = AgentMessage::from(Message::User(UserMessage::new(content.0)));
        Run::check_prompt(&message).map_err(|error| Problem::new(ProblemCode::Invalid, error.to_string()))?;
        self.recover().await?;
        if self.run.is_some() {
            let queue = match delivery {
                Delivery::Steer => QueueKind::Steering,
                Delivery::Queue => QueueKind::FollowUp,
                Delivery::Interrupt => {
                    self.stop_run().await?;
                    return self.start_run(accepted, CommandRun::Prompt(vec![message])).await;
                }
                _ => return Err(wrong_status("a run is active", "wait for its end, or steer it")),
            };
            return self.record(accepted, vec![CommandEffect::Queue(queue, Box::new(message))]).await;
        }
        self.start_run(accepted, CommandRun::Prompt(vec![message])).await
    }

    /// Stops the active run and waits for its end.
    async fn stop_run(&mut self) -> Result<(), Problem> {
        self.agent().await?.abort();
        if self.run.is_some() {
            let ended = ended(&mut self.run).await;
            self.on_run_end(ended).await;
        }
        Ok(())
    }

    async fn continue_run(&mut self, accepted: Accepted) -> Result<Receipt, Problem> {
        let was_running = self.run.is_some();
        self.recover().await?;
        match (was_running, self.run.is_some()) {
            (true, _) => Err(wrong_status("a run is active", "wait for its end, or steer it")),
            // The recovered run is the continuation.
            (false, true) => self.record(accepted, Vec::new()).await,
            (false, false) => self.start_run(accepted, CommandRun::Continue).await,
        }
    }

    async fn interrupt(&mut self, accepted: Accepted) -> Result<Receipt, Problem> {
        self.recover().await?;
        if self.run.is_none() {
            return Err(wrong_status("no run is active", "there is nothing to interrupt"));
        }
        match self.record(accepted, vec![CommandEffect::Abort]).await {
            Err(problem) if problem.code == ProblemCode::AlreadyAnswered => Err(wrong_status(
                "the run ended before it could be interrupted",
                "there is nothing to interrupt",
            )),
            result => result,
        }
    }

    async fn answer(&mut self, accepted: Accepted, ask: Ask, answer: Answer) -> Result<Receipt, Problem> {
        if ask.subject.kind() != AskKind::Plan {
            self.recover().await?;
        }
        let ask_id = ask.id.clone();
        let effect = match (ask.subject, answer) {
            (
                AskSubject::Approval { .. },
                Answer::Approval { decision: PermissionDecision::AllowChanged { .. } },
            ) => {
                return Err(unsupported("the host does not accept an approval with other arguments")
                    .with_hint("deny the call and tell the model what to change"));
            }
            (AskSubject::Approval { request }, Answer::Approval { decision }) => {
                CommandEffect::AnswerPermission(request.id, decision)
            }
            (AskSubject::Approval { request }, Answer::Decline { reason }) => {
                CommandEffect::AnswerPermission(request.id, PermissionDecision::Deny { reason })
            }
            (AskSubject::Budget { request }, Answer::Budget { limits }) => {
                CommandEffect::AnswerBudget(request.id, Some(limits))
            }
            (AskSubject::Budget { request }, Answer::Decline { .. }) => {
                CommandEffect::AnswerBudget(request.id, None)
            }
            (AskSubject::Plan { changes }, answer) => {
                return self.answer_plan(accepted, changes, answer).await;
            }
            _ => return Err(unsupported("the host cannot answer this kind of question")),
        };
        match self.record(accepted, vec![effect]).await {
            Err(problem) if problem.code == ProblemCode::AlreadyAnswered => {
                Err(self.late_answer(&ask_id).await)
            }
            result => result,
        }
    }

    async fn answer_plan(
        &mut self,
        accepted: Accepted,
        changes: Vec<lariat_core::id::ToolCallId>,
        answer: Answer,
    ) -> Result<Receipt, Problem> {
        let (approved, rejected) = match answer {
            Answer::Plan { approved, rejected } => (approved, rejected),
            Answer::Decline { .. } => (Vec::new(), changes),
            _ => return Err(unsupported("the host cannot answer this kind of question")),
        };
        if approved.is_empty() {
            return self.note(accepted, AgentEvent::PlanDecided { approved, rejected }).await;
        }
        let plan = self.agent().await?.plan().await.map_err(|error| problems::from_agent(&error))?;
        let decision = plan.decide(&approved, &rejected);
        self.start_run(accepted, CommandRun::Plan(decision)).await
    }

    async fn edit_queue(&mut self, accepted: Accepted, edit: Edit) -> Result<Receipt, Problem> {
        let queue = self.entry.fold().await?.queue().to_vec();
        let find = |id: &MessageId| {
            let found = queue.iter().find(|queued| queued.message_id == *id);
            found.ok_or_else(|| Problem::new(ProblemCode::NotFound, "the message does not wait any more"))
        };
        let effects = match edit {
            Edit::Remove { message_id } => vec![CommandEffect::Unqueue(find(&message_id)?.message_id)],
            Edit::Replace { message_id, content } => {
                let queued = find(&message_id)?;
                vec![CommandEffect::Unqueue(message_id), enqueue(queued, content)]
            }
            Edit::Reorder { message_ids } => {
                let ordered: Vec<&QueuedMessage> =
                    message_ids.iter().map(find).collect::<Result<_, Problem>>()?;
                if ordered.len() != queue.len() {
                    return Err(Problem::new(ProblemCode::Invalid, "the order must name every message once"));
                }
                let removed = queue.iter().map(|queued| CommandEffect::Unqueue(queued.message_id));
                let added = ordered.into_iter().map(|queued| enqueue(queued, queued.content.clone()));
                removed.chain(added).collect()
            }
            Edit::Resume => {
                self.recover().await?;
                if self.run.is_some() {
                    return self.record(accepted, Vec::new()).await;
                }
                return self.start_run(accepted, CommandRun::Deliver).await;
            }
            _ => return Err(unsupported("the host does not know this change of the queue")),
        };
        self.record(accepted, effects).await
    }

    async fn set_mode(&mut self, accepted: Accepted, mode: &str) -> Result<Receipt, Problem> {
        self.agent().await?;
        let modes = self.hosted.as_ref().and_then(|hosted| hosted.hosted.modes.clone());
        let Some(modes) = modes else {
            return Err(unsupported("the agent of this session has no permission modes"));
        };
        let before = modes.mode();
        let mode = modes.set_mode(mode)?;
        let recorded = self.note(accepted, AgentEvent::ModeChanged { mode }).await;
        if recorded.is_err() {
            // The journal does not have the new mode, so it must not apply.
            let _ = modes.set_mode(&before);
        }
        recorded
    }

    async fn set_model(
        &mut self,
        accepted: Accepted,
        model: String,
        effort: Option<String>,
    ) -> Result<Receipt, Problem> {
        self.check_idle("change the model").await?;
        let mut chosen = lariat_api::ModelView::default();
        (chosen.name, chosen.effort) = (model.clone(), effort.clone());
        // An unknown model fails here, before anything is recorded.
        let hosted = self.build(Some(&chosen)).await?;
        let receipt = self.note(accepted, AgentEvent::ModelChanged { model, effort }).await?;
        if let Some(old) = self.hosted.take() {
            old.close().await;
        }
        self.host(hosted);
        Ok(receipt)
    }

    async fn restore(
        &mut self,
        accepted: Accepted,
        label: &str,
        parts: CheckpointParts,
    ) -> Result<Receipt, Problem> {
        if parts != CheckpointParts::Conversation {
            return Err(unsupported("the host restores the conversation only")
                .with_hint("choose `conversation`, and undo file changes with `lariat undo`"));
        }
        self.check_idle("restore a checkpoint").await?;
        let mut found = None;
        self.journal_has(|event| {
            if let AgentEvent::Checkpoint { label: known, message_id } = &event.event
                && known == label
            {
                found = Some(*message_id);
            }
            false
        })
        .await?;
        let tip = found.ok_or_else(|| {
            Problem::new(ProblemCode::NotFound, format!("the session has no checkpoint `{label}`"))
        })?;
        self.note(accepted, AgentEvent::Rewound { tip }).await
    }

    // Recording

    async fn note(&mut self, accepted: Accepted, event: AgentEvent) -> Result<Receipt, Problem> {
        self.record(accepted, vec![CommandEffect::note(event)]).await
    }

    /// Records a command with its effects, in the active run, or without a run.
    async fn record(&mut self, accepted: Accepted, effects: Vec<CommandEffect>) -> Result<Receipt, Problem> {
        self.recover().await?;
        let agent = self.agent().await?;
        match agent.record_command(accepted.record, effects).await {
            Ok(seq) => Ok(Receipt::new(accepted.id, seq)),
            // The journal knows whether the command was written.
            Err(AgentError::TaskLost) => self.receipt_of(accepted.id).await,
            Err(error) => Err(problems::from_agent(&error)),
        }
    }

    /// Returns the receipt of a command that the journal has.
    async fn receipt_of(&self, id: CommandId) -> Result<Receipt, Problem> {
        let seq = self.entry.fold().await?.command(id.as_str()).map(|recorded| recorded.seq);
        seq.map(|seq| Receipt::new(id, seq)).ok_or_else(problems::owner_lost)
    }

    /// Returns the receipt of an earlier command with the same id.
    async fn earlier_receipt(&self, id: &CommandId, digest: &str) -> Result<Option<Receipt>, Problem> {
        earlier_receipt(&self.entry, id, digest).await
    }

    async fn late_answer(&self, ask: &lariat_api::AskId) -> Problem {
        let by = match self.entry.fold().await {
            Ok(fold) => fold.answered_by(ask).map(str::to_owned),
            Err(problem) => return problem,
        };
        match by {
            Some(by) => {
                Problem::new(ProblemCode::AlreadyAnswered, format!("{by} answered this question before"))
            }
            None => Problem::new(ProblemCode::NotFound, "the session has no such question"),
        }
    }

    async fn check_idle(&mut self, what: &str) -> Result<(), Problem> {
        if self.run.is_some() || self.entry.fold().await?.has_open_run() {
            let message = format!("a run is active; the session cannot {what} now");
            return Err(wrong_status(&message, "interrupt the run, or wait for its end"));
        }
        Ok(())
    }

    async fn check_message(&self, id: MessageId) -> Result<(), Problem> {
        let is_it = |event: &Event| match &event.event {
            AgentEvent::MessageEnd { message } => message.id() == id,
            AgentEvent::MessageQueued { message, .. } => message.id() == id,
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().any(|message| message.id() == id)
            }
            _ => false,
        };
        if self.journal_has(is_it).await? {
            return Ok(());
        }
        Err(Problem::new(ProblemCode::NotFound, format!("the session has no message `{id}`")))
    }

    async fn journal_has(&self, mut is_it: impl FnMut(&Event) -> bool) -> Result<bool, Problem> {
        let mut seq = 0;
        loop {
            let page = self.entry.store.read(&self.entry.session_id, seq, PAGE).await;
            let page = page.map_err(|error| problems::from_store(&error))?;
            if page.iter().any(&mut is_it) {
                return Ok(true);
            }
            if page.len() < PAGE {
                return Ok(false);
            }
            seq += page.len() as u64;
        }
    }
}

/// Returns the receipt of an earlier command with the same id; a conflict if its content was another.
pub(crate) async fn earlier_receipt(
    entry: &SessionEntry,
    id: &CommandId,
    digest: &str,
) -> Result<Option<Receipt>, Problem> {
    let fold = entry.fold().await?;
    match fold.command(id.as_str()) {
        None => Ok(None),
        Some(recorded) if recorded.digest == digest => Ok(Some(Receipt::new(id.clone(), recorded.seq))),
        Some(_) => Err(Problem::new(ProblemCode::CommandConflict, "this id was used for another command")
            .with_place(id.as_str())
            .with_hint("choose a new id for every command")),
    }
}

fn enqueue(queued: &QueuedMessage, content: PromptContent) -> CommandEffect {
    let queue = match queued.delivery {
        Delivery::Steer => QueueKind::Steering,
        _ => QueueKind::FollowUp,
    };
    let message = AgentMessage::from(Message::User(UserMessage::new(content.0)));
    CommandEffect::Queue(queue, Box::new(message))
}

/// Returns the name under which the journal records an action.
pub(crate) fn action_name(action: &Action) -> Result<String, Problem> {
    if matches!(action, Action::Other(_)) {
        return Err(unsupported("the host does not know this action"));
    }
    let json = serde_json::to_value(action).unwrap_or_default();
    let name = json.get("type").and_then(|name| name.as_str()).unwrap_or_default();
    Ok(name.to_owned())
}

fn unsupported(message: &str) -> Problem {
    Problem::new(ProblemCode::Unsupported, message)
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
